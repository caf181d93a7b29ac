"""Several processes count what one does, whatever befalls them."""

import os
import sys
import time
from pathlib import Path

import pytest
from noisy_text import add_noise, make_sentences

from headway.evaluation import sharing
from headway.evaluation.sharing import count_on_all_cores
from headway.evaluation.statistics import Rows, count

REFERENCES = [make_sentences(20), add_noise(make_sentences(20), 0.1, seed=5)]
OUTPUTS = [add_noise(REFERENCES[0], 0.1, seed=seed) for seed in (2, 3)]
ALONE = count(OUTPUTS, REFERENCES, True)


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two processes, however little there is to do; and how many sentences this one counts, each time it does."""
    counted: list[int] = []

    def counting(outputs: list[list[str]], *others: object) -> list[Rows]:
        counted.append(len(outputs[0]))
        return count(outputs, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(sharing, "WORTH_IT", 100)
    monkeypatch.setattr(sharing, "count_cores", lambda: 2)
    monkeypatch.setattr(sharing, "count", counting)
    return counted


def test_each_counts_its_share(shares: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not the json of Python')")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])  # as site-packages may have what Python has
    told: list[tuple[str, int, int | None]] = []
    assert count_on_all_cores(OUTPUTS, REFERENCES, True, lambda *one: told.append(one)) == ALONE
    assert shares == [10] and told == [("Counting", 0, 20)]


@pytest.mark.parametrize("program", ["/bin/false", "/bin/echo", "/no/such/python"])
def test_what_another_process_fails_to_count_is_counted_here(
    shares: list[int], program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    assert count_on_all_cores(OUTPUTS, REFERENCES, True) == ALONE
    assert shares == [10, 10]


def test_ctrl_c_ends_the_others_and_counts_no_more(shares: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, noted = tmp_path / "slow", tmp_path / "process"
    slow.write_text(f"#!/bin/sh\necho $$ > {noted}.new && mv {noted}.new {noted}\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))

    def interrupt(work: str, done: int, total: int | None) -> None:
        while not noted.exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_on_all_cores(OUTPUTS, REFERENCES, True, interrupt)
    assert shares == [10]
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


def test_little_work_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "count_cores", lambda: 8)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    monkeypatch.setattr(sharing.subprocess, "Popen", lambda *_, **__: pytest.fail("another process was started"))
    assert count_on_all_cores(OUTPUTS, REFERENCES, True) == ALONE
