"""A run read back: whole, unfinished, old, or none at all."""

import json
import shutil
from pathlib import Path

import pytest

from headway.bundle import read_bundle
from headway.errors import DataError, RequestError
from headway.models.model import count_parameters as count_in_torch
from headway.reports.runs.page import render_run
from headway.reports.runs.record import read_run
from headway.reports.runs.tested import Tested as Line
from headway.reports.runs.tested import read_tested, write_tested


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """A run that a test may spoil."""
    return Path(shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("checkpoints", "*.ctranslate2")))


def test_a_whole_run(run: Path) -> None:
    found = read_run(run)
    assert found.name == "small" and found.missing == []
    assert found.steps == 20 and found.settings.model.d_model == 32
    assert found.test.keys() == {"bleu", "chrf", "ter"} and {"loss", "bleu", "chrf"} <= found.valid.keys()
    assert found.parameters == count_in_torch(read_bundle(run / "best").build_model())
    assert found.facts and found.facts.pairs_read == 600
    assert len(found.tested) == found.facts.test_pairs
    assert found.seconds and found.seconds > 0 and found.tokens_per_second and found.mfu
    assert [x for x, _ in found.points("valid_loss")] == [5, 10, 15, 20]


def test_what_was_tested_is_what_stands_in_test_txt(run: Path) -> None:
    text = (run / "test.txt").read_text(encoding="utf-8")
    assert all(f"reference    {one.reference}\ntranslation  {one.translation}\n" in text for one in read_run(run).tested)


def test_a_run_that_goes_on_is_not_tested_yet(copy: Path) -> None:
    """What stands in test.jsonl then is of an earlier model."""
    manifest = json.loads((copy / "best" / "headway.json").read_text())
    metrics = manifest["provenance"]["metrics"]
    manifest["provenance"]["metrics"] = {name: value for name, value in metrics.items() if not name.startswith("test_")}
    (copy / "best" / "headway.json").write_text(json.dumps(manifest))
    found = read_run(copy)
    assert found.tested == [] and found.test == {}
    assert "not tested yet" in "".join(found.missing)


def test_a_run_at_its_very_beginning(copy: Path) -> None:
    shutil.rmtree(copy / "best")
    shutil.rmtree(copy / "data")
    (copy / "metrics.jsonl").unlink()
    found = read_run(copy)
    assert (found.steps, found.seconds, found.parameters, found.manifest, found.tested) == (0, None, None, None, [])
    assert found.missing[0].startswith("This run has not been validated yet.") and "nothing is saved" in found.missing[0]
    assert len(found.missing) == 2


def test_a_run_that_was_interrupted_before_its_first_validation(copy: Path) -> None:
    shutil.rmtree(copy / "best")
    (copy / "metrics.jsonl").unlink()
    for step, content in ((9, '{"step": 9}'), (12, '{"step": 12}'), (15, "torn")):
        place = copy / "checkpoints" / f"step-{step:08}"
        place.mkdir(parents=True)
        (place / "state.json").write_text(content)
    found = read_run(copy)
    assert found.steps == 12
    assert "goes on after update 12" in found.missing[0] and found.missing[0] in render_run(found, None).replace("&#39;", "'")


def test_a_run_of_an_earlier_headway(copy: Path) -> None:
    (copy / "test.jsonl").unlink()
    found = read_run(copy)
    assert found.tested == [] and found.test["bleu"] >= 0
    assert "test.jsonl" in found.missing[0]


NULL = '{"source": "a", "reference": null, "translation": "b"}\n'


@pytest.mark.parametrize("content", ['{"source": "a"}\n', "no JSON\n", "3\n", NULL, NULL.replace("null", "[1]")])
def test_a_damaged_test_file(copy: Path, content: str) -> None:
    (copy / "test.jsonl").write_text(content)
    with pytest.raises(DataError, match=r"test\.jsonl is damaged"):
        read_run(copy)


def test_figures_that_are_no_numbers(copy: Path) -> None:
    """Whoever wrote them: the page is made of the others."""
    before = read_run(copy)
    odd = [
        {
            "step": 30,
            "loss": "low",
            "valid_bleu": None,
            "seconds": [1],
            "mfu": {},
            "valid_loss": 0.125,
            "learning_rate": 10**400,
        },
        {"step": "31"},
        {"step": None, "loss": 1.0},
        {"step": float("nan"), "loss": 1.0},
    ]
    with (copy / "metrics.jsonl").open("a") as file:
        file.write("".join(f"{json.dumps(one)}\n" for one in odd))
    found = read_run(copy)
    assert found.records == [*before.records, {"step": 30, "valid_loss": 0.125}]
    assert "best 0.125 at update 30" in render_run(found, None)


def test_damaged_facts_are_no_facts(copy: Path) -> None:
    prepared = json.loads((copy / "data" / "prepared.json").read_text())
    prepared["facts"]["pairs_read"] = None
    (copy / "data" / "prepared.json").write_text(json.dumps(prepared))
    assert read_run(copy).facts is None


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no config\.yaml"):
        read_run(tmp_path)
    with pytest.raises(DataError, match="is no directory"):
        read_run(tmp_path / "nowhere")
    (tmp_path / "config.yaml").write_text("model: [")
    with pytest.raises(RequestError, match="cannot be understood in line 1"):
        read_run(tmp_path)


def test_lines_come_back_as_they_were(tmp_path: Path) -> None:
    tested = [Line("a\u2028b", "ركض\r", '狗 "\\'), Line("", " ", "")]
    write_tested(tmp_path / "test.jsonl", tested)
    assert read_tested(tmp_path / "test.jsonl") == tested
