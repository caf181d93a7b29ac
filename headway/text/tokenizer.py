"""Text to pieces and back: a small protocol, the pair that a translator needs, and the size of a vocabulary.

Whatever cuts the text, the rest of Headway sees only `Tokenizer`: lists of ids, four of them special.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headway.errors import BundleError
from headway.text.class_names import ClassNames
from headway.text.json_tokenizer import JsonTokenizer
from headway.text.piece_list import PieceListTokenizer
from headway.text.subwords import SentencePieceTokenizer

__all__ = ["SentencePieceTokenizer", "Tokenizer", "Tokenizers", "choose_vocab_size"]


class Tokenizer(Protocol):
    """Any text survives it, but for tags that it begins with: `decode(encode([t])) == [normalize(t)]`."""

    @property
    def size(self) -> int: ...
    @property
    def pad(self) -> int: ...
    @property
    def bos(self) -> int: ...
    @property
    def eos(self) -> int: ...
    @property
    def unk(self) -> int: ...
    @property
    def mask(self) -> int | None:
        """The mark that stands for a hidden piece, where there is one."""

    @property
    def sentinels(self) -> Sequence[int]:
        """The marks that stand for hidden spans, in their order; none if there are none."""

    @property
    def tags(self) -> Sequence[int]:
        """The marks that a text may begin with to say what is wanted, each a word by itself; none if there are none."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without bos and eos."""

    def sample(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        """Ids of a random other cut of each text; the same ones for the same texts, alpha and seed."""

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each list of ids; special ids are left out."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id as a person may see it in a picture, "▁" standing for a space."""

    def cut(self, pieces: Sequence[str]) -> list[list[int]]:
        """Ids of the parts of bare pieces, be they of another tokenizer: "▁" is a space, and without one there is none."""

    def save(self, path: Path) -> None:
        """As a file, or as a directory of files, with the ending `SUFFIX`; `load` reads it."""

    @property
    def SUFFIX(self) -> str: ...  # noqa: N802


@dataclass(frozen=True)
class Tokenizers:
    """One tokenizer for both languages, or one each."""

    source: Tokenizer
    target: Tokenizer

    @property
    def shared(self) -> bool:
        return self.source is self.target

    def save(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        if self.shared:
            self.source.save(directory / f"shared{self.source.SUFFIX}")
        else:
            self.source.save(directory / f"source{self.source.SUFFIX}")
            self.target.save(directory / f"target{self.target.SUFFIX}")

    @classmethod
    def load(cls, directory: Path) -> "Tokenizers":
        shared = load_tokenizer(directory, "shared")
        if shared:
            return cls(shared, shared)
        source, target = load_tokenizer(directory, "source"), load_tokenizer(directory, "target")
        if not source or not target:
            raise BundleError(f"There are no tokenizers in {directory}.", "Take a whole copy of the model.")
        return cls(source, target)


def load_tokenizer(directory: Path, name: str) -> Tokenizer | None:
    """The one of this name, of whichever kind; None if there is none."""
    for kind in KINDS:
        path = directory / f"{name}{kind.SUFFIX}"
        if path.exists():
            return kind.load(path)
    return None


KINDS = (SentencePieceTokenizer, ClassNames, PieceListTokenizer, JsonTokenizer)


def choose_vocab_size(characters: int) -> int:
    """A vocabulary that grows with the square root of the corpus, given the characters of both its sides.

    About 8,000 pieces for the 29,000 pairs of Multi30k, and the 32,000 of the paper's time from some 64 million characters on.
    """
    return min(32_000, max(1_000, round(4 * math.sqrt(characters) / 100) * 100))
