"""Whole at every moment: what fails, or is killed, leaves what was there."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headway.atomic import new_directory, write_file
from headway.errors import HeadwayError


def test_a_new_directory_takes_the_place_of_the_old_one(tmp_path: Path):
    for content in ("old", "new"):
        with new_directory(tmp_path / "model") as new:
            (new / "a").write_text(content)
    assert (tmp_path / "model" / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_failure_leaves_the_old_one(tmp_path: Path):
    with new_directory(tmp_path / "model") as new:
        (new / "a").write_text("old")
    with pytest.raises(ZeroDivisionError), new_directory(tmp_path / "model") as new:
        (new / "a").write_text("half")
        _ = 1 / 0
    assert (tmp_path / "model" / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_killed_in_the_middle(tmp_path: Path):
    script = f"""
import os, signal
from pathlib import Path
from headway.atomic import new_directory
with new_directory(Path({str(tmp_path)!r}) / "model") as new:
    (new / "a").write_text("whole")
with new_directory(Path({str(tmp_path)!r}) / "model") as new:
    (new / "a").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL
    assert (tmp_path / "model" / "a").read_text() == "whole"
    with new_directory(tmp_path / "model") as new:
        assert list(new.iterdir()) == []
        (new / "b").write_text("next")
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["b"]


def test_a_full_disk_is_said_and_the_old_content_stays(tmp_path: Path):
    path = tmp_path / "file"
    write_file(path, "old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(HeadwayError, match="disk is full"):
            write_file(path, b"x" * 5000)
        with pytest.raises(HeadwayError, match="disk is full"), new_directory(tmp_path / "model") as new:
            (new / "a").write_bytes(b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
