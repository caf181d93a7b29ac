"""SentencePiece behind the tokenizer protocol, with its traps taken out.

It treats U+2581 as its own sign for a space, skips training lines that hold NUL or U+2585, and skips or dies of long ones.
Each is handled here, and nowhere else; how it draws, in `seeding`. Its symbols for tags would be found inside of a text too,
and have a piece for a space before them: tags are marks here, and put before the ids of the rest.
"""

import ctypes
import io
import re
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress, takewhile
from pathlib import Path
from random import Random
from typing import Literal

import sentencepiece

from headway.errors import BundleError, DataError, RequestError
from headway.text.bare import cut_bare
from headway.text.normalize import normalize
from headway.text.seeding import in_fresh_thread

# What a vocabulary is learned from, at most; more makes it hardly better, and takes the trainer more than 1 GB.
MAX_CHARACTERS = {"bpe": 50_000_000, "unigram": 25_000_000, "char": 50_000_000}  # held at 3, 25 and 3 bytes each
MAX_NEW_CHARACTERS = 4_000_000  # of distinct words, held at 150 bytes each; where nothing stands between words, all are new
_LINE = 50  # characters that a line counts as, at least, for what it takes besides them
_SLICE = 1_000  # characters; SentencePiece skips lines over its limit of bytes, and aborts on words of 65,536 characters
_MAX_SLICE_BYTES = 4 * (2 * _SLICE + 1)  # each character of a slice may be escaped, and has up to 4 bytes
_COVERAGE = 0.9999  # of the corpus's characters have a piece of their own; the rarest are spelled in bytes
_THREADS = 4  # fixed: sums, and so pieces, must not depend on the machine
_MANY = 64  # texts from which on threads pay
_WORDS = 200_000  # kept with their cuts, some 250 bytes each

MASK = "<mask>"
SENTINELS = [f"<extra_id_{number}>" for number in range(100)]

_SPACE = "\u2581"
_ESCAPE = "\ufdd0"  # a noncharacter, set aside by Unicode for such internal use
_UNTRAINABLE = str.maketrans({"\0": " ", "\u2585": " ", "\n": " "})

sentencepiece.set_min_log_level(2)


class VocabularyTooSmall(RequestError):
    """`least` is the smallest size that works for the corpus."""

    def __init__(self, asked: int, least: int) -> None:
        super().__init__(
            f"A vocabulary of {asked:,} pieces is too small: bytes and characters of this corpus take {least:,}.",
            f"Give --vocab-size {least} or more, or leave it out.",
        )
        self.least = least


