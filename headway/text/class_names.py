"""Names of classes behind the tokenizer protocol: a classifier is a translator into a language of one word a text."""

import json
from collections.abc import Sequence
from pathlib import Path

from headway.config import did_you_mean
from headway.errors import BundleError, DataError


class ClassNames:
    """Each name is one id, in the order of the names; there are no marks."""

    SUFFIX = ".names.json"
    pad = bos = eos = unk = -1
    mask: int | None = None
    sentinels: Sequence[int] = ()
    tags: Sequence[int] = ()

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.size = len(self.names)
        self._ids = {name: number for number, name in enumerate(self.names)}

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        for text in texts:
            if text not in self._ids:
                raise DataError(
                    f"The model knows no class {text!r}.{did_you_mean(text, self.names)}",
                    f"Its classes are {', '.join(self.names[:20])}{', ...' if self.size > 20 else ''}.",
                )
        return [[self._ids[text]] for text in texts]

    def sample(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        return self.encode(texts)

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return [" ".join(self.pieces(some)) for some in ids]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.names[number] for number in ids]

    def cut(self, pieces: Sequence[str]) -> list[list[int]]:
        return [[] for _ in pieces]  # a name has no parts

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.names, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "ClassNames":
        try:
            return cls([str(name) for name in json.loads(path.read_text(encoding="utf-8"))])
        except (OSError, ValueError, TypeError) as error:
            raise BundleError(f"The names of classes {path} cannot be read: {error}.", "Take a whole copy of them.") from None
