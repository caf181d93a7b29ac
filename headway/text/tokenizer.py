"""Text to pieces and back: a small protocol, the pair that a translator needs, and the size of a vocabulary.

Whatever cuts the text, the rest of Headway sees only `Tokenizer`: lists of ids, four of them special.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headway.text.subwords import SentencePieceTokenizer

__all__ = ["SentencePieceTokenizer", "Tokenizer", "Tokenizers", "choose_vocab_size"]


class Tokenizer(Protocol):
    """Any text survives it: `decode(encode([t])) == [normalize(t)]`."""

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

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without bos and eos."""

    def sample(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        """Ids of a random other cut of each text; the same ones for the same texts, alpha and seed."""

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each list of ids; special ids are left out."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id as a person may see it in a picture, "▁" standing for a space."""

    def save(self, path: Path) -> None: ...


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
            self.source.save(directory / "shared.model")
        else:
            self.source.save(directory / "source.model")
            self.target.save(directory / "target.model")

    @classmethod
    def load(cls, directory: Path) -> "Tokenizers":
        if (directory / "shared.model").exists():
            tokenizer = SentencePieceTokenizer.load(directory / "shared.model")
            return cls(tokenizer, tokenizer)
        return cls(
            SentencePieceTokenizer.load(directory / "source.model"), SentencePieceTokenizer.load(directory / "target.model")
        )


def choose_vocab_size(characters: int) -> int:
    """A vocabulary that grows with the square root of the corpus, given the characters of both its sides.

    About 8,000 pieces for the 29,000 pairs of Multi30k, and the 32,000 of the paper's time from some 64 million characters on.
    """
    return min(32_000, max(1_000, round(4 * math.sqrt(characters) / 100) * 100))
