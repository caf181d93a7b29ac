"""How a GPT goes on: cached as uncached, streamed as whole, drawn the same again."""

from pathlib import Path

import pytest
import torch
from small_models import write_relative

from headway.errors import BundleError, RequestError
from headway.family.generator import Generated, Generator

PROMPTS = ["copy oak elm", "", "copy ash", "reverse oak elm rowan"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_relative(tmp_path_factory.mktemp("models") / "gpt", "gpt", sharpness=0.3)


@pytest.fixture
def generator(directory: Path) -> Generator:
    return Generator.load(directory)


def go_on_uncached(generator: Generator, prompt: str, n: int) -> tuple[list[int], bool]:
    """The likeliest token each time, with the whole text read anew for each."""
    t = generator.tokenizer
    (tokens,) = t.encode([prompt])
    tokens = tokens or [t.eos]
    written: list[int] = []
    while len(written) < n and len(tokens) + len(written) <= generator.context:
        with torch.no_grad():
            logits = generator.model(torch.tensor([[*tokens, *written]]))[0, -1]
        logits[[t.pad, t.bos, t.unk, t.mask]] = -torch.inf
        written.append(int(logits.argmax()))
        if written[-1] == t.eos:
            return written[:-1], True
    return written, False


@pytest.mark.parametrize("prompt", PROMPTS)
def test_cached_generation_is_that_of_the_whole_prefix(generator: Generator, prompt: str) -> None:
    (found,) = generator.generate(prompt, max_tokens=12)
    tokens, ended = go_on_uncached(generator, prompt, 12)
    (read,) = generator.tokenizer.encode([prompt])
    before, whole = generator.tokenizer.decode([read, [*read, *tokens]])
    assert (found.prompt, before + found.text, found.ended) == (prompt, whole, ended)


def test_cached_logits_are_those_of_the_whole_prefix(generator: Generator) -> None:
    (tokens,) = generator.tokenizer.encode(["copy oak elm rowan ash"])
    with torch.no_grad():
        whole = generator.model(torch.tensor([tokens]))[0]
        never = [generator.tokenizer.pad, generator.tokenizer.bos, generator.tokenizer.unk, generator.tokenizer.mask]
        whole[:, never] = -torch.inf
        wanted = whole.log_softmax(dim=-1)
        state = generator._start(torch.tensor([tokens[:3]]), 1)
        for place in range(2, len(tokens)):
            found, state = generator.step(torch.tensor([tokens[place]]), state)
            torch.testing.assert_close(found[0], wanted[place], rtol=1e-5, atol=1e-5)


def test_several_prompts_are_those_alone(generator: Generator) -> None:
    assert generator.generate(PROMPTS, max_tokens=9) == [generator.generate(one, max_tokens=9)[0] for one in PROMPTS]
    assert generator.generate([]) == []


def test_a_seed_draws_the_same_again_and_each_sample_is_another(generator: Generator) -> None:
    first = generator.generate(PROMPTS[:2], samples=3, seed=5, temperature=1.5, max_tokens=20)
    assert [one.prompt for one in first] == [PROMPTS[0]] * 3 + [PROMPTS[1]] * 3
    assert first == generator.generate(PROMPTS[:2], samples=3, seed=5, temperature=1.5, max_tokens=20)
    assert first != generator.generate(PROMPTS[:2], samples=3, seed=6, temperature=1.5, max_tokens=20)
    assert len({one.text for one in first}) == 6


def test_the_likeliest_alone_is_what_is_taken_without_drawing(generator: Generator) -> None:
    assert generator.generate("copy oak", top_k=1, max_tokens=9) == generator.generate("copy oak", max_tokens=9)
    assert generator.generate("copy oak", top_p=1e-9, max_tokens=9) == generator.generate("copy oak", max_tokens=9)


@pytest.mark.parametrize(
    "drawing", [{}, {"seed": 3}, {"seed": 4, "temperature": 3.0}, {"seed": 0, "top_k": 200, "top_p": 0.99}]
)
def test_a_stream_is_the_whole(generator: Generator, drawing: dict[str, float]) -> None:
    for number, prompt in enumerate(PROMPTS):
        stream = generator.stream(prompt, max_tokens=30, place=(number, 0), **drawing)
        parts: list[str] = []
        while True:
            try:
                parts.append(next(stream))
            except StopIteration as stop:
                whole: Generated = stop.value
                break
        assert "".join(parts) == whole.text
        assert whole == generator.generate(PROMPTS, max_tokens=30, **drawing)[number]


def test_a_stream_has_whole_characters_only(generator: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    (pieces,) = generator.tokenizer.encode(["東京"])
    assert len(pieces) > 4  # spelled in bytes
    steps = iter([*pieces[-6:], generator.tokenizer.eos])

    def step(tokens: torch.Tensor, state: object) -> tuple[torch.Tensor, object]:
        return torch.eye(generator.tokenizer.size)[[next(steps)]].log(), state

    monkeypatch.setattr(generator, "step", step)
    assert [part for part in generator.stream("oak") if part] == ["東", "京"]


def test_why_it_stopped(generator: Generator) -> None:
    (full,) = generator.generate("copy oak", max_tokens=1000)
    (read,) = generator.tokenizer.encode(["copy oak"])
    tokens, ended = go_on_uncached(generator, "copy oak", 1000)
    assert not ended and len(read) + len(tokens) == generator.context + 1  # the last one is written, but not read
    assert full.stopped == "context" and not full.ended
    assert generator.tokenizer.decode([[*read, *tokens]]) == [f"copy oak{full.text}"]
    assert generator.generate("copy oak", max_tokens=5)[0].stopped == "tokens"
    certain = torch.zeros(len(generator.model.output.weight))
    certain[generator.tokenizer.eos] = 1e4
    generator.model.output.bias = torch.nn.Parameter(certain)
    assert generator.generate("copy oak") == [Generated("copy oak", "", "end")]
    assert list(generator.stream("copy oak"))[-1] == ""


def test_a_prompt_that_fills_the_context_and_one_that_is_longer(generator: Generator) -> None:
    full = generator.tokenizer.decode([[generator.tokenizer.encode(["oak"])[0][-1]] * generator.context])[0]
    lengths = {n: len(generator.tokenizer.encode([full[:n]])[0]) for n in range(len(full))}
    fitting = max(n for n, length in lengths.items() if length <= generator.context)
    (found,) = generator.generate(full[:fitting])
    assert found.stopped in ("context", "end")
    with pytest.raises(
        RequestError, match=rf"The prompt has \d+ tokens, and the model reads {generator.context} at most"
    ) as told:
        generator.generate(["oak", "copy oak " * 30])
    assert "shorter" in told.value.remedy
    with pytest.raises(RequestError, match="tokens"):
        generator.stream("copy oak " * 30)  # said at once, not when the first piece is asked for


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_k": -1},
        {"seed": -1},
        {"max_tokens": 0},
        {"samples": 0},
    ],
)
def test_requests_that_cannot_be_met(generator: Generator, wrong: dict[str, float]) -> None:
    with pytest.raises(RequestError):
        generator.generate("oak", **wrong)
    if "samples" not in wrong:
        with pytest.raises(RequestError):
            generator.stream("oak", **wrong)


def test_no_mark_is_ever_written(generator: Generator) -> None:
    t = generator.tokenizer
    log_probabilities, _ = generator.step(torch.tensor([5]), generator._start(torch.tensor([[5]]), 1))
    assert (log_probabilities[0, [t.pad, t.bos, t.unk, t.mask]] == -torch.inf).all()
    assert log_probabilities[0, t.eos] > -torch.inf


def test_what_it_looks_at(generator: Generator) -> None:
    reading = generator.inspect("copy oak elm")
    n = len(generator.tokenizer.encode(["copy oak elm"])[0])
    assert len(reading.pieces) == n and reading.weights.shape == (2, 2, n, n)
    assert reading.weights.sum(axis=-1) == pytest.approx(1, abs=1e-5)
    assert (reading.weights[:, :, 0, 1:] == 0).all() and reading.forwards
    assert reading.positions.shape == (48, 16)
    for text, word in ((" ", "no text"), ("oak " * 60, "too long")):
        with pytest.raises(RequestError, match=word):
            generator.inspect(text)


def test_a_model_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(BundleError):
        Generator.load(tmp_path)
