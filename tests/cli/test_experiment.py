"""`headway experiment`: models trained alike but for one thing, a table and a picture beside the paper's figures."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, write_corpus
from copy_reverse import make_pairs

from headway.translator import Translator


def command(name: str, corpus: Path, out: Path, *more: object) -> list[object]:
    common = ["--train", corpus, "--from", "en", "--to", "de", "--out", out, *SMALL, "--batch-tokens", "512"]
    return [
        "experiment",
        name,
        *common,
        "--held-out",
        "40",
        "--max-extra",
        "3",
        "--beam",
        "1",
        "--max-steps",
        "4",
        "--valid-every",
        "2",
        *more,
    ]


def read(out: Path, name: str) -> dict[str, Any]:
    return json.loads((out / name / "results.json").read_text())


def test_one_promises_trains_and_shows_and_another_uses_what_it_trained(corpus: Path, tmp_path: Path, headway, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = headway(*command("smoothing", corpus, tmp_path))
    assert done.code == 0, done.err
    assert "Section 5.4" in done.err and "This takes about" in done.err and "were promised" in done.err
    names = [f"smoothing {value}" for value in ("0", "0.1", "0.2")]
    assert [line for line in done.out.splitlines() if line.startswith("smoothing ")] == names  # figures below each name
    found = read(tmp_path, "smoothing")
    assert [one["paper_bleu"] for one in found["rows"]] == [25.3, 25.8, 25.7]
    assert all(one["updates"] == 4 and one["parameters"] == found["rows"][0]["parameters"] for one in found["rows"])
    assert found["promised_seconds"] > 0 and found["machine"]["cores"]
    assert "| smoothing 0.1 |" in (tmp_path / "smoothing" / "table.md").read_text()
    assert {path.name for path in (tmp_path / "smoothing").glob("smoothing.*")} == {"smoothing.png", "smoothing.svg"}

    again = headway(*command("smoothing", corpus, tmp_path))
    assert again.code == 0 and again.err.count("Trained before") == 3 and again.out == done.out
    other = headway(*command("table3", corpus, tmp_path, "--rows", "label smoothing 0.2", "--label-smoothing", "0.1"))
    assert other.code == 0, other.err
    assert other.err.count("Trained before") == 2
    assert read(tmp_path, "table3")["rows"][1]["bleu"] == found["rows"][2]["bleu"]


def test_an_interrupted_one_goes_on(corpus: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch):
    from headway.experiments import variants

    train, trained = variants.run_training, []

    def stop_at_the_second(*arguments: Any) -> Any:
        if len(trained) == 1:
            raise KeyboardInterrupt
        trained.append(arguments)
        return train(*arguments)

    monkeypatch.setattr(variants, "run_training", stop_at_the_second)
    stopped = headway(*command("scaling", corpus, tmp_path, "--rows", "not scaled, d_k 16"))
    assert stopped.code == 130 and "To go on: " in stopped.err
    monkeypatch.setattr(variants, "run_training", train)
    done = headway(*command("scaling", corpus, tmp_path, "--rows", "not scaled, d_k 16"))
    assert done.code == 0, done.err
    assert done.err.count("Trained before") == 1
    assert [one["model"] for one in read(tmp_path, "scaling")["rows"]] == ["scaled, d_k 16", "not scaled, d_k 16"]


def test_changes_of_ones_own_and_a_search_that_needs_no_training(
    corpus: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch
):
    beams, translate = [], Translator.translate

    def watch(self: Translator, texts: Any, **search: Any) -> Any:
        beams.append(search.get("beam"))
        return translate(self, texts, **search)

    monkeypatch.setattr(Translator, "translate", watch)
    asked = command("ablation", corpus, tmp_path, "--vary", "dropout=0.1")
    done = headway(*asked)
    assert done.code == 0, done.err
    more = headway(*asked, "--vary", "beam=2", "--vary", "dropout=0.1 beam=3")
    assert more.code == 0, more.err
    assert "Model tiny" in done.err and "Model tiny" not in more.err
    assert [beam for beam in beams if beam] == [2, 3]
    result = read(tmp_path, "ablation")
    base, dropped, wider, both = result["rows"]
    assert result["request"]["settings"]["model"]["dropout"] == 0  # chosen once, for all rows
    assert len(list((tmp_path / "runs").glob("*/config.yaml"))) == 2
    assert [one["model"] for one in (wider, both)] == ["beam=2", "dropout=0.1 beam=3"]
    assert dropped["perplexity"] == both["perplexity"] != base["perplexity"] == wider["perplexity"]
    other = headway(*command("ablation", corpus, tmp_path, "--vary", "dropout=0.2"))
    assert other.code == 2 and "its vary differ" in other.err


def test_averages_of_checkpoints(corpus: Path, tmp_path: Path, headway):
    done = headway(*command("averaging", corpus, tmp_path, "--checkpoint-every", "1"))
    assert done.code == 0, done.err
    rows = read(tmp_path, "averaging")["rows"]
    names = [f"{kind}, {which}" for kind in ("linear", "inverse-sqrt") for which in ("the last one", "last 2", "last 3")]
    assert [one["model"] for one in rows] == names  # of four checkpoints: not five, not ten
    assert len({one["perplexity"] for one in rows}) == 6


def test_heads_of_a_trained_model(run: Path, tmp_path: Path, headway):
    test = write_corpus(tmp_path / "test", make_pairs(20))
    done = headway(
        "experiment", "heads", "--model", run / "best", "--test", test, "--from", "en", "--to", "de", "--out", tmp_path
    )
    assert done.code == 0, done.err
    rows = read(tmp_path, "heads")["rows"]
    heads = [one for one in rows if "head" in one]
    assert len(heads) == 2 * 3 and {one["head"] for one in heads} >= {"encoder 1.1", "cross 1.2"}
    assert [one["removed"] for one in rows if "removed" in one] == list(range(7))


def test_an_rnn_and_the_transformer(corpus: Path, tmp_path: Path, headway):
    arguments = [word for word in command("rnn", corpus, tmp_path) if word not in ("--max-steps", "4")]
    done = headway(*arguments, "--max-minutes", "0.02", "--rows", "recurrent")
    assert done.code == 0, done.err
    rows = read(tmp_path, "rnn")["rows"]
    assert [one["model"] for one in rows] == ["Transformer", "recurrent"]
    assert abs(rows[0]["parameters"] / rows[1]["parameters"] - 1) < 0.05
    assert all(one["curve"] and one["by_length"] and one["reach"][0] == 1 for one in rows)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tabel3"], "Did you mean table3?"),
        (["table3", "--from", "en", "--to", "de"], "--train"),
        (["complexity", "--train", "data"], "has no --train"),
        (["averaging", "--seeds", "3", "--rows", "A"], "has no --rows, --seeds"),
        (["smoothing", "--vary", "dropout=0", "--train", "x"], "has no --vary"),
        (["table3", "--max-minits", "5"], "--max-minutes"),
    ],
)
def test_requests_that_cannot_be(words, told, tmp_path: Path, headway):
    result = headway("experiment", *words, "--out", tmp_path / "new")
    assert result.code == 2 and told in result.err and "Traceback" not in result.err


def test_requests_that_cannot_be_met_by_what_is_there(corpus: Path, run: Path, tmp_path: Path, headway):
    assert "--max-minutes" in headway(*command("rnn", corpus, tmp_path / "new")).err
    assert "--vary dropout=0.1" in headway(*command("ablation", corpus, tmp_path / "new")).err
    cut = headway(*command("ablation", corpus, tmp_path / "new", "--vary", "held-out=50"))
    assert cut.code == 2 and "held-out=50: the test part would be another one" in cut.err
    assert "no row Z" in headway(*command("table3", corpus, tmp_path / "new", "--rows", "Z")).err
    assert "--test data/test" in headway("experiment", "heads", "--model", run / "best", "--out", tmp_path / "new").err
    none = headway(*command("smoothing", tmp_path / "nothing", tmp_path / "new"))
    assert none.code == 3 and "nothing.en" in none.err


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("ablation", ["--vary", "dropuot=0.1"], "no setting dropuot. Did you mean dropout?"),
        ("table3", ["--rows", "dropout 0.4", "--rows", "F"], "no row F"),
        ("rnn", ["--optimizer", "muon", "--max-minutes", "1"], "learn with Adam"),
    ],
)
def test_what_is_refused_is_refused_before_text_is_prepared(
    name: str, words: list[str], told: str, corpus: Path, tmp_path: Path, headway
):
    result = headway(*command(name, corpus, tmp_path / "new", *words))
    assert result.code == 2 and told in result.err
    assert not (tmp_path / "new").exists()


def test_positions_on_longer_sentences_than_training_had(tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch):
    from headway.experiments import positions

    monkeypatch.setattr(positions, "HELD_OUT", 35)
    monkeypatch.setattr(positions, "LONG", 100)
    corpus = write_corpus(tmp_path / "train", make_pairs(600))
    arguments = [word for word in command("positions", corpus, tmp_path) if word not in ("--held-out", "40")]
    done = headway(*arguments, "--rows", "learned")
    assert done.code == 0, done.err
    rows = read(tmp_path, "positions")["rows"]
    assert [one["model"] for one in rows] == ["sinusoidal", "sinusoidal, cut", "learned"]
    (text,) = (tmp_path / "runs").glob("text-*")
    longest = int((text / "longest").read_text())
    assert rows[0]["buckets"][0]["words"] == f"1 to {longest}" and rows[0]["buckets"][0]["interval"]
    train = (text / "train.en").read_text().splitlines()
    test = (text / "test.en").read_text().splitlines()
    assert max(len(line.split()) for line in train) <= longest < max(len(line.split()) for line in test)
    assert not set(train) & set(test)


def test_other_text_is_another_experiment(tmp_path: Path, headway):
    corpus = write_corpus(tmp_path / "train", make_pairs(200))
    first = command("smoothing", corpus, tmp_path / "out", "--rows", "smoothing 0.1")
    assert headway(*first).code == 0
    write_corpus(tmp_path / "train", make_pairs(220))
    assert "its corpora differ" in headway(*first).err
    other = headway(*command("table3", corpus, tmp_path / "out", "--rows", "label smoothing 0"))
    assert other.code == 0 and "Trained before" not in other.err


def test_a_request_that_cannot_be_met_leaves_its_place_free(corpus: Path, tmp_path: Path, headway):
    assert headway(*command("table3", corpus, tmp_path, "--rows", "dropout 0.7")).code == 2
    assert not (tmp_path / "table3").exists()


def test_another_experiment_in_the_same_place_is_refused(corpus: Path, tmp_path: Path, headway):
    (tmp_path / "smoothing").mkdir()
    (tmp_path / "smoothing" / "thesis.txt").write_text("mine")
    assert "no experiment" in headway(*command("smoothing", corpus, tmp_path)).err
    (tmp_path / "smoothing" / "experiment.json").write_text('{"experiment": "smoothing", "seconds": 1}')
    assert "another experiment" in headway(*command("smoothing", corpus, tmp_path)).err
    (tmp_path / "smoothing" / "experiment.json").write_text("{")
    assert headway(*command("smoothing", corpus, tmp_path)).code == 3
