"""Searches over small random tables of transitions, against searches that are obviously right.

Shapes: B sentences, T positions, M memories, V vocabulary.
"""

import itertools
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from headway.decoding.search import Hypothesis, beam_search, greedy_search, length_penalty, top

BOS, EOS = 0, 1
EVERYTHING = 10_000  # a beam that no toy vocabulary fills


@dataclass
class ToyState:
    sentences: Tensor  # [N] which sentence each row belongs to
    memory: Tensor  # [N] what a row remembers of all its tokens: a row that is mixed up with another is found out
    position: int = 0

    def select(self, rows: Tensor) -> "ToyState":
        return ToyState(self.sentences[rows], self.memory[rows], self.position)


@dataclass
class Toy:
    """A model without a network: the next token depends on the sentence, the position and a hash of what came before."""

    table: Tensor  # [B, T, M, V] log-probabilities
    rows_seen: list[int] = field(default_factory=list)

    def step(self, last: Tensor, state: ToyState) -> tuple[Tensor, ToyState]:
        self.rows_seen.append(len(last))
        memory = self.remember(state.memory, last)
        log_probabilities = self.table[state.sentences, state.position, memory]
        return log_probabilities, ToyState(state.sentences, memory, state.position + 1)

    def remember(self, memory: Tensor, token: Tensor) -> Tensor:
        return (3 * memory + token) % self.table.shape[2]

    def start(self) -> ToyState:
        sentences = torch.arange(len(self.table))
        return ToyState(sentences, torch.zeros_like(sentences))

    def greedy(self, limits: list[int]) -> list[Hypothesis]:
        return greedy_search(self.step, self.start(), bos=BOS, eos=EOS, limits=torch.tensor(limits))

    def beam(self, limits: list[int], beam: int, alpha: float = 0.6, nbest: int | None = None) -> list[list[Hypothesis]]:
        limit = torch.tensor(limits, dtype=torch.long)
        return beam_search(self.step, self.start(), bos=BOS, eos=EOS, limits=limit, beam=beam, alpha=alpha, nbest=nbest)

    def only(self, sentence: int) -> "Toy":
        return Toy(self.table[sentence : sentence + 1])

    def next(self, sentence: int, tokens: list[int]) -> list[float]:
        """Log-probabilities of what follows the tokens."""
        memory = torch.tensor(0)
        for token in (BOS, *tokens):
            memory = self.remember(memory, torch.tensor(token))
        return self.table[sentence, len(tokens), memory].tolist()

    def log_probability(self, sentence: int, tokens: list[int]) -> float:
        return sum(self.next(sentence, tokens[:n])[token] for n, token in enumerate([*tokens, EOS]))

    def enumerate(self, sentence: int, limit: int, alpha: float) -> list[Hypothesis]:
        """Every output there is, best first: the slow twin."""
        words = [token for token in range(self.table.shape[-1]) if token != EOS]
        found = []
        for n in range(limit + 1):
            for tokens in itertools.product(words, repeat=n):
                total = self.log_probability(sentence, list(tokens))
                if total > -torch.inf:
                    found.append(Hypothesis(list(tokens), total / ((5 + n + 1) / 6) ** alpha, total))
        return sorted(found, key=lambda hypothesis: -hypothesis.score)


def make_toy(seed: int, sentences: int = 4, positions: int = 12, vocabulary: int = 7, sharpness: float = 2.0) -> Toy:
    generator = torch.Generator().manual_seed(seed)
    logits = sharpness * torch.randn(sentences, positions, 11, vocabulary, generator=generator)
    logits[..., BOS] = -torch.inf
    return Toy(logits.log_softmax(-1))


def tokens_of(nbest: list[list[Hypothesis]]) -> list[list[list[int]]]:
    return [[hypothesis.tokens for hypothesis in kept] for kept in nbest]


def test_length_penalty_is_the_papers() -> None:
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)
    assert length_penalty(30, 0.0) == 1.0
    torch.testing.assert_close(length_penalty(torch.tensor([1, 7]), 1.0), torch.tensor([1.0, 2.0]))


