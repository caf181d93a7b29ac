"""A model without a network, small random tables of transitions, and searches over it that are obviously right: plain lists.

Shapes: B sentences, T positions, M memories, V vocabulary, N rows.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headway.decoding.options import Options
from headway.decoding.ranking import Hypothesis
from headway.decoding.rules import Rules
from headway.decoding.search import Pick, beam_search, greedy_search, take_likeliest

BOS, EOS = 0, 1
EVERYTHING = 10_000  # a beam that no toy vocabulary fills

Next = Callable[[list[int]], list[float]]
"""Tokens of one sentence -> log-probabilities of what follows."""


@dataclass
class ToyState:
    sentences: Tensor  # [B] who is still in the batch, with as many rows each
    memory: Tensor  # [N] what a row remembers of all its tokens: a row that is mixed up with another is found out
    position: int = 0

    def select(self, rows: Tensor, sentences: Tensor | None) -> "ToyState":
        staying = self.sentences if sentences is None else self.sentences[sentences]
        return ToyState(staying, self.memory[rows], self.position)


@dataclass
class Toy:
    """The next token depends on the sentence, the position and a hash of what came before."""

    table: Tensor  # [B, T, M, V] log-probabilities
    rows_seen: list[int] = field(default_factory=list)

    def step(self, last: Tensor, state: ToyState) -> tuple[Tensor, ToyState]:
        self.rows_seen.append(len(last))
        memory = self.remember(state.memory, last)
        owners = state.sentences.repeat_interleave(len(last) // len(state.sentences))
        return self.table[owners, state.position, memory], ToyState(state.sentences, memory, state.position + 1)

    def remember(self, memory: Tensor, token: Tensor) -> Tensor:
        return (3 * memory + token) % self.table.shape[2]

    def start(self) -> ToyState:
        sentences = torch.arange(len(self.table))
        return ToyState(sentences, torch.zeros_like(sentences))

    def greedy(self, limits: list[int], rules: Rules | None = None, pick: Pick = take_likeliest) -> list[Hypothesis]:
        bounds = torch.tensor(limits, dtype=torch.long)
        return greedy_search(self.step, self.start(), bos=BOS, eos=EOS, limits=bounds, rules=rules, pick=pick)

    def beam(self, limits: list[int], options: Options, rules: Rules | None = None) -> list[list[Hypothesis]]:
        bounds = torch.tensor(limits, dtype=torch.long)
        return beam_search(self.step, self.start(), bos=BOS, eos=EOS, limits=bounds, options=options, rules=rules)

    def only(self, sentence: int) -> "Toy":
        return Toy(self.table[sentence : sentence + 1])

    def next(self, sentence: int, tokens: Sequence[int]) -> list[float]:
        """Log-probabilities of what follows the tokens."""
        memory = torch.tensor(0)
        for token in (BOS, *tokens):
            memory = self.remember(memory, torch.tensor(token))
        return self.table[sentence, len(tokens), memory].tolist()

    def log_probability(self, sentence: int, tokens: Sequence[int]) -> float:
        return sum(self.next(sentence, tokens[:n])[token] for n, token in enumerate([*tokens, EOS]))

    def enumerate(self, sentence: int, limit: int) -> list[Hypothesis]:
        """Every output there is: those that end with the limit's last token at the latest, and those cut off there."""
        words = [token for token in range(self.table.shape[-1]) if token not in (BOS, EOS)]
        outputs = (list(tokens) for n in range(limit + 1) for tokens in itertools.product(words, repeat=n))
        return [Hypothesis(found, self.log_probability(sentence, found) if len(found) < limit else None) for found in outputs]


def make_toy(seed: int, sentences: int = 4, positions: int = 12, vocabulary: int = 7, sharpness: float = 2.0) -> Toy:
    generator = torch.Generator().manual_seed(seed)
    logits = sharpness * torch.randn(sentences, positions, 11, vocabulary, generator=generator)
    logits[..., BOS] = -torch.inf
    return Toy(logits.log_softmax(-1))


def search_greedily(next_of: Next, limit: int) -> Hypothesis:
    tokens: list[int] = []
    total = 0.0
    while len(tokens) < limit:
        row = next_of(tokens)
        best = row.index(max(row))
        total += row[best]
        if best == EOS:
            return Hypothesis(tokens, total)
        tokens.append(best)
    return Hypothesis(tokens, None)


def search_with_beam(next_of: Next, limit: int, options: Options, begun: int = 0) -> list[Hypothesis]:
    """CTranslate2's rule with lists that are sorted. After `begun` given tokens, only the likeliest candidate may be an end."""
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[tuple[float, list[int]]] = []
    for n in range(1, limit + 1):
        candidates = []
        for total, tokens in alive:
            candidates += [(total + gain, [*tokens, token]) for token, gain in enumerate(next_of(tokens))]
        possible = sorted((one for one in candidates if one[0] > -torch.inf), key=lambda one: -one[0])[: 2 * options.beam]
        early = [one for one in possible[1 : options.beam] if one[1][-1] == EOS] if n == begun + 1 > 1 else []
        if early:
            possible = [one for one in possible[: options.beam] if one not in early]
        ended += [one for one in possible[: options.beam] if one[1][-1] == EOS or n == limit]
        alive = [one for one in possible if one[1][-1] != EOS][: options.beam]
        if len(ended) >= options.finished or not alive:
            break
    kept = sorted(ended, key=lambda one: -one[0] / len(one[1]) ** options.alpha)[: options.finished]
    return [Hypothesis(tokens[:-1], total) if tokens[-1] == EOS else Hypothesis(tokens, None) for total, tokens in kept]


def same(found: Sequence[Hypothesis], wanted: Sequence[Hypothesis]) -> bool:
    """The same outputs in the same order, with the same log-probabilities as far as floats can tell."""
    return [one.tokens for one in found] == [one.tokens for one in wanted] and all(
        abs(one.log_probability - other.log_probability) < 1e-4
        if one.log_probability is not None and other.log_probability is not None
        else one.log_probability is other.log_probability
        for one, other in zip(found, wanted, strict=True)
    )
