"""Pairs kept as text in Headway's own files: `NAME.source` and `NAME.target`, one sentence a line, read back exactly.

Those that a run is to read as a corpus end in their languages. Where there are several directions, `NAME.directions` has that
of each pair by its name.

Unlike the readers of users' files, nothing is taken off: a sentence may begin with U+FEFF or end with a carriage return.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from headway.data.readers import Pair


class PairWriter:
    def __init__(self, directory: Path, name: str, endings: tuple[str, str] = ("source", "target")) -> None:
        self._files = ExitStack()
        self._source, self._target = (
            self._files.enter_context((directory / f"{name}.{ending}").open("w", encoding="utf-8", newline="\n"))
            for ending in endings
        )

    def __enter__(self) -> "PairWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._files.close()

    def append(self, pairs: Iterable[Pair]) -> None:
        for source, target in pairs:
            if "\n" in source or "\n" in target:
                raise ValueError(f"a sentence holds a line end: {source!r}, {target!r}")
            self._source.write(source + "\n")
            self._target.write(target + "\n")


def read_pairs(directory: Path, name: str) -> Iterator[Pair]:
    # newline="\n": only that ends a line, and it is not translated.
    with (
        (directory / f"{name}.source").open(encoding="utf-8", newline="\n") as source,
        (directory / f"{name}.target").open(encoding="utf-8", newline="\n") as target,
    ):
        for left, right in zip(source, target, strict=True):
            yield left.removesuffix("\n"), right.removesuffix("\n")


def write_directions(directory: Path, name: str, directions: Sequence[str]) -> None:
    (directory / f"{name}.directions").write_text("".join(f"{one}\n" for one in directions), encoding="utf-8")


def read_directions(directory: Path, name: str) -> list[str]:
    """None where there is one direction only."""
    path = directory / f"{name}.directions"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
