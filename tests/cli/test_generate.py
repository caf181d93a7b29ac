"""`headway generate`: text on standard output, everything else on standard error."""

import json
from pathlib import Path

import pytest
from small_models import write_model, write_relative

from headway.family.generator import Generator


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_relative(tmp_path_factory.mktemp("models") / "gpt", "gpt")


def test_the_prompt_and_how_it_goes_on(model: Path, headway):
    result = headway("generate", model, "copy oak", "--max-tokens", 5, "--no-stream")
    (wanted,) = Generator.load(model).generate("copy oak", max_tokens=5)
    assert (result.code, result.out, result.err) == (0, f"copy oak{wanted.text}\n", "")


@pytest.mark.parametrize("drawing", [[], ["--seed", 3, "--temperature", 0.9], ["--samples", 2, "--seed", 1, "--top-k", 9]])
def test_streamed_as_whole(model: Path, headway, drawing: list[object]):
    whole = headway("generate", model, "copy oak", "", *drawing, "--max-tokens", 12)
    streamed = headway("generate", model, "copy oak", "", *drawing, "--max-tokens", 12, "--stream")
    assert whole.code == streamed.code == 0
    assert whole.out == streamed.out
    assert whole.out.count("\n---\n") == (3 if "--samples" in drawing else 1)


def test_json(model: Path, headway):
    result = headway("generate", model, "copy oak", "elm", "--samples", 2, "--seed", 7, "--max-tokens", 6, "--json")
    told = [json.loads(line) for line in result.out.splitlines()]
    wanted = Generator.load(model).generate(["copy oak", "elm"], samples=2, seed=7, max_tokens=6)
    assert told == [{"prompt": one.prompt, "text": one.text, "stopped": one.stopped} for one in wanted]


def test_a_full_context_is_told(model: Path, headway):
    for stream in ("--stream", "--no-stream"):
        result = headway("generate", model, "copy oak", stream)
        assert result.code == 0 and "context of 48 tokens was full" in result.err
    assert "in 2 of 2 texts" in headway("generate", model, "copy oak", "elm").err


def test_without_a_prompt_a_text_begins(model: Path, headway):
    (wanted,) = Generator.load(model).generate("", max_tokens=4)
    assert headway("generate", model, "--max-tokens", 4).out == f"{wanted.text}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["oak " * 60], ["The prompt has", "48 at most"]),
        (["oak", "--temperature", 0], ["temperature"]),
        (["oak", "--top-p", 2], ["top_p"]),
        (["oak", "--samples", 0], ["samples"]),
        (["oak", "--max-tokens", 0], ["max-tokens"]),
        (["oak", "--stream", "--json"], ["--stream"]),
    ],
)
def test_requests_that_cannot_be_met(model: Path, headway, arguments: list[object], words: list[str]):
    result = headway("generate", model, *arguments)
    assert (result.code, result.out) == (2, "") and "Traceback" not in result.err
    assert all(word in result.err for word in words)


def test_a_translator_does_not_generate(tmp_path: Path, headway):
    result = headway("generate", write_model(tmp_path / "translator"), "oak")
    assert result.code == 2 and f"headway translate {tmp_path / 'translator'}" in result.err


def test_a_model_that_is_none(tmp_path: Path, headway):
    result = headway("generate", tmp_path, "oak")
    assert (result.code, result.out) == (1, "") and str(tmp_path) in result.err
