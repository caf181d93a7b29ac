"""`headway score`: what a model thinks of given pairs is what it reported when it translated them."""

import json
from pathlib import Path

import pytest
from small_models import write_model

FLOAT32 = ["--compute-type", "float32"]


def name(found: dict) -> list[str]:
    """Its pieces: a model may write a word in other pieces than the tokenizer would."""
    return [token["piece"] for token in found["tokens"]]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("score") / "model", words=6.0, ends=2.0)


@pytest.fixture
def translated(tmp_path: Path, model: Path, headway) -> list[dict]:
    """Translations with their scores; source and target stand in text.en and text.de."""
    (tmp_path / "text.en").write_text("copy oak elm\nreverse fir ash oak\n\ncopy birch\n")
    result = headway("translate", model, tmp_path / "text.en", "--json", "--tokens", "--beam", 2, *FLOAT32)
    assert result.code == 0, result.err
    found = [json.loads(line) for line in result.out.splitlines()]
    (tmp_path / "text.de").write_text("".join(f"{one['text']}\n" for one in found))
    return found


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_it_agrees_with_what_translate_reported(engine: str, tmp_path: Path, model: Path, translated: list[dict], headway):
    files = ["--source", tmp_path / "text.en", "--target", tmp_path / "text.de"]
    result = headway("score", model, *files, "--engine", engine, "--json", *FLOAT32)
    assert result.code == 0, result.err
    pairs = list(zip(map(json.loads, result.out.splitlines()), translated, strict=True))
    as_written = [(scored, one) for scored, one in pairs if one["source"] and name(scored) == name(one)]
    assert as_written
    for scored, one in as_written:
        assert scored["score"] == pytest.approx(one["score"], abs=2e-3)
    plain = headway("score", model, *files, "--engine", engine, *FLOAT32).out.splitlines()
    assert [float(line) for line in plain] == [json.loads(line)["score"] for line in result.out.splitlines()]


def test_likelier_is_nearer_to_nought(tmp_path: Path, model: Path, translated: list[dict], headway):
    (tmp_path / "odd.de").write_text("zzz qqq\n" * 4)
    scores = [
        [float(line) for line in headway("score", model, "--source", tmp_path / "text.en", "--target", target).out.split()]
        for target in (tmp_path / "text.de", tmp_path / "odd.de")
    ]
    assert scores[0][0] > scores[1][0] and scores[0][1] > scores[1][1]


def test_alpha_0_is_the_sum_of_the_tokens(tmp_path: Path, model: Path, translated: list[dict], headway):
    files = ["--source", tmp_path / "text.en", "--target", tmp_path / "text.de"]
    for line in headway("score", model, *files, "--json", "--length-penalty", 0).out.splitlines():
        scored = json.loads(line)
        assert scored["score"] == pytest.approx(sum(token["score"] for token in scored["tokens"]), abs=1e-2)


def test_files_of_unequal_length(tmp_path: Path, model: Path, headway):
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b").write_text("one\n")
    result = headway("score", model, "--source", tmp_path / "a", "--target", tmp_path / "b")
    assert result.code == 3 and "2 lines" in result.err and "1" in result.err


def test_an_ensemble_with_itself_is_the_model(tmp_path: Path, model: Path, translated: list[dict], headway):
    command = ["score", model, "--source", tmp_path / "text.en", "--target", tmp_path / "text.de"]
    alone, both = headway(*command), headway(*command, "--with", model)
    assert [float(line) for line in both.out.split()] == pytest.approx([float(line) for line in alone.out.split()], abs=1e-3)
    refused = headway(*command, "--with", model, "--engine", "ctranslate2")
    assert refused.code == 2 and "--engine torch" in refused.err
