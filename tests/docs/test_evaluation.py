"""The commands of docs/evaluation.md as printed, and the options that it and docs/experiments.md name."""

import re
import shutil
from pathlib import Path

import pytest
from conftest import write_corpus
from copy_reverse import make_pairs
from docs.pages import DOCS, read_commands

from headway.cli.experiment import EXPERIMENTS

EVALUATION, EXPERIMENTS_PAGE = DOCS / "evaluation.md", DOCS / "experiments.md"


def test_every_command(tmp_path: Path, run: Path, headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("en-de", "small"):
        shutil.copytree(run, f"runs/{name}")
    write_corpus(Path("test"), make_pairs(10))
    for name in ("output.de", "other.de"):
        shutil.copy("test.de", name)
    commands = read_commands(EVALUATION)
    assert len(commands) == 8
    for words in commands:
        if "--testset" not in words:  # which would be downloaded
            result = headway(*words)
            assert result.code == 0, f"headway {' '.join(words)}\n{result.err}"
    assert Path("evaluation.html").exists() and Path("report.html").exists()


@pytest.mark.parametrize(("page", "verbs"), [(EVALUATION, ["evaluate", "report"]), (EXPERIMENTS_PAGE, ["experiment"])])
def test_every_option_that_the_pages_name_is_there(page: Path, verbs: list[str], headway):
    helps = "".join(headway(verb, "--help").out for verb in verbs)
    named = set(re.findall(r"(?<!`sacrebleu )--[a-z][a-z-]+", page.read_text())) - {"--paired-ar"}
    assert {name for name in named if name not in helps} == set()


def test_every_experiment_has_its_row():
    rows = re.findall(r"^\| `(\w+)` \|", EXPERIMENTS_PAGE.read_text(), flags=re.MULTILINE)
    assert sorted(rows) == sorted(EXPERIMENTS)
