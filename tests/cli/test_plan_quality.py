"""`headway plan --quality`: short runs on parts of the corpus, and what they foretell."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, write_corpus
from copy_reverse import make_pairs

from headway.experiments import learning_curve
from headway.experiments.variants import Record, vary
from headway.training import run

WRONG = {2: 3, 4: 2, 8: 1}  # words of ten, by updates


def command(corpus: Path, *more: object) -> list[object]:
    common = ["plan", "--train", corpus, "--from", "en", "--to", "de", *SMALL, "--batch-tokens", "512", "--processes", "1"]
    return [*common, "--held-out", "40", "--max-extra", "3", "--beam", "1", "--seconds", "0", "--quality", *more]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Just enough pairs."""
    return write_corpus(tmp_path_factory.mktemp("large") / "train", make_pairs(960))


def test_it_trains_three_parts_goes_on_and_says_what_it_cannot_say(large: Path, tmp_path: Path, headway):
    out = tmp_path / "run"
    asked = command(large, "--max-steps", 8, "--valid-every", 100, "--out", out)
    done = headway(*asked)
    assert done.code == 0, done.err
    assert "The forecast takes about" in done.err and "[3/3] 1/2 of the text: 440 pairs" in done.err
    rows = [line.split()[:3] for line in done.out.splitlines() if line.split()[:1] in (["1/8"], ["1/4"], ["1/2"])]
    assert rows == [["1/8", "110", "1"], ["1/4", "220", "2"], ["1/2", "440", "4"]]
    assert "Too early to say" in done.out
    again = headway(*asked, "--json")
    assert again.err.count("Trained before") == 3 and "takes about" not in again.err
    quality = json.loads(again.out)["quality"]
    assert quality["bleu"] is None and [part["pairs"] for part in quality["parts"]] == [110, 220, 440]


def test_it_foretells_what_models_come_to_on_the_validation_part(
    large: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch
):
    seen = []

    def train(request: Any, variant: Any, seed: int, display: Any) -> Record:
        """In no time: a model that has some words wrong."""
        settings = vary(request.settings, variant, seed=seed)
        seen.append(settings)
        updates, words = settings.training.max_steps, count()
        pairs = [line.split("\t") for line in Path(settings.data.test).read_text().splitlines()]
        references = [target for _, target in pairs]
        told = [" ".join("oops" if next(words) % 10 < WRONG[updates] else word for word in text.split()) for text in references]
        return Record(seed, 1000, updates, 1.0, 9.0, [source for source, _ in pairs], references, told)

    monkeypatch.setattr(learning_curve, "train_variant", train)
    asked = command(large, "--max-steps", 16, "--out", tmp_path)
    result = headway(*asked)
    assert result.code == 0, result.err
    assert "Twice as much text would give about +" in result.out and "in 95 of 100 cases" in result.out
    assert "comes to in 16 updates, on 40 sentences" in " ".join(result.out.split())
    quality = json.loads(headway(*asked, "--json").out)["quality"]
    parts, bleu, chrf = quality["parts"], quality["bleu"], quality["chrf"]
    assert [part["updates"] for part in parts] == [2, 4, 8] and parts[0]["bleu"] < parts[1]["bleu"] < parts[2]["bleu"]
    assert bleu["interval"][0] < parts[2]["bleu"] < bleu["score"] < bleu["interval"][1]
    assert chrf["score"] > parts[2]["chrf"]
    assert all(one.data.valid == one.data.test and one.training.batch_tokens == 512 for one in seen)
    half = Path(seen[2].data.train[0].rpartition(":")[0]).read_text().splitlines()
    assert not set((tmp_path / "data" / "test.source").read_text().splitlines()) & {line.split("\t")[0] for line in half}


def test_fewer_minutes_foretell_a_shorter_training(large: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch):
    seen = []

    def refuse(request: Any, variant: Any, seed: int, display: Any) -> Record:
        seen.append(vary(request.settings, variant, seed=seed))
        raise KeyboardInterrupt

    monkeypatch.setattr(learning_curve, "train_variant", refuse)
    monkeypatch.setattr(run, "estimate_epochs", lambda training, **_: training.max_minutes)
    monkeypatch.chdir(tmp_path)
    result = headway(*command(large, "--max-minutes", 60, "--quality-minutes", 7))
    assert result.code == 130 and "To go on: " in result.err and "runs/en-de/forecast" in result.err
    assert seen[0].training.max_minutes == pytest.approx(
        1.0
    )  # an eighth of eight, of which 7 are an eighth, a quarter and a half
    assert seen[0].model.dropout == 0.08  # as a training of eight minutes would choose
    assert "The forecast takes about 8 min" in result.err  # with what follows each run


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--pairs", "1000"], "--train"),
        (["--paper"], "--paper"),
        (["--train", "x", "--from", "en", "--to", "de", "--paper"], "--paper"),
        (["--train", "x", "--task", "lm"], "for translators only"),
        (["--train", "x", "--from", "en", "--to", "de", "--quality-minutes", "0"], "--quality-minutes is 0"),
    ],
)
def test_wrong_requests(words: list[str], told: str, headway):
    result = headway("plan", *words, "--quality")
    assert result.code == 2 and told in result.err and "Traceback" not in result.err


def test_corpora_that_are_too_small(corpus: Path, large: Path, tmp_path: Path, headway):
    few = headway(*command(corpus, "--out", tmp_path / "few"))
    assert few.code == 3 and "needs at least 800" in few.err
    blind = headway(*command(large, "--held-out", 20, "--out", tmp_path / "blind"))
    assert blind.code == 3 and "--held-out 30" in blind.err
