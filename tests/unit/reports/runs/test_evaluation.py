"""Runs evaluated: rare words by the training text that all of them read, or not at all, and the page says which."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from headway.evaluation.metrics import score
from headway.reports.runs import evaluation as module
from headway.reports.runs.evaluation import choose_stretches, evaluate_runs, open_training
from headway.reports.runs.record import RunRecord, read_run

RARE = "rare_words"


def with_files(run: RunRecord, data: dict[str, str]) -> RunRecord:
    assert run.manifest
    provenance = run.manifest.provenance.model_copy(update={"data": data})
    return replace(run, manifest=run.manifest.model_copy(update={"provenance": provenance}))


def test_what_training_reports_is_what_its_test_part_scores(run: Path) -> None:
    found = read_run(run)
    scores = score([one.translation for one in found.tested], [[one.reference for one in found.tested]])
    assert found.test == {name.lower(): value.score for name, value in scores.named()}
    head = (run / "test.txt").read_text(encoding="utf-8").split("\n\n")[0]
    assert head.split("\n") == [f"{name} {value.score:.2f}  {value.signature}" for name, value in scores.named()]


def test_rare_words_need_one_training_text(run: Path) -> None:
    first = read_run(run)
    assert first.manifest
    moved = {f"elsewhere/{name}": digest for name, digest in first.manifest.provenance.data.items()}
    without = replace(first, facts=None)  # whose data is not there; the other's is the same
    same = evaluate_runs({"a": [with_files(without, moved)], "b": [first]})
    assert RARE in [one.name for one in same.breakdowns] and not any("rare" in note for note in same.notes)
    other = evaluate_runs({"a": [first], "b": [with_files(first, {**moved, "more.en": "1234"})]})
    assert RARE not in [one.name for one in other.breakdowns]
    assert any("different files" in note for note in other.notes)


@pytest.mark.parametrize(("lost", "told"), [("train", "train is not there"), ("train/target.ids", "is not whole")])
def test_a_run_that_was_sent_without_its_training_text(run: Path, tmp_path: Path, headway, lost: str, told: str) -> None:
    copy = shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("checkpoints", "*.ctranslate2"))
    shutil.rmtree(copy / "data" / lost) if lost == "train" else (copy / "data" / lost).unlink()
    result = headway("report", copy, "--json")
    assert result.code == 0 and "is left out" in " ".join(result.err.split())
    (found,) = json.loads(result.out)["evaluations"]
    assert any(told in note for note in found["notes"])
    assert RARE not in [one["name"] for one in found["breakdowns"]]
    assert told in (copy / "report.html").read_text(encoding="utf-8")


def test_of_a_large_corpus_a_part_is_counted(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_run(run)
    (whole,) = [one for one in evaluate_runs({"a": [found]}).breakdowns if one.name == RARE]
    assert "Counted in" not in whole.story
    monkeypatch.setattr(module, "AT_ONCE", 10)
    monkeypatch.setattr(module, "MOST", 50)
    (part,) = [one for one in evaluate_runs({"a": [found]}).breakdowns if one.name == RARE]
    pairs = found.facts and found.facts.pairs_kept
    assert part.story.endswith(f" Counted in 50 of {pairs} pairs, spread evenly over them.")
    assert part.buckets[-1].count < whole.buckets[-1].count  # fewer words are seen often

    stretches = choose_stretches(205)
    assert [(rows[0], rows[-1]) for rows in stretches] == [(0, 9), (40, 49), (80, 89), (120, 129), (160, 169)]
    assert choose_stretches(50) == [range(start, start + 10) for start in range(0, 50, 10)]


def test_the_training_text_is_read_as_it_was_written(run: Path) -> None:
    training = open_training(run / "data")
    lines = list(training.read())
    assert training.counted == len(lines) == len(training.store)
    assert lines[0] == training.tokenizer.decode([training.store.target(0).tolist()])[0]
