"""Blocks of lines: where they end, and which are whose."""

import os
import threading
import time
from pathlib import Path

import pytest

from headway.errors import DataError, RequestError
from headway.jobs.blocks import Shard, count_lines, parse_shard, read_blocks, read_pipe
from headway.jobs.streams import PAUSE, PipeLines, pack


def write(path: Path, lines: list[str]) -> Path:
    path.write_bytes(pack("".join(f"{line}\n" for line in lines).encode(), path))
    return path


def test_each_file_begins_a_block(tmp_path: Path):
    files = [write(tmp_path / "a", list("12345")), write(tmp_path / "b.gz", []), write(tmp_path / "c.zst", list("67"))]
    assert [block.lines for block in read_blocks(files, 2)] == [["1", "2"], ["3", "4"], ["5"], ["6", "7"]]
    assert [block.lines for block in read_blocks(files, 2, range(1, 4))] == [["3", "4"], ["5"], ["6", "7"]]
    assert [block.lines for block in read_blocks(files, 2, range(2, 2))] == []


def test_positions_grow_to_the_size_of_all_files(tmp_path: Path):
    files = [write(tmp_path / "a", list("12345")), write(tmp_path / "b", list("67"))]
    assert [block.position for block in read_blocks(files, 2)] == [4, 8, 10, 14]


def test_an_error_names_its_line_whatever_was_skipped(tmp_path: Path):
    path = tmp_path / "text"
    path.write_bytes(b"a\n" * 6 + b"\xff\n" + b"a\n" * 6)
    with pytest.raises(DataError, match="line 7 has the byte 0xff"):
        list(read_blocks([path], 2, range(2, 9)))
    assert len(list(read_blocks([path], 2, range(4, 9)))) == 3


def test_a_mark_at_the_start_is_taken_off_the_first_line_only(tmp_path: Path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")
    assert [block.lines for block in read_blocks([path], 1)] == [["a"], ["\ufeffb"]]


def test_a_very_long_line(tmp_path: Path):
    path = write(tmp_path / "text.zst", ["x" * 3_000_000, "y"])
    assert [len(line) for block in read_blocks([path], 10) for line in block.lines] == [3_000_000, 1]


@pytest.mark.parametrize("text", [b"", b"\n", b"a", b"a\n", b"a\n\nb", b"\xef\xbb\xbf", b"a\r\nb\x0cc\n"])
def test_as_many_lines_are_counted_as_read(tmp_path: Path, text: bytes):
    for name in ("text", "text.gz"):
        path = tmp_path / name
        path.write_bytes(pack(text, path))
        assert count_lines(path) == sum(len(block.lines) for block in read_blocks([path], 2))


@pytest.mark.parametrize("blocks", [0, 1, 7, 8, 9, 100])
def test_shards_are_the_whole_and_like_in_size(blocks: int):
    shards = [Shard(number, 8).choose(blocks) for number in range(1, 9)]
    assert [place for shard in shards for place in shard] == list(range(blocks))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_shards_that_are_none():
    assert parse_shard("3/8") == Shard(3, 8)
    for text in ("0/8", "9/8", "3", "3/", "-1/8", "1/0", "a/b", "1/2/3", "1.5/2", "³/8"):
        with pytest.raises(RequestError, match="is no shard"):
            parse_shard(text)


def test_who_waits_for_an_answer_gets_it():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        blocks = read_pipe(PipeLines(stream), 3, whole=False)
        for text, expected in ((b"one\n", ["one"]), (b"two\nthree\nhalf", ["two", "three"])):
            os.write(writing, text)
            assert next(blocks).lines == expected
        os.write(writing, b" a line\n" + b"more\n" * 4)
        assert [next(blocks).lines for _ in range(2)] == [["half a line", "more", "more"], ["more", "more"]]
        os.close(writing)
        assert list(blocks) == []


def test_where_nobody_waits_blocks_are_whole():
    reading, writing = os.pipe()

    def write_slowly() -> None:
        for text in (b"1\n", b"2\n3", b"\n4\n5\n"):
            os.write(writing, text)
            time.sleep(2 * PAUSE)
        os.close(writing)

    writer = threading.Thread(target=write_slowly)
    writer.start()
    with os.fdopen(reading, "rb") as stream:
        assert [block.lines for block in read_pipe(PipeLines(stream), 2, whole=True)] == [["1", "2"], ["3", "4"], ["5"]]
    writer.join()
