"""Token ids of a corpus on disk, mapped into memory: any pair at once, however large the corpus.

A directory of raw little-endian numbers: `source.ids` and `target.ids` end to end, `source.offsets` and `target.offsets`
(int64, one more than there are pairs), and `store.json`. Nothing pickled.
"""

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.errors import DataError

Ids = NDArray[np.unsignedinteger[Any]]


class Segment(NamedTuple):
    """The pairs of one corpus, from `start` up to `end`, and how much of them an epoch takes."""

    start: int
    end: int
    weight: float


class Store:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            facts = json.loads((directory / "store.json").read_text(encoding="utf-8"))
            self.segments = [Segment(*segment) for segment in facts["segments"]]
            self._pairs = int(facts["pairs"])
            self._source, self._source_offsets = self._map("source", facts["source_type"])
            self._target, self._target_offsets = self._map("target", facts["target_type"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"The store of token ids {directory} is not whole: {error}", "Remove it; it is made anew."
            ) from None
        self.source_lengths: NDArray[np.int64] = np.diff(self._source_offsets)
        self.target_lengths: NDArray[np.int64] = np.diff(self._target_offsets)

    def __len__(self) -> int:
        return self._pairs

    def source(self, index: int) -> Ids:
        return self._source[self._source_offsets[index] : self._source_offsets[index + 1]]

    def target(self, index: int) -> Ids:
        return self._target[self._target_offsets[index] : self._target_offsets[index + 1]]

    def _map(self, side: str, kind: str) -> tuple[Ids, NDArray[np.int64]]:
        offsets = np.fromfile(self.directory / f"{side}.offsets", "<i8")
        path = self.directory / f"{side}.ids"
        if len(offsets) != self._pairs + 1 or path.stat().st_size != offsets[-1] * np.dtype(kind).itemsize:
            raise ValueError(f"{path.name} is shorter or longer than it was written")
        ids = np.memmap(path, kind, "r") if offsets[-1] else np.empty(0, kind)  # an empty file cannot be mapped
        return ids.view(np.ndarray), offsets


class StoreWriter:
    """Writes a store front to back, in memory that does not grow with it."""

    def __init__(self, directory: Path, *, source_vocab: int, target_vocab: int) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self._source = _SideWriter(directory, "source", source_vocab)
        self._target = _SideWriter(directory, "target", target_vocab)
        self._segments: list[Segment] = []

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._source.close()
        self._target.close()
        if kind is None:
            facts = {
                "pairs": self.pairs,
                "source_type": self._source.kind,
                "target_type": self._target.kind,
                "segments": self._segments,
            }
            (self.directory / "store.json").write_text(json.dumps(facts), encoding="utf-8")

    @property
    def pairs(self) -> int:
        return self._source.count

    def append(self, sources: Sequence[Sequence[int] | Ids], targets: Sequence[Sequence[int] | Ids]) -> None:
        self._source.append(sources)
        self._target.append(targets)

    def end_segment(self, weight: float) -> None:
        """All pairs since the segment before are of one corpus."""
        self._segments.append(Segment(self._segments[-1].end if self._segments else 0, self.pairs, weight))


class _SideWriter:
    def __init__(self, directory: Path, side: str, vocab: int) -> None:
        self.kind = "<u2" if vocab <= 2**16 else "<u4"
        self.count = 0
        self._end = 0
        self._ids = (directory / f"{side}.ids").open("wb")
        self._offsets = (directory / f"{side}.offsets").open("wb")
        self._offsets.write(np.zeros(1, "<i8").tobytes())

    def append(self, sentences: Sequence[Sequence[int] | Ids]) -> None:
        ends = self._end + np.cumsum([len(sentence) for sentence in sentences], dtype="<i8")
        self._ids.write(np.fromiter(chain.from_iterable(sentences), self.kind).tobytes())
        self._offsets.write(ends.tobytes())
        self.count += len(sentences)
        self._end = int(ends[-1]) if len(ends) else self._end

    def close(self) -> None:
        self._ids.close()
        self._offsets.close()
