"""Searches over small random tables of transitions, against searches that are obviously right.

Shapes: B sentences, T positions, M memories, V vocabulary.
"""

from functools import partial

import pytest
import torch
from toy_search import BOS, EOS, EVERYTHING, Toy, make_toy, same, search_greedily, search_with_beam

from headway.decoding.options import Options
from headway.decoding.ranking import Hypothesis
from headway.decoding.search import beam_steps, greedy_steps, top


@pytest.mark.parametrize("limit", [1, 4, 10])
@pytest.mark.parametrize("seed", range(4))
def test_greedy_takes_the_likeliest_token_each_time(seed: int, limit: int) -> None:
    toy = make_toy(seed)
    assert same(toy.greedy([limit] * 4), [search_greedily(partial(toy.next, sentence), limit) for sentence in range(4)])


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_as_wide_as_the_space_finds_what_enumeration_finds(seed: int, alpha: float) -> None:
    toy, limits = make_toy(seed, sentences=3, positions=5, vocabulary=5), [4, 1, 3]
    found = toy.beam(limits, Options(beam=EVERYTHING, alpha=alpha))
    for sentence, limit in enumerate(limits):
        wanted = toy.enumerate(sentence, limit)
        assert len(found[sentence]) == len(wanted)
        assert same(*(sorted(some, key=lambda one: one.tokens) for some in (found[sentence], wanted)))


@pytest.mark.parametrize(
    "options",
    [
        Options(beam=2),
        Options(beam=3),
        Options(beam=3, patience=2.0),
        Options(beam=4, patience=0.5),
        Options(beam=5, patience=0.2, alpha=1.5),
        Options(beam=6, alpha=0.0),
        Options(beam=6, patience=1.4, penalty="power"),
    ],
)
@pytest.mark.parametrize("sharpness", [0.7, 2.0])
def test_a_narrow_beam_is_the_one_with_lists(options: Options, sharpness: float) -> None:
    for seed in range(4):
        toy, limits = make_toy(seed, sharpness=sharpness), [9, 1, 4, 12]
        for sentence, found in enumerate(toy.beam(limits, options)):
            assert same(found, search_with_beam(partial(toy.next, sentence), limits[sentence], options))


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_equals_one_sentence_at_a_time_in_order(seed: int) -> None:
    toy, limits, options = make_toy(seed, sentences=6), [3, 9, 1, 6, 9, 2], Options(beam=4, patience=1.5)
    alone = [toy.only(sentence) for sentence in range(6)]
    assert toy.greedy(limits) == [one.greedy([limit])[0] for one, limit in zip(alone, limits, strict=True)]
    assert toy.beam(limits, options) == [one.beam([limit], options)[0] for one, limit in zip(alone, limits, strict=True)]


@pytest.mark.parametrize("patience", [0.5, 1.0, 3.0])
def test_a_beam_of_one_is_greedy(patience: float) -> None:
    toy = make_toy(2, sharpness=0.5)
    assert toy.beam([8] * 4, Options(beam=1, patience=patience)) == [[one] for one in toy.greedy([8] * 4)]


def test_at_its_limit_all_that_is_left_is_cut_off_and_must_be_scored() -> None:
    toy = make_toy(0, sentences=5)
    toy.table[..., EOS] = -20.0  # nobody wants to stop
    limits = [1, 2, 3, 5, 11]
    for limit, greedy, beam in zip(limits, toy.greedy(limits), toy.beam(limits, Options(beam=3)), strict=True):
        assert len(beam) == 3
        for found in (greedy, *beam):
            assert len(found.tokens) == limit
            assert found.log_probability is None


def test_an_end_in_the_last_place_is_no_cut() -> None:
    table = torch.full((1, 3, 1, 4), -30.0)
    table[0, :2, 0, 2], table[0, 2, 0, EOS] = -0.01, -0.01
    whole = [Hypothesis([2, 2], -0.03)]
    assert same(Toy(table).greedy([3]), whole)
    assert same(Toy(table).beam([3], Options(beam=2))[0][:1], whole)
    assert Toy(table).greedy([2]) == [Hypothesis([2, 2], None)]
    assert Hypothesis([2, 2], None) in Toy(table).beam([2], Options(beam=2))[0]


def test_a_banned_end_still_ends_at_the_limit() -> None:
    toy = make_toy(0)
    toy.table[..., EOS] = -torch.inf
    assert [len(found.tokens) for found in toy.greedy([3, 4, 5, 6])] == [3, 4, 5, 6]
    found = toy.beam([3, 4, 5, 6], Options(beam=2))
    assert [[len(one.tokens) for one in kept] for kept in found] == [[3] * 2, [4] * 2, [5] * 2, [6] * 2]


