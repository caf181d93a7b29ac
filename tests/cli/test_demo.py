"""`headway demo`, cut short: a few updates teach nothing, but everything is there."""

import os
import re
import signal
import subprocess
import sys
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
    assert result.stdout.count("    Headway    ") == result.stdout.count("    reference  ") == 12
    sources = re.findall(r"^  (\S.*)   [a-z ]+\n    Headway", result.stdout, flags=re.MULTILINE)
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


def test_a_second_time_it_shows_the_run_that_is_there(demo):
    out, first = demo
    again = start(out, *SHORT)
    assert again.returncode == 0, again.stderr
    assert "This run is complete" in again.stderr
    assert again.stdout == first.stdout


def test_words_outside_the_phrasebook_are_translated_with_a_word(demo, headway, tmp_path: Path):
    model = demo[0] / "best"
    (tmp_path / "text.en").write_text("Anna sees the astronaut.\n\nAnna buys a hat.\n")
    result = headway("translate", model, tmp_path / "text.en")
    assert result.code == 0 and result.out.count("\n") == 3
    assert "knows only Headway's phrasebook" in result.err and "astronaut" in result.err
    assert "Anna" not in result.err
    assert headway("translate", model, demo[0].parent / "demo-phrasebook" / "valid.en").err == ""


def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path: Path):
    out = tmp_path / "demo"
    options = ["--pairs", "500", "--max-steps", "400"]
    with subprocess.Popen(command(out, *options), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        while not (out / "metrics.jsonl").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Stopped at update" in err and "To go on:" in err and "Traceback" not in err
    assert list((out / "checkpoints").glob("step-*"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    result = start(tmp_path / "file" / "demo", *SHORT)
    assert result.returncode == 1
    assert str(tmp_path / "file") in result.stderr and "place that you may write to" in result.stderr
    assert "Traceback" not in result.stderr
