"""Token ids of a corpus on disk, mapped into memory: any pair at once, however large the corpus.

A directory of raw little-endian numbers: `source.ids` and `target.ids` end to end, `source.offsets` and `target.offsets`
(int64, one more than there are pairs), and `store.json`. Nothing pickled.
"""

import json
import mmap
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.errors import DataError

Ids = NDArray[np.unsignedinteger[Any]]
Lengths = NDArray[np.integer[Any]]
RESIDENT = 2**26  # bytes of a file of ids that may stay in memory, about
AROUND = 2**16  # bytes that Linux brings in for each sentence that is read


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
            self._source = _SideReader(directory, "source", facts["source_type"], self._pairs)
            self._target = _SideReader(directory, "target", facts["target_type"], self._pairs)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"The store of token ids {directory} is not whole: {error}", "Remove it; it is made anew."
            ) from None
        self.source_lengths, self.target_lengths = self._source.lengths(), self._target.lengths()

    def __len__(self) -> int:
        return self._pairs

    def source(self, index: int) -> Ids:
        return self._source[index]

    def target(self, index: int) -> Ids:
        return self._target[index]


class _SideReader:
    """The sentences of one language. Of a large file, what was read is let go again, or an epoch would bring in all of it."""

    def __init__(self, directory: Path, side: str, kind: str, pairs: int) -> None:
        offsets = _map(directory / f"{side}.offsets", 8 * (pairs + 1))
        self._offsets = np.frombuffer(offsets, "<i8")
        self._mapped = _map(directory / f"{side}.ids", np.dtype(kind).itemsize * int(self._offsets[-1]))
        self._ids: Ids = np.frombuffer(self._mapped, kind)
        self._reads = 0

    def __getitem__(self, index: int) -> Ids:
        self._reads += 1
        if self._reads * AROUND > RESIDENT and self._ids.nbytes > RESIDENT:
            self._release()
        return self._ids[self._offsets[index] : self._offsets[index + 1]]

    def lengths(self) -> Lengths:
        lengths = np.empty(len(self._offsets) - 1, np.int32)
        return np.subtract(self._offsets[1:], self._offsets[:-1], out=lengths, casting="unsafe")

    def _release(self) -> None:
        """Unload the pages: arrays that were handed out stay valid, and bring theirs in again."""
        self._reads = 0
        if isinstance(self._mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


def _map(path: Path, size: int) -> mmap.mmap | bytes:
    if path.stat().st_size != size:
        raise ValueError(f"{path.name} is shorter or longer than it was written")
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""  # an empty file cannot be mapped


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
        self.kind = "<u1" if vocab <= 2**8 else "<u2" if vocab <= 2**16 else "<u4"
        self.count = 0
        self._end = 0
        self._ids = (directory / f"{side}.ids").open("wb")
        self._offsets = (directory / f"{side}.offsets").open("wb")
        self._offsets.write(np.zeros(1, "<i8").tobytes())

    def append(self, sentences: Sequence[Sequence[int] | Ids]) -> None:
        ends = self._end + np.cumsum([len(sentence) for sentence in sentences], dtype="<i8")
        self._ids.write(self._join(sentences).tobytes())
        self._offsets.write(ends.tobytes())
        self.count += len(sentences)
        self._end = int(ends[-1]) if len(ends) else self._end

    def _join(self, sentences: Sequence[Sequence[int] | Ids]) -> Ids:
        if sentences and all(isinstance(sentence, np.ndarray) for sentence in sentences):  # at once, not number by number
            return np.concatenate(sentences, dtype=self.kind, casting="unsafe")
        return np.fromiter(chain.from_iterable(sentences), self.kind)

    def close(self) -> None:
        self._ids.close()
        self._offsets.close()
