"""Generator: a GPT goes on with a text. B prompts, N rows (each prompt as often as it is gone on with), V vocabulary."""

from collections.abc import Generator as Stream
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from headway.bundle import Bundle, read_bundle
from headway.decoding.options import choose_sampling
from headway.decoding.sampling import Sampler
from headway.decoding.search import Pick, greedy_search, greedy_steps, take_likeliest
from headway.errors import RequestError
from headway.family.kinds import require
from headway.family.reading import Reading
from headway.family.recording import check_length, check_text, read_positions, record
from headway.models.gpt import Gpt
from headway.nn.cache import DecoderCache
from headway.text.labels import label_pieces

MAX_TOKENS = 200


@dataclass(frozen=True)
class Generated:
    """How a text goes on. `stopped` tells why it does not go on further: the model wrote its end mark, there were as many
    tokens as asked for, or the model's context was full.
    """

    prompt: str
    text: str  # without the prompt
    stopped: Literal["end", "tokens", "context"]

    @property
    def ended(self) -> bool:
        return self.stopped == "end"


@dataclass(frozen=True)
class _Progress:
    """The search's state: what was read, and before the first step the last token of each prompt [N], which was not."""

    cache: DecoderCache
    last: Tensor | None

    def select(self, rows: Tensor, sentences: Tensor | None) -> "_Progress":
        assert self.last is None
        return _Progress(self.cache.select(rows, sentences), None)


