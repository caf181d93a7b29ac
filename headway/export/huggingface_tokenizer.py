"""A SentencePiece vocabulary as a `tokenizer.json` of Hugging Face: the same ids for the same text, and back.

`tokenizers` has the two algorithms of SentencePiece; what `text.subwords` does around them is said here in its words.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import sentencepiece

from headway.bundle import TOKENIZER, Bundle
from headway.errors import HeadwayError
from headway.models.huggingface_config import TARGET_TOKENIZER
from headway.text.json_tokenizer import require_tokenizers
from headway.text.subwords import MASK, SENTINELS
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizers

if TYPE_CHECKING:
    from tokenizers import Tokenizer, decoders, normalizers

_SPACE, _ESCAPE = "\u2581", "\ufdd0"  # as in text.subwords
Marks = Literal["end", "both", "none"]  # where a text has marks that the model reads
_NONCHARACTERS = [chr(code) for code in range(0xFDD1, 0xFDF0)]


@dataclass(frozen=True)
class Pieces:
    """A SentencePiece model's pieces with their scores, in the order of their ids."""

    names: list[str]
    scores: list[float]
    plain: list[bool]  # cut out of text: neither a mark nor a byte
    others: list[str]  # marks besides the four: for what is hidden, and tags
    begins_with_space: bool = True  # a text is cut as if a space stood before it

    @classmethod
    def read(cls, model: Path) -> "Pieces":
        processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
        ids = range(processor.get_piece_size())
        plain = [not (processor.is_control(i) or processor.is_unknown(i) or processor.is_byte(i)) for i in ids]
        others = [processor.id_to_piece(i) for i in ids[4:] if processor.is_control(i)]
        return cls(
            [processor.id_to_piece(i) for i in ids],
            [processor.get_score(i) for i in ids],
            plain,
            others,
            processor.normalize("a").startswith(_SPACE),
        )

    @property
    def marks(self) -> list[str]:
        """pad, bos, eos and unk, which stand first."""
        return self.names[:4]

    @cached_property
    def tags(self) -> list[str]:
        return [mark for mark in self.others if mark != MASK and mark not in SENTINELS]

    def spell(self, name: str) -> str:
        """A piece's name in `tokenizers`. The space after a tag belongs to it: one, since any more are the text's own."""
        return f"{name} " if name in self.tags else name

    def find_merges(self) -> list[tuple[str, str]]:
        """Every way to put a piece together from two, the best piece first: SentencePiece merges whatever gives a piece."""
        scored = [(score, name) for name, score, plain in zip(self.names, self.scores, self.plain, strict=True) if plain]
        known = {name for _, name in scored}
        return [
            (name[:cut], name[cut:])
            for _, name in sorted(scored, key=lambda one: -one[0])
            for cut in range(1, len(name))
            if name[:cut] in known and name[cut:] in known
        ]

    @cached_property
    def stand_in(self) -> str | None:
        """A character that no piece has, for "<" in pieces of text; none where "<" is not in any of them."""
        used = set().union(*(name for name, plain in zip(self.names, self.plain, strict=True) if plain))
        return next(sign for sign in _NONCHARACTERS if sign not in used) if "<" in used else None


def require_transformers() -> None:
    try:
        import transformers  # noqa: F401
    except ImportError:
        raise HeadwayError("transformers is not installed.", "Install it: pip install transformers") from None


def is_native(tokenizers: Tokenizers) -> bool:
    """Whether text is cut by a vocabulary that Headway learned; others go back to the form in which they came."""
    return isinstance(tokenizers.source, SentencePieceTokenizer)


def _find_marks(bundle: Bundle) -> Marks:
    return {"bert": "both", "gpt": "none"}.get(bundle.manifest.architecture.kind, "end")  # type: ignore[return-value]


def write_tokenizers(bundle: Bundle, directory: Path, *, max_length: int) -> None:
    """The source's tokenizer, which is the target's too if they share one; else that one in a directory of its own."""
    require_tokenizers()
    files, kind, marks = bundle.directory / TOKENIZER, bundle.manifest.tokenizer.kind, _find_marks(bundle)
    manifest = bundle.manifest
    languages = {"source_lang": manifest.source_language, "target_lang": manifest.target_language}
    if bundle.tokenizers.shared:
        _write(files / "shared.model", kind, directory, max_length, marks, languages)
        return
    _write(files / "source.model", kind, directory, max_length, marks, languages)
    if isinstance(bundle.tokenizers.target, SentencePieceTokenizer):
        (directory / TARGET_TOKENIZER).mkdir()
        _write(files / "target.model", kind, directory / TARGET_TOKENIZER, max_length, marks, languages)


