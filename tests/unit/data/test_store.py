import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.data import store as stores
from headway.data.store import Segment, Store, StoreWriter
from headway.errors import DataError


def write(directory: Path, vocab: int = 300) -> Store:
    with StoreWriter(directory, source_vocab=vocab, target_vocab=70_000) as writer:
        writer.append([[5, 6], [7]], [[65_537], [9, 10, 11]])
        writer.append([], [])
        writer.end_segment(1.0)
        writer.append([[299]], [[4]])
        writer.end_segment(0.3)
    return Store(directory)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    store = write(tmp_path)
    assert len(store) == 3
    assert [store.source(i).tolist() for i in range(3)] == [[5, 6], [7], [299]]
    assert [store.target(i).tolist() for i in range(3)] == [[65_537], [9, 10, 11], [4]]
    assert store.source_lengths.tolist() == [2, 1, 1] and store.target_lengths.tolist() == [1, 3, 1]
    assert store.segments == [Segment(0, 2, 1.0), Segment(2, 3, 0.3)]


@pytest.mark.parametrize(("vocab", "kind"), [(65_536, np.uint16), (65_537, np.uint32)])
def test_ids_are_as_narrow_as_the_vocabulary_allows(tmp_path: Path, vocab: int, kind: type) -> None:
    assert write(tmp_path, vocab).source(0).dtype == kind


def test_ids_are_mapped_not_read(tmp_path: Path) -> None:
    view = write(tmp_path).source(0)
    assert not view.flags.owndata and not view.flags.writeable


def test_arrays_are_written_as_lists_are(tmp_path: Path) -> None:
    wide, narrow, empty = np.array([9, 200], np.uint64), np.array([7], np.uint8), np.array([], np.uint16)
    with StoreWriter(tmp_path, source_vocab=256, target_vocab=70_000) as writer:
        writer.append([wide, empty, narrow], [np.array([65_537], np.uint32), [4, 5], narrow])
        writer.append([empty], [np.array([[1, 2], [3, 4]], np.uint16)[:, 1]])
    store = Store(tmp_path)
    assert [store.source(i).tolist() for i in range(4)] == [[9, 200], [], [7], []]
    assert [store.target(i).tolist() for i in range(4)] == [[65_537], [4, 5], [7], [2, 4]]
    assert store.source(0).dtype == np.uint8 and store.target(0).dtype == np.uint32


def test_an_array_is_not_taken_apart_into_numbers(tmp_path: Path) -> None:
    class Whole(np.ndarray[tuple[int], np.dtype[np.uint8]]):
        def __iter__(self) -> Iterator[Any]:
            raise AssertionError("one number at a time")

    pixels = np.arange(12, dtype=np.uint8).view(Whole)
    with StoreWriter(tmp_path, source_vocab=256, target_vocab=9) as writer:
        writer.append([pixels], [[1]])
    assert Store(tmp_path).source(0).tolist() == list(range(12))


def test_a_store_of_empty_sentences(tmp_path: Path) -> None:
    with StoreWriter(tmp_path, source_vocab=9, target_vocab=9) as writer:
        writer.append([[], []], [[], []])
    assert Store(tmp_path).target(1).tolist() == [] and Store(tmp_path).source_lengths.tolist() == [0, 0]


def test_lengths_take_four_bytes(tmp_path: Path) -> None:
    store = write(tmp_path)
    assert store.source_lengths.itemsize == store.target_lengths.itemsize == 4


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what is in memory")
def test_of_a_large_store_little_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with StoreWriter(tmp_path, source_vocab=999, target_vocab=999) as writer:
        writer.append([[7] * 1_000] * 4_000, [[8] * 1_000] * 4_000)  # 8 MB a side

    def resident() -> int:
        """Bytes of the two files of ids."""
        maps = Path("/proc/self/smaps").read_text()
        return 1024 * sum(int(kb) for kb in re.findall(rf"{tmp_path}/\w+\.ids\n(?:.*\n)*?Rss: +(\d+) kB", maps))

    def read_all(store: Store) -> int:
        first = store.source(0)
        assert sum(int(store.source(i).sum() + store.target(i).sum()) for i in range(len(store))) == 4_000 * 15_000
        assert first.sum() == 7_000  # what was handed out stays valid
        return resident()

    assert read_all(Store(tmp_path)) >= 15_000_000
    monkeypatch.setattr(stores, "RESIDENT", 2**20)
    assert read_all(Store(tmp_path)) <= 4 * 2**20


@pytest.mark.parametrize("name", ["source.ids", "target.offsets", "store.json"])
def test_a_store_that_is_shorter_or_longer_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    whole = (tmp_path / name).read_bytes()
    for damaged in (whole[:-1], whole + bytes(8), b""):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(DataError, match="is not whole"):
            Store(tmp_path)


def test_an_unfinished_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), StoreWriter(tmp_path, source_vocab=9, target_vocab=9) as writer:
        writer.append([[1]], [[1]])
        _ = 1 / 0
    with pytest.raises(DataError, match="is not whole"):
        Store(tmp_path)
