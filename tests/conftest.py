"""What tests share: a generated corpus, the command line in this process, and one small trained run."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from copy_reverse import make_pairs

from headway.cli import main

SMALL = ["--preset", "tiny", "--n-layers", "1", "--d-model", "32", "--d-ff", "64", "--n-heads", "2", "--vocab-size", "300"]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def write_corpus(stem: Path, pairs: list[tuple[str, str]]) -> Path:
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_name(f"{stem.name}.en").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    stem.with_name(f"{stem.name}.de").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")
    return stem


def run_main(arguments: list[object], capture: pytest.CaptureFixture[str]) -> Result:
    capture.readouterr()
    before, sys.argv = sys.argv, ["headway", *map(str, arguments)]
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv = before
    written = capture.readouterr()
    return Result(code, written.out, written.err)


@pytest.fixture(autouse=True)
def without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are as whole for a test that no power failure interrupts; a run waits hundreds of times."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def headway(capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """`headway("translate", model, ...)` as on the command line."""
    return lambda *arguments: run_main(list(arguments), capfd)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stem of 600 pairs of the copy-and-reverse task, .en and .de."""
    return write_corpus(tmp_path_factory.mktemp("corpus") / "train", make_pairs(600))


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Iterator[Path]:
    """The directory of a run that was trained for a few updates: whole, but not good at anything."""
    out = tmp_path_factory.mktemp("runs") / "small"
    before, sys.argv = sys.argv, ["headway", *map(str, train_command(corpus, out))]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code
    finally:
        sys.argv = before
    yield out


def train_command(corpus: Path, out: Path, *more: object) -> list[object]:
    common = ["train", "--train", corpus, "--from", "en", "--to", "de", "--out", out, *SMALL, "--batch-tokens", "512"]
    return [*common, *(more or ("--max-steps", "20", "--valid-every", "5"))]
