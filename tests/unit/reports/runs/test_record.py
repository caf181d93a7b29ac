"""A run read back: whole, unfinished, old, or none at all."""

import json
import shutil
from pathlib import Path

import pytest

from headway.bundle import read_bundle
from headway.errors import DataError, RequestError
from headway.models.model import count_parameters as count_in_torch
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
    assert len(found.missing) == 3


def test_a_run_of_an_earlier_headway(copy: Path) -> None:
    (copy / "test.jsonl").unlink()
    found = read_run(copy)
    assert found.tested == [] and found.test["bleu"] >= 0
    assert "test.jsonl" in found.missing[0]


@pytest.mark.parametrize("content", ['{"source": "a"}\n', "no JSON\n", "3\n"])
def test_a_damaged_test_file(copy: Path, content: str) -> None:
    (copy / "test.jsonl").write_text(content)
    with pytest.raises(DataError, match=r"test\.jsonl is damaged"):
        read_run(copy)


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no config\.yaml"):
        read_run(tmp_path)
    with pytest.raises(DataError, match="is no directory"):
        read_run(tmp_path / "nowhere")
    (tmp_path / "config.yaml").write_text("model: [")
    with pytest.raises(RequestError, match="cannot be read"):
        read_run(tmp_path)


def test_lines_come_back_as_they_were(tmp_path: Path) -> None:
    tested = [Line("a\u2028b", "ركض\r", '狗 "\\'), Line("", " ", "")]
    write_tested(tmp_path / "test.jsonl", tested)
    assert read_tested(tmp_path / "test.jsonl") == tested
