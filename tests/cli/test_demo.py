"""`headway demo`, cut short: a few updates teach nothing, but everything is there."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from headway.data.phrasebook import PHENOMENA

SHORT = ["--pairs", "500", "--max-steps", "4"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    out = tmp_path_factory.mktemp("demo") / "demo"
    return out, start(out, *SHORT)


def command(out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "headway", "demo", "--out", str(out), *options]


def start(out: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    everything = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(command(out, *options), capture_output=True, text=True, env=everything, check=False)


def test_it_shows_accuracy_by_phenomenon_translations_and_what_to_try_next(demo):
    out, result = demo
    assert result.returncode == 0, result.stderr
    for name in ("all", *PHENOMENA):
        assert re.search(rf"^  {name} +[0-9.]+ % of +[0-9]+", result.stdout, flags=re.MULTILINE), name
    assert result.stdout.count("\n  Headway    ") == result.stdout.count("\n  reference  ") == 12
    sources = re.findall(r"^ +(\S.*)\n  Headway", result.stdout, flags=re.MULTILINE)
    training = (out.parent / "demo-phrasebook" / "train.en").read_text().splitlines()
    assert len(set(sources)) == 12 and set(sources).isdisjoint(training)
    for hint in ("translate", "inspect", "train --train", "headway.load", "docs/paper.md"):
        assert hint in result.stdout
    page = out / "inside" / "inside.html"
    assert page.exists() and page.absolute().as_uri() in result.stdout
    assert (out / "best" / "headway.json").exists()


def test_a_log_has_neither_colours_nor_a_live_line(demo):
    _, result = demo
    assert "\x1b" not in result.stdout + result.stderr and "\r" not in result.stdout + result.stderr


@pytest.mark.soak
def test_a_second_time_it_shows_the_run_that_is_there_even_where_german_cannot_be_written(demo):
    out, first = demo
    again = start(out, *SHORT, PYTHONIOENCODING="ascii")
    assert again.returncode == 0, again.stderr
    assert "This run is complete" in again.stderr
    assert again.stdout == first.stdout.encode("ascii", "replace").decode() != first.stdout


def test_words_outside_the_phrasebook_are_translated_with_a_word(demo, headway, tmp_path: Path):
    model = demo[0] / "best"
    (tmp_path / "text.en").write_text("Anna sees the astronaut.\n\nAnna sleeps at 3:30.\n")
    result = headway("translate", model, tmp_path / "text.en")
    assert result.code == 0 and result.out.count("\n") == 3
    assert "knows only Headway's phrasebook" in result.err
    assert result.err.endswith("a guess: astronaut, 3:30.\n")
    assert "a guess" not in headway("translate", model, demo[0].parent / "demo-phrasebook" / "valid.en").err


@pytest.mark.soak
def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path: Path):
    out = tmp_path / "demo"
    options = ["--pairs", "500", "--max-steps", "30"]
    with subprocess.Popen(command(out, *options), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        while not (out / "metrics.jsonl").exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Stopped at update" in err and "To go on:" in err and "Traceback" not in err
    again = start(out, *options)
    assert again.returncode == 0, again.stderr
    assert "Going on from update" in again.stderr and "What to try next" in again.stdout


def test_another_phrasebook_is_refused_before_the_old_one_is_touched(demo):
    out, _ = demo
    before = {path: path.read_bytes() for path in (out.parent / "demo-phrasebook").iterdir()}
    result = start(out, "--pairs", "600", "--max-steps", "4")
    assert result.returncode == 2 and "another phrasebook" in result.stderr
    assert {path: path.read_bytes() for path in (out.parent / "demo-phrasebook").iterdir()} == before


def test_without_drawing_packages_it_still_tells_what_to_try_next(demo):
    out, _ = demo
    block = "import sys; sys.modules['matplotlib'] = sys.modules['jinja2'] = None; sys.argv[0] = 'headway'"
    program = f"{block}; from headway.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program, "demo", "--out", str(out), *SHORT], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "No pictures" in result.stderr and "What to try next" in result.stdout


@pytest.mark.soak
def test_on_a_narrow_terminal_lines_keep_to_its_width(demo):
    out, columns = demo[0], 60
    seen = run_on_a_terminal(command(out, *SHORT), columns, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", seen), "a colour"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    table = [line for line in plain.splitlines() if re.search(r"% of +[0-9]", line)]
    assert len(table) == 1 + len(PHENOMENA) and max(map(len, table)) <= columns
    told = [line for line in plain.splitlines() if line.startswith(("  Headway", "  reference", "             "))]
    assert len(told) >= 24 and max(map(len, told)) <= columns


def run_on_a_terminal(words: list[str], columns: int, **environment: str) -> str:
    """What a command writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    everything = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    everything |= {"TERM": "xterm-256color", "OMP_NUM_THREADS": "1", **environment}
    written = b""
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=everything) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while part := os.read(ours, 4096):
                written += part
    os.close(ours)
    assert process.returncode == 0, written.decode()
    return written.decode().replace("\r\n", "\n")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    result = start(tmp_path / "file" / "demo", *SHORT)
    assert result.returncode == 1
    assert str(tmp_path / "file") in result.stderr and "place that you may write to" in result.stderr
    assert "Traceback" not in result.stderr
