"""Tokenizers of published translators: a SentencePiece model cuts, and a list of its own says which id a piece has.

Marian cuts source and target with a model each, and numbers the pieces of both in one list; T5 numbers its pieces as
SentencePiece does, and puts marks for hidden spans after them. Text goes in as it is: what is done to it, SentencePiece does.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, takewhile
from pathlib import Path

import sentencepiece

from headway.errors import BundleError
from headway.text.bare import cut_bare
from headway.text.normalize import replace_surrogates
from headway.text.seeding import in_fresh_thread

_MODEL, _LIST = "pieces.model", "pieces.json"
_LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)


class PieceListTokenizer:
    """`pad`, which begins a translation too, `eos`, `unk` and the sentinels are found where a text spells them out.

    `languages`: a text may begin with the name of the language that it is to be translated to, ">>deu<<": one piece.
    """

    SUFFIX = ".pieces"
    mask: int | None = None
    tags: Sequence[int] = ()

    def __init__(self, model: bytes, ids: Mapping[str, int], *, marks: Sequence[str], languages: bool = False) -> None:
        self.model, self.ids, self.languages = model, dict(ids), languages
        self.marks = list(marks)  # pad, eos and unk
        self._processor = sentencepiece.SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(model)
        self.size = max(self.ids.values()) + 1
        self.pad, self.eos, self.unk = (self.ids[mark] for mark in self.marks)
        self.bos = self.pad
        sentinels = takewhile(self.ids.__contains__, (f"<extra_id_{number}>" for number in count()))
        self.sentinels = [self.ids[name] for name in sentinels]
        self._names = {number: piece for piece, number in self.ids.items()}
        self._special = {self.pad, self.eos, self.unk, *self.sentinels}
        spelled = sorted((self._names[number] for number in self._special), key=len, reverse=True)
        self._spelled = re.compile("|".join(map(re.escape, spelled)))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return self._encode(texts, self._processor.encode)

    def sample(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        """BPE-dropout, with `alpha` the share of merges left out; or unigram sampling, with `alpha` its smoothing."""
        cut = partial(self._processor.encode, enable_sampling=True, alpha=alpha, nbest_size=-1, num_threads=1)
        return in_fresh_thread(seed, lambda: self._encode(texts, cut))

    def _encode(self, texts: Sequence[str], cut: Callable[..., list[list[str]]]) -> list[list[int]]:
        parts = [list(self._split(replace_surrogates(text))) for text in texts]
        pieces = iter(cut([part for some in parts for part, plain in some if plain], out_type=str))
        return [
            [self.ids.get(piece, self.unk) for part, plain in some for piece in (next(pieces) if plain else [part])]
            for some in parts
        ]

    def _split(self, text: str) -> Iterator[tuple[str, bool]]:
        """A text in parts, and whether each is plain: neither a mark nor a language."""
        start = 0
        for mark in self._spelled.finditer(text):
            yield from self._split_language(text[start : mark.start()])
            yield mark[0], False
            start = mark.end()
        yield from self._split_language(text[start:])

    def _split_language(self, text: str) -> Iterator[tuple[str, bool]]:
        if self.languages and (language := _LANGUAGE.match(text)):
            yield language[0], False
            text = text[language.end() :]
        if text:
            yield text, True

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        plain = [[self._names[int(i)] for i in some if i in self._names and i not in self._special] for some in ids]
        # A piece of the list that the model lacks, say one of the other language, comes back as it is.
        return [self._processor.decode_pieces(pieces).replace("\u2581", " ").strip() for pieces in plain]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._names.get(int(i), f"<{int(i)}>") for i in ids]

    def cut(self, pieces: Sequence[str]) -> list[list[int]]:
        return [[self.ids.get(part, self.unk) for part in parts] for parts in cut_bare(self.model, pieces)]

    def save(self, path: Path) -> None:
        path.mkdir()
        (path / _MODEL).write_bytes(self.model)
        content = {"marks": self.marks, "languages": self.languages, "ids": self.ids}
        (path / _LIST).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "PieceListTokenizer":
        try:
            content = json.loads((path / _LIST).read_text(encoding="utf-8"))
            ids, marks, languages = content["ids"], content["marks"], content["languages"]
            return cls((path / _MODEL).read_bytes(), ids, marks=marks, languages=languages)
        except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
            raise BundleError(f"The tokenizer {path} cannot be read: {error}.", "Take a whole copy of it.") from None
