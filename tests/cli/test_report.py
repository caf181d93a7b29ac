"""`headway report`: the page of a run, runs compared, and what it says when it cannot."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from conftest import train_command


def copy_run(run: Path, out: Path, **training: object) -> Path:
    """The same run, as if its training had been told otherwise."""
    shutil.copytree(run, out, ignore=shutil.ignore_patterns("checkpoints", "data", "*.ctranslate2"))
    settings = yaml.safe_load((out / "config.yaml").read_text())
    settings["training"] |= training
    (out / "config.yaml").write_text(yaml.safe_dump(settings))
    return out


def test_training_ends_with_a_page(run: Path) -> None:
    content = (run / "report.html").read_text(encoding="utf-8")
    tested = [json.loads(line) for line in (run / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    assert tested[0].keys() == {"source", "reference", "translation"}
    assert f"On {len(tested)} sentences" in content


def test_the_page_of_one_run_is_made_anew(run: Path, tmp_path: Path, headway) -> None:
    copy = copy_run(run, tmp_path / "copy")
    (copy / "report.html").unlink()
    result = headway("report", copy)
    assert result.code == 0 and (copy / "report.html").as_uri() in result.err
    assert (copy / "report.html").exists()
    head, line, blank, size, more = result.out.splitlines()
    assert head.split()[:3] == ["run", "test", "BLEU"] and line.startswith("copy ") and not blank
    assert size.split()[:3] == ["run", "parameters", "updates"] and more.split()[2] == "20"


def test_runs_are_compared_on_one_page(run: Path, tmp_path: Path, headway) -> None:
    runs = [copy_run(run, tmp_path / "seed2", seed=2), copy_run(run, tmp_path / "clipped", clip=0.5)]
    result = headway("report", run, *runs, "--output", tmp_path / "page.html", "--json")
    assert result.code == 0
    told = json.loads(result.out)
    assert told["systems"] == {"small + seed2 (2 seeds)": ["small", "seed2"], "clipped": ["clipped"]}
    assert told["differing"] == {"training.clip": [1.0, 1.0, 0.5], "training.seed": [1, 2, 1]}
    (evaluation,) = told["evaluations"]
    assert evaluation["comparisons"][0]["difference"] == 0
    content = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "3 runs compared" in content and "training.clip" in content


def test_the_terminal_has_means_differences_and_tests(run: Path, tmp_path: Path, headway, monkeypatch) -> None:
    long = "a-run-of-" + "many-words-" * 8
    seeds = [copy_run(run, tmp_path / name, seed=n) for n, name in enumerate((f"{long}1", f"{long}2"))]
    other = copy_run(run, tmp_path / "clipped", clip=0.5)
    tested = [json.loads(line) for line in (other / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps(one | {"translation": one["reference"]}) for one in tested]
    (other / "test.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    result = headway("report", *seeds, other)
    assert result.code == 0 and "mean ± spread over seeds" in result.out and " ± 0.00" in result.out
    told = result.out.split("clipped, compared with ")[1].splitlines()[1]
    assert told.split()[0] == "BLEU" and told.endswith("not tested (too few sentences)") and " +" in told
    assert max(map(len, result.out.splitlines())) <= 100


def test_scores_on_other_sentences_are_not_left_to_be_compared(run: Path, tmp_path: Path, headway, monkeypatch) -> None:
    other, old = copy_run(run, tmp_path / "other", clip=0.5), copy_run(run, tmp_path / "old", clip=0.25)
    lines = (other / "test.jsonl").read_text(encoding="utf-8").splitlines()
    (other / "test.jsonl").write_text("\n".join(lines[1:]), encoding="utf-8")
    (old / "test.jsonl").unlink()
    monkeypatch.chdir(tmp_path)
    result = headway("report", run, other, old)
    rows = [line.split() for line in result.out.splitlines()]
    assert rows[1][:3] == ["small", "set", "1"] and rows[2][:3] == ["other", "set", "2"] and rows[3][:2] == ["old", "unknown"]
    assert "Scores on different sets of sentences, or on unknown ones, cannot be compared." in result.out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for told in (" ".join(result.err.split()), page):
        assert "tested on different sentences (set 1: small; set 2: other)" in told
        assert "Left out of the comparison: old, because there is no test.jsonl" in told


def test_without_output_the_page_is_made_here(run: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch) -> None:
    other = copy_run(run, tmp_path / "other", clip=0.5)
    monkeypatch.chdir(tmp_path)
    assert headway("report", run, other).code == 0
    assert (tmp_path / "report.html").exists()


def test_what_cannot_be_reported(run: Path, tmp_path: Path, headway) -> None:
    for name in ("a", "b"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "config.yaml").write_text("")
    for arguments, code, words in (
        ([tmp_path / "runs"], 3, "is no run, but holds some: a, b."),
        ([run / "best"], 3, f"is a part of a run, not the run.\nDid you mean {run}?"),
        ([tmp_path / "nowhere"], 3, "is no directory"),
        ([tmp_path], 3, "no config.yaml"),
        ([run, run], 2, "Given twice"),
        ([run, "--output", tmp_path], 2, "is a directory"),
    ):
        result = headway("report", *arguments)
        assert result.code == code and words in result.err and "Traceback" not in result.err
        assert len(result.err.strip().splitlines()) == 2


def test_training_goes_well_when_its_page_does_not(
    run: Path, corpus: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "no place")

    copy = shutil.copytree(run, tmp_path / "copy")
    monkeypatch.setattr("headway.training.finish.write_run_page", fail)
    monkeypatch.setattr("headway.training.finish.draw_learning_curve", lambda *_: 1 / 0)
    result = headway(*train_command(corpus, copy))
    assert result.code == 0 and "Page:" not in result.err and "Traceback" not in result.err
    assert "No page: PermissionError: [Errno 13] no place" in result.err
    assert "No learning curve: ZeroDivisionError: division by zero" in result.err


def test_training_without_jinja_goes_well(
    run: Path, corpus: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")  # complete: it is only tested again
    (copy / "report.html").unlink()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = headway(*train_command(corpus, copy))
    assert result.code == 0
    assert "No page: Writing the page needs Jinja2." in result.err and "Page:" not in result.err
    assert not (copy / "report.html").exists()
