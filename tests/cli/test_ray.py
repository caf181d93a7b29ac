"""`headway translate --ray`: the same bytes, though a process is killed in the middle."""

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest
from kills import children

from headway import __version__, load
from headway.errors import HeadwayError
from headway.jobs.cluster import load_once
from headway.jobs.local import make_local_work


def find_workers(pid: int) -> list[int]:
    """The processes below `pid` that are translating a block, as Ray names them."""
    found = []
    for child in children(pid):
        try:
            title = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        found += [child] if title.startswith(b"ray::translate_block") else find_workers(child)
    return found


def kill_one_after(part: Path, killed: list[int], ended: threading.Event) -> None:
    """Kill a process at work as soon as something is written."""
    while not killed and not ended.is_set():
        if part.exists() and part.stat().st_size and (workers := find_workers(os.getpid())):
            os.kill(workers[0], signal.SIGKILL)
            killed.append(workers[0])
        time.sleep(0.002)


def test_a_killed_process_loses_nothing_and_repeats_nothing(
    tmp_path: Path, run: Path, headway, monkeypatch: pytest.MonkeyPatch
):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr("headway.jobs.blocks.BLOCK", 1)
    source, out = tmp_path / "source", tmp_path / "out"
    source.write_text("".join(f"copy oak {number}\n" for number in range(20)))
    killed: list[int] = []
    ended = threading.Event()
    killer = threading.Thread(target=kill_one_after, args=(tmp_path / ".out.part", killed, ended), daemon=True)
    killer.start()
    result = headway("translate", run / "best", source, "-o", out, "--json", "--beam", 1, "--ray")
    ended.set()
    killer.join()
    assert (result.code, result.out) == (0, ""), result.err
    assert killed
    assert not ray.is_initialized() and not find_workers(os.getpid())
    assert out.read_text() == headway("translate", run / "best", source, "--json", "--beam", 1).out


def test_a_cluster_that_is_not_there(run: Path, tmp_path: Path, headway):
    pytest.importorskip("ray")
    (tmp_path / "source").write_text("copy oak\n")
    result = headway("translate", run / "best", tmp_path / "source", "--ray", "127.0.0.1:1")
    assert result.code == 1 and "no Ray cluster at 127.0.0.1:1" in result.err


def test_a_machine_that_lacks_the_model_says_so(run: Path):
    manifest = (run / "best" / "headway.json").read_text(encoding="utf-8")
    with pytest.raises(HeadwayError, match="cannot be read on"):
        load_once(__version__, (("/nowhere", manifest),), ())
    with pytest.raises(HeadwayError, match="is another one on"):
        load_once(__version__, ((str(run / "best"), "other"),), ())
    with pytest.raises(HeadwayError, match=r"and 0\.0 where the job began"):
        load_once("0.0", ((str(run / "best"), manifest),), ())


def test_without_a_file_to_write_the_cluster_is_kept_off_standard_output(
    tmp_path: Path, run: Path, headway, monkeypatch: pytest.MonkeyPatch
):
    @contextmanager
    def talkative(address, models, loading, options, render):
        with redirect_stdout(sys.stderr):
            print("a process has died")
            yield make_local_work(load(models, **loading), options, render)

    monkeypatch.setattr("headway.jobs.cluster.join_cluster", talkative)
    (tmp_path / "source").write_text("copy oak\nreverse elm\n")
    result = headway("translate", run / "best", tmp_path / "source", "--ray", "--beam", 1)
    assert result.out == headway("translate", run / "best", tmp_path / "source", "--beam", 1).out
    assert result.out.count("\n") == 2 and "a process has died" in result.err