class SentencePieceTokenizer:
    SUFFIX = ".model"
    pad, bos, eos, unk = 0, 1, 2, 3

    def __init__(self, model: bytes, *, by_words: bool = False) -> None:
        self._model = model
        self._by_words = by_words  # a word is cut the same whatever stands around it
        self._cuts: dict[str, tuple[int, ...]] = {}  # of words met before
        self._processor = sentencepiece.SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(model)
        self.size: int = self._processor.get_piece_size()
        marks = takewhile(self._processor.is_control, range(self.unk + 1, self.size))
        named = {self._processor.id_to_piece(mark): mark for mark in marks}
        self._last_mark = self.unk + len(named)
        self.mask = named.pop(MASK, None)
        self.sentinels = [named.pop(name) for name in SENTINELS if name in named]
        self._tags, self._leading = named, _match_leading(list(named))
        self.tags = list(named.values())

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        *,
        kind: Literal["bpe", "unigram", "char"],
        vocab_size: int,
        marks: Sequence[str] = (),
        tags: Sequence[str] = (),
        begins_with_space: bool = True,
    ) -> "SentencePieceTokenizer":
        """Learn a vocabulary. It comes out smaller than asked (`size`) where the corpus allows no more.

        `marks` come after the four that all have; no text holds them. `tags` are marks that a text may begin with, each with a
        space after it. `begins_with_space`: the first word of a text is cut as any other is; not for text that goes on.

        The same lines give the same vocabulary: of a huge corpus, always the same ones are drawn.
        """
        model = io.BytesIO()
        if leading := _match_leading(tags):
            lines = (leading.sub("", line) for line in lines)
        sample = _sample(lines, MAX_CHARACTERS[kind])
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sample),
                model_writer=model,
                model_type=kind,
                vocab_size=vocab_size,
                hard_vocab_limit=False,
                byte_fallback=True,
                character_coverage=_COVERAGE,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                max_sentence_length=_MAX_SLICE_BYTES,
                num_threads=_THREADS,
                pad_id=cls.pad,
                bos_id=cls.bos,
                eos_id=cls.eos,
                unk_id=cls.unk,
                control_symbols=[*marks, *tags],
                add_dummy_prefix=begins_with_space,
                minloglevel=2,
            )
        except RuntimeError as error:
            if "sentences_.empty()" in str(error):
                raise DataError("There is no text to learn a vocabulary from.", "Check that the corpus is not blank.") from None
            if least := re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error)):
                raise VocabularyTooSmall(vocab_size, int(least[1])) from None
            raise
        _hand_back_memory()
        return cls(model.getvalue(), by_words=kind == "bpe" and begins_with_space)

    @classmethod
    def load(cls, path: Path) -> "SentencePieceTokenizer":
        try:
            model = path.read_bytes()
        except OSError as error:
            raise BundleError(f"The tokenizer {path} cannot be read: {error.strerror}.", "Take a whole copy of it.") from None
        try:
            return cls(model)
        except RuntimeError:
            raise BundleError(
                f"The tokenizer {path} is truncated or no SentencePiece model ({len(model):,} bytes).",
                "Take a whole copy of it.",
            ) from None

    def save(self, path: Path) -> None:
        path.write_bytes(self._model)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        by_words = self._by_words and len(texts) >= _MANY
        return self._cut(texts, self._encode_by_words if by_words else self._encode_whole)

    def _cut(self, texts: Sequence[str], cut: Callable[[Sequence[str]], list[list[int]]]) -> list[list[int]]:
        """The ids of texts as `cut` finds them, after those of the tags that they begin with."""
        texts = [normalize(text) for text in texts]
        if not self._leading:
            return cut([_escape(text) for text in texts])
        leading = [found[0] if (found := self._leading.match(text)) else "" for text in texts]
        pieces = cut([_escape(text[len(tags) :]) for text, tags in zip(texts, leading, strict=True)])
        return [[*(self._tags[tag] for tag in tags.split()), *ids] for tags, ids in zip(leading, pieces, strict=True)]

    def _encode_whole(self, escaped: Sequence[str]) -> list[list[int]]:
        return self._processor.encode(escaped, num_threads=1 if len(escaped) < _MANY else -1)  # -1: every core

    def _encode_by_words(self, escaped: Sequence[str]) -> list[list[int]]:
        """The same, each word cut once: no merge of BPE goes beyond a word, so it depends on nothing else.

        Not for unigram, which adds up a sentence's scores: their rounding may tip the balance between two cuts.
        """
        if len(self._cuts) > _WORDS:
            self._cuts = {}
        sentences = [text.split(" ") if text else [] for text in escaped]
        words = list(set(chain.from_iterable(sentences)) - self._cuts.keys())
        self._cuts.update(zip(words, map(tuple, self._encode_whole(words)), strict=True))
        if "" in words:  # stands between two spaces; alone it is cut into nothing, but each space begins a word
            (spaces,) = self._encode_whole([" "])
            self._cuts[""] = tuple(spaces[: len(spaces) // 2])
        return [list(chain.from_iterable(map(self._cuts.__getitem__, sentence))) for sentence in sentences]

    def sample(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        """BPE-dropout, with `alpha` the share of merges left out; or unigram sampling, with `alpha` its smoothing."""

        def draw(escaped: Sequence[str]) -> list[list[int]]:
            # nbest_size -1: from all cuts. One thread: with several, which one draws for which text is a matter of luck.
            return in_fresh_thread(
                seed,
                lambda: self._processor.encode(escaped, enable_sampling=True, alpha=alpha, nbest_size=-1, num_threads=1),
            )

        return self._cut(texts, draw)

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        if not ids:
            return []
        plain = [[int(i) for i in sentence if i > self._last_mark] for sentence in ids]
        return [_unescape(text) for text in self._processor.decode(plain, num_threads=1)]  # threads take longer to start

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def cut(self, pieces: Sequence[str]) -> list[list[int]]:
        return [[self._processor.piece_to_id(part) for part in parts] for parts in cut_bare(self._model, pieces)]


def _match_leading(tags: Sequence[str]) -> re.Pattern[str] | None:
    """Finds the tags at the beginning of a text, each with its space."""
    return re.compile(f"\\A(?:(?:{'|'.join(map(re.escape, tags))}) )+") if tags else None


def _escape(text: str) -> str:
    """Write U+2581, which SentencePiece would hand back as a space, in two characters; and the escape sign itself also."""
    if _SPACE not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE + "0").replace(_SPACE, _ESCAPE + "1")


def _unescape(text: str) -> str:
    if _ESCAPE not in text:
        return text
    return re.sub(f"{_ESCAPE}([01])", lambda found: _ESCAPE if found[1] == "0" else _SPACE, text)


def _sample(lines: Iterable[str], max_characters: int) -> list[str]:
    """Lines as the trainer can bear them, and as many: all of a small corpus in their order, of a large one a random share.

    Each line draws a number; those below `share` stay, and it is halved whenever they become too many.
    """
    random, share = Random(0), 1.0
    draws: array[float] = array("d")
    texts: list[str] = []
    characters, words = 0, _Words()
    for line in lines:
        for start in range(0, len(line), _SLICE):
            if (draw := random.random()) >= share:
                continue
            text = _escape(normalize(line[start : start + _SLICE]).translate(_UNTRAINABLE))
            draws.append(draw)
            texts.append(text)
            characters += max(len(text), _LINE)
            words.add(text)
            while characters > max_characters or words.characters > MAX_NEW_CHARACTERS:
                share /= 2
                stay = [draw < share for draw in draws]
                draws, texts = array("d", compress(draws, stay)), list(compress(texts, stay))
                characters, words = sum(max(len(text), _LINE) for text in texts), _Words()
                for text in texts:
                    words.add(text)
    return texts


class _Words:
    """Distinct words, and how many characters they have."""

    def __init__(self) -> None:
        self.characters = 0
        self._seen: set[str] = set()

    def add(self, text: str) -> None:
        new = set(text.split(" ")) - self._seen
        self._seen |= new
        self.characters += sum(map(len, new))


def _hand_back_memory() -> None:
    """The trainer frees hundreds of megabytes in small pieces, which the C library would keep for itself."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim:
        trim(0)