def check_tokenizer(bundle: Bundle, directory: Path, texts: Sequence[str]) -> list[str]:
    """The texts that an exported tokenizer, be it the source's or the target's, gives other ids than ours."""
    require_transformers()
    from transformers import AutoTokenizer

    pairs = [(bundle.tokenizers.source, directory)]
    if (directory / TARGET_TOKENIZER).is_dir():
        pairs.append((bundle.tokenizers.target, directory / TARGET_TOKENIZER))
    different: set[str] = set()
    for ours, place in pairs:
        theirs = AutoTokenizer.from_pretrained(place)
        before, after = {"end": ([], [ours.eos]), "both": ([ours.bos], [ours.eos]), "none": ([], [])}[_find_marks(bundle)]
        for text, ids in zip(texts, ours.encode(texts), strict=True):
            try:
                same = theirs(text, verbose=False).input_ids == [*before, *ids, *after]
            except TypeError:  # a lone surrogate: `tokenizers` takes nothing that is not UTF-8
                same = False
            if not same:
                different.add(text)
    return [text for text in texts if text in different]


def build_tokenizer(pieces: Pieces, kind: str, marks: Marks = "end") -> "Tokenizer":
    from tokenizers import AddedToken, Tokenizer, models, processors

    _, bos, eos, unk = pieces.marks
    if kind != "unigram":  # single characters are pieces without merges
        vocabulary = {pieces.spell(name): i for i, name in enumerate(pieces.names)}
        tokenizer = Tokenizer(models.BPE(vocabulary, pieces.find_merges(), unk_token=unk, byte_fallback=True))
    else:
        scored = list(zip(_rename(pieces), pieces.scores, strict=True))
        tokenizer = Tokenizer(models.Unigram(scored, pieces.marks.index(unk), byte_fallback=True))
    tokenizer.normalizer = _build_normalizer(pieces, kind)
    tokenizer.decoder = _build_decoder(pieces, kind)
    if marks != "none":
        first = f"{bos} " if marks == "both" else ""
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first}$A {eos}",
            pair=f"{first}$A {eos} $B:1 {eos}:1",
            special_tokens=[(mark, pieces.marks.index(mark)) for mark in (bos, eos)],
        )
    all_marks = [pieces.spell(mark) for mark in (*pieces.marks, *pieces.others)]
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in all_marks])
    return tokenizer


def _write(model: Path, kind: str, directory: Path, max_length: int, marks: Marks, languages: dict[str, str]) -> None:
    pieces = Pieces.read(model)
    build_tokenizer(pieces, kind, marks).save(str(directory / "tokenizer.json"))
    _, bos, eos, _ = pieces.marks
    sentinels = [pieces.spell(mark) for mark in pieces.others if mark != MASK]
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), pieces.marks, strict=True)),
        **({"cls_token": bos, "sep_token": eos} if marks == "both" else {}),
        **({"mask_token": MASK} if MASK in pieces.others else {}),
        **({"additional_special_tokens": sentinels} if sentinels else {}),
        **{side: language for side, language in languages.items() if language},
        "model_max_length": max_length,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": not pieces.others,  # "</s>" in a text is text, but "<mask>" must be found
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _rename(pieces: Pieces) -> list[str]:
    """Names of pieces in which a text's "<" has another sign, so that no text can spell "</s>" or "<0x41>".

    SentencePiece never finds marks and bytes in a text; the unigram model of `tokenizers` finds whatever has a name. (BPE
    does not need this: what no merge makes is not found.)
    """
    sign = pieces.stand_in or "<"
    return [
        name.replace("<", sign) if plain else pieces.spell(name) for name, plain in zip(pieces.names, pieces.plain, strict=True)
    ]


def _build_normalizer(pieces: Pieces, kind: str) -> "normalizers.Sequence":
    """What `SentencePieceTokenizer.encode` does to a text, and then SentencePiece: a space in front, U+2581 for spaces."""
    from tokenizers import normalizers
    from tokenizers.normalizers import NFC, Prepend, Replace

    steps = [NFC(), Replace(_ESCAPE, f"{_ESCAPE}0"), Replace(_SPACE, f"{_ESCAPE}1")]
    sign = pieces.stand_in
    if kind == "unigram" and sign is None:
        steps.append(Replace("<", _spell("<")))
    elif kind == "unigram" and sign is not None:  # the sign itself, should a text hold it, is spelled in bytes
        steps += [Replace(sign, f"{_ESCAPE}2"), Replace("<", sign), Replace(f"{_ESCAPE}2", _spell(sign))]
    return normalizers.Sequence([*steps, *([Prepend(_SPACE)] if pieces.begins_with_space else []), Replace(" ", _SPACE)])


def _build_decoder(pieces: Pieces, kind: str) -> "decoders.Sequence":
    from tokenizers import decoders
    from tokenizers.decoders import ByteFallback, Fuse, Metaspace, Replace

    signs = [Replace(pieces.stand_in, "<")] if kind == "unigram" and pieces.stand_in else []
    unescape = [Replace(f"{_ESCAPE}1", _SPACE), Replace(f"{_ESCAPE}0", _ESCAPE)]
    spaces = Metaspace(_SPACE, "always" if pieces.begins_with_space else "never")
    return decoders.Sequence([spaces, *signs, ByteFallback(), Fuse(), *unescape])


def _spell(character: str) -> str:
    """The names of a character's bytes."""
    return "".join(f"<0x{byte:02X}>" for byte in character.encode())