@pytest.mark.parametrize("seed", range(5))
def test_greedy_takes_the_likeliest_token_each_time(seed: int) -> None:
    toy = make_toy(seed)
    for sentence, found in enumerate(toy.greedy([10] * 4)):
        tokens: list[int] = []
        while len(tokens) < 10:
            row = toy.next(sentence, tokens)
            best = row.index(max(row))
            if best == EOS:
                break
            tokens.append(best)
        assert found.tokens == tokens
        assert found.log_probability == pytest.approx(toy.log_probability(sentence, tokens), abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_as_wide_as_the_space_finds_what_enumeration_finds(seed: int, alpha: float) -> None:
    toy = make_toy(seed, sentences=3, positions=5, vocabulary=5)
    limits = [4, 2, 3]
    found = toy.beam(limits, beam=EVERYTHING, alpha=alpha)
    for sentence, limit in enumerate(limits):
        wanted = toy.enumerate(sentence, limit, alpha)
        assert [h.tokens for h in found[sentence]] == [h.tokens for h in wanted]
        assert [h.score for h in found[sentence]] == pytest.approx([h.score for h in wanted], abs=1e-4)
        assert [h.log_probability for h in found[sentence]] == pytest.approx([h.log_probability for h in wanted], abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_narrow_beam_is_the_textbook_beam(seed: int) -> None:
    """The slow twin keeps lists, sorts them, and never stops before the limit: stopping early must lose nothing."""
    toy, limit, beam, alpha = make_toy(seed, sharpness=1.0), 9, 3, 0.6
    for sentence, found in enumerate(toy.beam([limit] * 4, beam, alpha)):
        alive: list[tuple[float, list[int]]] = [(0.0, [])]
        ended: list[tuple[float, list[int]]] = []
        for n in range(limit + 1):
            candidates = []
            for total, tokens in alive:
                row = toy.next(sentence, tokens)
                allowed = range(len(row)) if n < limit else [EOS]
                candidates += [(total + row[token], [*tokens, token]) for token in allowed]
            candidates = sorted(candidates, key=lambda c: -c[0])[: 2 * beam]
            ended += [(total / length_penalty(n + 1, alpha), tokens[:-1]) for total, tokens in candidates if tokens[-1] == EOS]
            alive = [candidate for candidate in candidates if candidate[1][-1] != EOS][:beam]
        wanted = sorted(ended, key=lambda e: -e[0])[:beam]
        assert [h.tokens for h in found] == [tokens for _, tokens in wanted]
        assert [h.score for h in found] == pytest.approx([score for score, _ in wanted], abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_equals_one_sentence_at_a_time_in_order(seed: int) -> None:
    toy, limits = make_toy(seed, sentences=6), [3, 9, 0, 6, 9, 1]
    alone = [toy.only(sentence) for sentence in range(6)]
    assert toy.greedy(limits) == [one.greedy([limit])[0] for one, limit in zip(alone, limits, strict=True)]
    assert toy.beam(limits, 4) == [one.beam([limit], 4)[0] for one, limit in zip(alone, limits, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    toy = make_toy(seed, sharpness=0.5)
    greedy = toy.greedy([8] * 4)
    beam = toy.beam([8] * 4, beam=1, alpha=0.6)
    assert tokens_of(beam) == [[h.tokens] for h in greedy]
    assert [kept[0].log_probability for kept in beam] == [h.log_probability for h in greedy]
    assert beam[0][0].score == pytest.approx(greedy[0].log_probability / length_penalty(len(greedy[0].tokens) + 1, 0.6))


@pytest.mark.parametrize("seed", range(5))
def test_asking_for_fewer_gives_the_same_ones_sooner(seed: int) -> None:
    toy = make_toy(seed, sentences=6)
    all_kept = toy.beam([11] * 6, beam=5)
    rows_for_all = sum(toy.rows_seen)
    toy.rows_seen.clear()
    assert toy.beam([11] * 6, beam=5, nbest=2) == [kept[:2] for kept in all_kept]
    assert sum(toy.rows_seen) < rows_for_all


def test_limits_hold_and_the_end_is_paid_for() -> None:
    toy = make_toy(0, sentences=5)
    toy.table[..., EOS] = -20.0  # nobody wants to stop
    limits = [0, 1, 2, 5, 11]
    for sentence, (greedy, beam) in enumerate(zip(toy.greedy(limits), toy.beam(limits, 3), strict=True)):
        for found in (greedy, *beam):
            assert len(found.tokens) <= limits[sentence]
            assert found.log_probability == pytest.approx(toy.log_probability(sentence, found.tokens), abs=1e-3)
        assert len(greedy.tokens) == len(beam[0].tokens) == limits[sentence]


def test_a_banned_end_still_ends_at_the_limit() -> None:
    toy = make_toy(0)
    toy.table[..., EOS] = -torch.inf
    assert [len(found.tokens) for found in toy.greedy([3, 4, 5, 6])] == [3, 4, 5, 6]
    assert [[len(found.tokens) for found in kept] for kept in toy.beam([3, 4, 5, 6], 2)] == [[3] * 2, [4] * 2, [5] * 2, [6] * 2]


def test_finished_sentences_leave_the_batch() -> None:
    """Sentence b is sure to end after b tokens; the step function must not see it again."""
    table = torch.full((4, 8, 6, 6), -30.0)
    for sentence in range(4):
        table[sentence, :sentence, :, 2:] = -1.0 - torch.arange(4)  # any word but no end
        table[sentence, sentence:, :, EOS] = -0.001
    toy = Toy(table)
    assert [len(found.tokens) for found in toy.greedy([7] * 4)] == [0, 1, 2, 3]
    assert toy.rows_seen == [4, 3, 2, 1]
    toy.rows_seen.clear()
    toy.beam([7] * 4, beam=2, nbest=1)
    assert toy.rows_seen == [4, 3 * 2, 2 * 2, 1 * 2]


@pytest.mark.parametrize("beam", [1, 2, 3, 50])
def test_banned_tokens_are_never_chosen(beam: int) -> None:
    toy = make_toy(3)
    toy.table[..., 4:] = -torch.inf
    for kept in toy.beam([6] * 4, beam):
        assert kept
        for found in kept:
            assert set(found.tokens) <= {2, 3}
            assert found.log_probability > -torch.inf


@pytest.mark.parametrize("seed", range(5))
def test_nbest_is_sorted_and_distinct(seed: int) -> None:
    for kept in make_toy(seed).beam([8] * 4, beam=6):
        scores = [h.score for h in kept]
        assert len(kept) == 6
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(h.tokens) for h in kept}) == 6


def test_a_late_hypothesis_may_win_by_its_length() -> None:
    """A short output ends at once; one alive is less likely, yet wins in the end when divided by its length."""
    table = torch.full((1, 12, 1, 4), -30.0)
    table[0, 0, 0, EOS], table[0, 0, 0, 2] = -1.0, -1.5
    table[0, 1:11, 0, 3], table[0, 11, 0, EOS] = -0.01, -0.01
    found = Toy(table).beam([11], beam=2, alpha=1.0, nbest=1)
    assert found[0][0].tokens == [2] + [3] * 10


def test_no_sentences_no_hypotheses() -> None:
    toy = Toy(torch.zeros(0, 1, 3, 3))
    assert toy.beam([], beam=3) == [] == toy.beam([], beam=1)


@pytest.mark.parametrize("width", [5, 64, 640, 650, 704, 1000, 8000])
def test_top_is_topk(width: int) -> None:
    values = torch.randn(7, width, generator=torch.Generator().manual_seed(width))
    values[2, width // 2 :] = -torch.inf
    values[0, -3:] = torch.tensor([9.0, 11.0, 10.0])
    for k in (1, 4, 5):
        found, wanted = top(values, k), values.topk(k)
        assert torch.equal(found[0], wanted.values)
        assert torch.equal(found[1], wanted.indices) or values.isinf().any()
        assert torch.equal(values.gather(1, found[1]), wanted.values)
