"""Whole, in shards, interrupted, packed: the same bytes."""

import sys
import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway.errors import DataError, Interrupted
from headway.jobs.blocks import Block, Shard
from headway.jobs.job import print_task, run_tasks
from headway.jobs.local import Output, Work, make_local_work
from headway.jobs.render import render_text
from headway.jobs.streams import open_input, pack
from headway.jobs.tasks import Task, plan_tasks, take_shard

SIZE = 10
LINES = [f"line {number} " + "ä" * (number % 7) for number in range(95)]
EXPECTED = "".join(f"{line[::-1]}\n" for line in LINES)


class Reverser:
    """Translates a line to itself backwards, until its strength ends."""

    def __init__(self, strength: int = 1000, end: type[BaseException] = KeyboardInterrupt) -> None:
        self.strength, self.end, self.sizes = strength, end, list[int]()

    def translate(self, lines: Sequence[str], **options: Any) -> list[Any]:
        if len(self.sizes) == self.strength:
            raise self.end
        self.sizes.append(len(lines))
        return [SimpleNamespace(text=line[::-1]) for line in lines]

    def warn(self, lines: Sequence[str]) -> str:
        return f"Strange: {lines[0]}" if lines[0][:6] in ("line 2", "line 5") else ""


def work_of(translator: Reverser) -> Work:
    return make_local_work(translator, {}, render_text)  # type: ignore[arg-type]


def do(tasks: list[Task], translator: Reverser | None = None, request: str = "a") -> None:
    run_tasks(tasks, work_of(translator or Reverser()), {"request": request}, SIZE)


def read(path: Path) -> str:
    with open_input(path) as source:
        return source.text.read().decode()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "source", LINES)


def write(path: Path, lines: Iterable[str]) -> Path:
    path.write_bytes(pack("".join(f"{line}\n" for line in lines).encode(), path))
    return path


@pytest.mark.parametrize("before", ["", ".gz", ".zst"])
@pytest.mark.parametrize("after", ["", ".gz", ".zst"])
def test_packed_or_not_whole_or_interrupted(tmp_path: Path, before: str, after: str):
    source, out, other = write(tmp_path / f"in{before}", LINES), tmp_path / f"out{after}", tmp_path / f"other{after}"
    do([Task([source], out)])
    assert read(out) == EXPECTED
    for strength in (3, 0, 4):
        with pytest.raises(Interrupted, match="The same command goes on") as stop:
            do([Task([source], other)], Reverser(strength))
        assert stop.value.exit_code == 130 and not other.exists()
    last = Reverser()
    do([Task([source], other)], last)
    assert last.sizes == [10, 10, 5]
    assert other.read_bytes() == out.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {source.name, out.name, other.name}


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_shards_one_after_the_other_are_the_whole(tmp_path: Path, ending: str):
    files = [write(tmp_path / "a", LINES[:33]), write(tmp_path / "b.gz", []), write(tmp_path / "c.zst", LINES[33:])]
    whole = tmp_path / f"whole{ending}"
    do([Task(files, whole)])
    together = b""
    for number in range(1, 5):
        out = tmp_path / f"{number}{ending}"
        do([take_shard(Task(files, out), Shard(number, 4), SIZE)])
        together += out.read_bytes()
    assert together == whole.read_bytes()
    assert read(whole) == EXPECTED


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_nothing_in_is_nothing_out(tmp_path: Path, ending: str):
    out = tmp_path / f"out{ending}"
    do([take_shard(Task([write(tmp_path / "in", LINES[:5])], out), Shard(1, 2), SIZE)])
    assert read(out) == ""
    assert bool(out.stat().st_size) == bool(ending)  # `gzip -d` takes an empty file for a damaged one


def test_an_error_in_the_middle_leaves_no_file_and_the_mended_input_starts_anew(
    tmp_path: Path, source: Path, capfd: pytest.CaptureFixture[str]
):
    good = source.read_bytes()
    source.write_bytes(good.replace(b"line 44", b"line \xff44"))
    with pytest.raises(DataError, match="source is not UTF-8: line 45"):
        do([Task([source], tmp_path / "out")])
    assert not (tmp_path / "out").exists()
    source.write_bytes(good)
    do([Task([source], tmp_path / "out")])
    assert "starting anew" in capfd.readouterr().err
    assert read(tmp_path / "out") == EXPECTED


