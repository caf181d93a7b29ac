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
    head, line = result.out.splitlines()
    assert head.split()[:3] == ["run", "test", "BLEU"] and line.startswith("copy ")


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


def test_without_output_the_page_is_made_here(run: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch) -> None:
    other = copy_run(run, tmp_path / "other", clip=0.5)
    monkeypatch.chdir(tmp_path)
    assert headway("report", run, other).code == 0
    assert (tmp_path / "report.html").exists()


def test_what_cannot_be_reported(run: Path, tmp_path: Path, headway) -> None:
    for arguments, code, words in (
        ([tmp_path / "nowhere"], 3, "is no directory"),
        ([tmp_path], 3, "no config.yaml"),
        ([run, run], 2, "Given twice"),
        ([run, "--output", tmp_path], 2, "is a directory"),
    ):
        result = headway("report", *arguments)
        assert result.code == code and words in result.err and "Traceback" not in result.err
        assert len(result.err.strip().splitlines()) == 2


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