class Generator:
    """A GPT with its tokenizer. It takes the likeliest token each time, or draws."""

    def __init__(self, bundle: Bundle) -> None:
        require(bundle, "generate")
        model = bundle.build_model()
        assert isinstance(model, Gpt)
        self.model, self.tokenizer = model, bundle.tokenizers.source
        self.context = model.architecture.max_positions
        t = self.tokenizer
        marks = {t.pad, t.bos, t.unk, t.mask, *t.sentinels} - {t.eos, None}
        self._never = [*(mark for mark in marks if mark is not None and mark >= 0), *range(t.size, model.architecture.vocab)]

    @classmethod
    def load(cls, directory: str | Path) -> "Generator":
        return cls(read_bundle(Path(directory)))

    def generate(
        self, prompts: str | Sequence[str], *, max_tokens: int = MAX_TOKENS, samples: int | None = None, **drawing: Any
    ) -> list[Generated]:
        """How each prompt goes on, up to the model's end mark; an empty one begins a text.

        `drawing` is what `choose_sampling` takes: any of it draws, and so does a number of `samples`, which come one after
        the other for each prompt. Without, the likeliest token is taken each time.
        """
        prompts = [prompts] if isinstance(prompts, str) else prompts
        sampling = choose_sampling(samples=samples, **drawing)
        read = [self._read(prompt) for prompt in prompts]
        n = _check_numbers(max_tokens, samples)
        found: list[list[Generated]] = [[] for _ in prompts]
        # Those of one length go through the model side by side: there is nothing to fill up, and so nothing to mask.
        for length, places in groupby(sorted(range(len(read)), key=lambda place: len(read[place])), lambda p: len(read[p])):
            some = list(places)
            limit = min(max_tokens, self._room(length))
            keys = [(place, draw) for place in some for draw in range(n)]
            state = self._start(torch.tensor([read[place] for place in some]), n)
            hypotheses = greedy_search(
                self.step,
                state,
                bos=self.tokenizer.eos,
                eos=self.tokenizer.eos,
                limits=torch.full((len(keys),), limit, device=self.model.device),
                pick=Sampler(sampling, keys) if sampling else take_likeliest,
            )
            for (place, _), one in zip(keys, hypotheses, strict=True):
                ended = one.log_probability is not None
                found[place].append(self._tell(prompts[place], read[place], one.tokens, ended, max_tokens))
        return [one for some in found for one in some]

    def stream(
        self, prompt: str, *, max_tokens: int = MAX_TOKENS, place: tuple[int, int] = (0, 0), **drawing: Any
    ) -> Stream[str, None, Generated]:
        """The same, as soon as each whole character is there; together the parts are the text that `generate` gives.

        `place` is the number of the prompt and of the sample in a larger request, on which draws depend.
        """
        sampling = choose_sampling(**drawing)
        _check_numbers(max_tokens, None)
        return self._stream(prompt, self._read(prompt), max_tokens, Sampler(sampling, [place]) if sampling else take_likeliest)

    def _stream(self, prompt: str, read: list[int], max_tokens: int, pick: Pick) -> Stream[str, None, Generated]:
        limits = torch.tensor([min(max_tokens, self._room(len(read)))], device=self.model.device)
        eos, state = self.tokenizer.eos, self._start(torch.tensor([read]), 1)
        steps = greedy_steps(self.step, state, bos=eos, eos=eos, limits=limits, pick=pick)
        told = ""
        while True:
            try:
                written = self._write(read, next(steps)())
            except StopIteration as stop:
                (found,) = stop.value
                break
            if written.startswith(told) and not written.endswith("\ufffd"):  # half a character may still become whole
                yield written[len(told) :]
                told = written
        generated = self._tell(prompt, read, found.tokens, found.log_probability is not None, max_tokens)
        yield generated.text[len(told) :]
        return generated

    @torch.no_grad()
    def _start(self, prompts: Tensor, n: int) -> _Progress:
        """Read the prompts [B, T] but for their last token, once, and go on from there n times."""
        prompts = prompts.to(self.model.device)
        cache = self.model.start()
        if prompts.shape[1] > 1:
            _, cache = self.model.decode(prompts[:, :-1], cache)
        rows = torch.arange(len(prompts), device=prompts.device).repeat_interleave(n)
        return _Progress(cache.select(rows, None), prompts[rows, -1])

    def step(self, tokens: Tensor, state: _Progress) -> tuple[Tensor, _Progress]:
        """Log-probabilities of what follows the tokens [N]: [N, V]."""
        tokens = tokens if state.last is None else state.last
        x, cache = self.model.decode(tokens[:, None], state.cache)
        logits = self.model.output.logits(self.model.head(x[:, 0])).float()
        logits[:, self._never] = -torch.inf
        return logits.log_softmax(dim=-1), _Progress(cache, None)

    def inspect(self, text: str) -> Reading:
        """Where every head looks while `text` is read; the answer is the likeliest next piece."""
        check_text(text)
        (tokens,) = self.tokenizer.encode([text])
        check_length(len(tokens), self.context)
        (following,) = self.generate(text, max_tokens=1)
        return Reading(
            pieces=label_pieces(self.tokenizer, tokens),
            answer=f"…{following.text}" if following.text else "‹end›",
            weights=record(self.model, torch.tensor([tokens])),
            forwards=True,
            positions=read_positions(self.model.positions),
        )

    def _read(self, prompt: str) -> list[int]:
        """What the model reads of a prompt; of an empty one, the mark after which a text begins."""
        (tokens,) = self.tokenizer.encode([prompt])
        if len(tokens) > self.context:
            raise RequestError(
                f"The prompt has {len(tokens):,} tokens, and the model reads {self.context:,} at most.",
                "Give a shorter prompt, for example the end of this one.",
            )
        return tokens or [self.tokenizer.eos]

    def _room(self, length: int) -> int:
        """Tokens that can follow so many: the last one is written, but not read."""
        return self.context - length + 1

    def _write(self, read: list[int], tokens: list[int]) -> str:
        """The text of the tokens where they stand: a tokenizer may take a space off the beginning, and there it belongs."""
        before, whole = self.tokenizer.decode([read, [*read, *tokens]])
        return whole[len(before) :] if whole.startswith(before) else self.tokenizer.decode([tokens])[0]

    def _tell(self, prompt: str, read: list[int], tokens: list[int], ended: bool, max_tokens: int) -> Generated:
        stopped: Literal["end", "tokens", "context"] = "tokens" if len(tokens) == max_tokens else "context"
        return Generated(prompt, self._write(read, tokens), "end" if ended else stopped)


def _check_numbers(max_tokens: int, samples: int | None) -> int:
    """How often each prompt is gone on with."""
    if max_tokens < 1 or (samples is not None and samples < 1):
        raise RequestError(f"There is nothing to write: {max_tokens} tokens, {samples} samples.", "Ask for 1 or more.")
    return samples or 1