def test_what_is_said_about_going_on(tmp_path: Path, source: Path, capfd: pytest.CaptureFixture[str]):
    task = Task([source], tmp_path / "out")
    for _ in range(2):
        with pytest.raises(Interrupted):
            do([task], Reverser(4))
    assert "Going on after 40 lines." in capfd.readouterr().err
    do([task], request="b")
    assert "starting anew" in capfd.readouterr().err
    assert read(tmp_path / "out") == EXPECTED


def test_a_directory_goes_on_with_the_file_it_was_at(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    files = [write(tmp_path / f"{name}.en", LINES[:25]) for name in "abc"]
    tasks = plan_tasks(files, f"{tmp_path}/out/", [("en", "de")])
    with pytest.raises(Interrupted):
        do(tasks, Reverser(5))
    assert [path.name for path in (tmp_path / "out").glob("*.de")] == ["a.de"]
    rest = Reverser()
    do(tasks, rest)
    assert rest.sizes == [5, 10, 10, 5]
    assert "a.de is done already" in capfd.readouterr().err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.de", "b.de", "c.de"]
    assert {read(path) for path in (tmp_path / "out").iterdir()} == {"".join(f"{line[::-1]}\n" for line in LINES[:25])}


def test_a_warning_is_said_once(tmp_path: Path, source: Path, capfd: pytest.CaptureFixture[str]):
    do([Task([source], tmp_path / "out"), Task([source], tmp_path / "again")])
    assert [line for line in capfd.readouterr().err.splitlines() if "Strange" in line] == ["Strange: line 20 " + "ä" * 6]


def test_a_device_is_written_to_and_not_replaced(source: Path):
    do([Task([source], Path("/dev/null"))])
    assert Path("/dev/null").is_char_device()


def test_standard_output_gets_each_block_at_once(source: Path, capfd: pytest.CaptureFixture[str]):
    seen = []

    def work(blocks: Iterable[Block], **more: Any) -> Iterator[Output]:
        for output in work_of(Reverser())(blocks, **more):
            yield output
            seen.append(capfd.readouterr().out)

    print_task(Task([source], None), work, sys.stdout, SIZE)
    assert len(seen) == 10 and "".join(seen) == EXPECTED


def test_memory_does_not_grow_with_the_input(tmp_path: Path):
    source = tmp_path / "source"
    source.write_bytes(b"a line of some eighty bytes, as they stand in the texts that people translate\n" * 60_000)
    tracemalloc.start()
    try:
        do([Task([source], tmp_path / "out")], Reverser(10**9))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000 < source.stat().st_size / 4
    finally:
        tracemalloc.stop()


def test_progress_tells_lines_speed_and_how_many_there_will_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shown: list[tuple[str, int, int | None, str]] = []
    monkeypatch.setattr("headway.progress.Display.update", lambda _, *what: shown.append(what))
    files = [write(tmp_path / name, ["as long as all"] * 40) for name in "ab"]
    do([Task([file], tmp_path / f"{file.name}.out") for file in files])
    assert list(dict.fromkeys(what[:3] for what in shown)) == [("Translating", done, 80) for done in range(0, 81, 10)]
    assert all(detail.endswith(" lines/s") for _, done, _, detail in shown if done)


def test_progress_of_a_shard_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shown = []
    monkeypatch.setattr("headway.progress.Display.update", lambda _, *what: shown.append(what[1:3]))
    source = write(tmp_path / "in", (str(number) for number in range(95)))
    do([take_shard(Task([source], tmp_path / "out"), Shard(2, 2), SIZE)])
    assert shown == [(done, 45) for done in (0, 10, 20, 30, 40, 45)]


def test_options_reach_the_translator():
    given = {}

    class Listener(Reverser):
        def translate(self, lines: Sequence[str], **options: Any) -> list[Any]:
            given.update(options)
            return super().translate(lines)

    work = make_local_work(Listener(), {"beam": 3}, render_text)  # type: ignore[arg-type]
    found = work([Block(["ab", "c"], 0)], ahead=1, on_progress=lambda block, done: None)
    assert [output.text for output in found] == [b"ba\nc\n"]
    assert given.pop("on_progress") and given == {"beam": 3, "first": 0}