def test_an_end_below_the_beam_does_not_count() -> None:
    """Of 2K candidates, the ends among the best K have ended; one that is third of a beam of two has not."""
    table = torch.full((1, 3, 1, 5), -30.0)
    table[0, 0, 0, 2:4], table[0, 0, 0, EOS] = torch.tensor([-1.0, -1.1]), -1.2
    table[0, 1, 0, 2], table[0, 1, 0, EOS] = -3.0, -0.1
    found = Toy(table).beam([3], Options(beam=2))[0]
    assert [one.tokens for one in found] == [[2], [3]]


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
    toy.beam([7] * 4, Options(beam=2, patience=0.5))
    assert toy.rows_seen == [4, 3 * 2, 2 * 2, 1 * 2]


def test_patience_waits_for_more_and_keeps_them() -> None:
    toy = make_toy(1, sentences=6)
    seen = []
    for patience, finished in ((0.5, 2), (1.0, 4), (2.0, 8)):
        toy.rows_seen.clear()
        assert [len(kept) for kept in toy.beam([11] * 6, Options(beam=4, patience=patience))] == [finished] * 6
        seen.append(sum(toy.rows_seen))
    assert seen[0] < seen[1] < seen[2]


@pytest.mark.parametrize("beam", [1, 2, 3, 50])
def test_banned_tokens_are_never_chosen(beam: int) -> None:
    toy = make_toy(3)
    toy.table[..., 4:] = -torch.inf
    for kept in toy.beam([6] * 4, Options(beam=beam)):
        assert kept
        for found in kept:
            assert set(found.tokens) <= {2, 3}
            assert found.log_probability is None or found.log_probability > -torch.inf


def test_a_model_that_can_only_end_ends() -> None:
    """No hypothesis is left alive while fewer have ended than were waited for."""
    toy = make_toy(0, sentences=2)
    toy.table[:, 1:, :, 2:] = -torch.inf
    for kept in toy.beam([9, 9], Options(beam=6, patience=4.0)):
        assert {len(one.tokens) for one in kept} == {0, 1}
    assert len(toy.rows_seen) == 2


@pytest.mark.parametrize("seed", range(4))
def test_what_is_kept_is_distinct(seed: int) -> None:
    for kept in make_toy(seed).beam([8] * 4, Options(beam=6, patience=1.5)):
        assert len(kept) == 9 == len({(*one.tokens, one.log_probability is None) for one in kept})


@pytest.mark.parametrize("patience", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("beam", [2, 4])
def test_settled_tokens_are_a_beginning_of_all_that_is_kept(beam: int, patience: float) -> None:
    told_early = 0
    for seed in range(8):
        toy = make_toy(seed, sentences=1, positions=30, sharpness=4.0)
        toy.table[:, :15, :, EOS] -= 20.0  # long enough for a beam to agree on its beginning
        steps = beam_steps(
            toy.step,
            toy.start(),
            bos=BOS,
            eos=EOS,
            limits=torch.tensor([30 - 4 * seed]),
            options=Options(beam=beam, patience=patience),
        )
        settled: list[list[int]] = [[]]
        while True:
            try:
                settled.append(next(steps)())
            except StopIteration as stop:
                (kept,) = stop.value
                break
            assert settled[-1][: len(settled[-2])] == settled[-2]
        assert kept
        assert all(one.tokens[: len(settled[-1])] == settled[-1] for one in kept)
        told_early += len(settled[-2])
    assert told_early


def test_greedy_settles_each_token_at_once() -> None:
    toy = make_toy(4, sentences=1)
    toy.table[:, :4, :, EOS], toy.table[:, 4:, :, EOS] = -20.0, 0.0
    (wanted,) = toy.greedy([11])
    assert len(wanted.tokens) > 1 and wanted.log_probability is not None
    told = [settled() for settled in greedy_steps(toy.step, toy.start(), bos=BOS, eos=EOS, limits=torch.tensor([11]))]
    assert told == [*(wanted.tokens[:n] for n in range(1, len(wanted.tokens) + 1)), wanted.tokens]


def test_no_sentences_no_hypotheses() -> None:
    toy = Toy(torch.zeros(0, 1, 3, 3))
    assert toy.beam([], Options(beam=3)) == [] == toy.beam([], Options(beam=1))


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
