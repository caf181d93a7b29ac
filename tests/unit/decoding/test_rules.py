"""Beginnings, least lengths and n-grams, against the same said with lists."""

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from toy_search import EOS, Toy, make_toy, same, search_greedily, search_with_beam

from headway.decoding.options import Options
from headway.decoding.rules import Rules

LIMITS = [9, 1, 4, 11]
OPTIONS = [
    Options(beam=3, min_length=4),
    Options(beam=3, no_repeat_ngram=1),
    Options(beam=3, no_repeat_ngram=2),
    Options(beam=4, no_repeat_ngram=3, patience=2.0),
    Options(beam=3, min_length=3, no_repeat_ngram=2, alpha=1.2),
]


def next_allowed(toy: Toy, sentence: int, options: Options, prefix: Sequence[int] = ()) -> Callable[[list[int]], list[float]]:
    """The slow twin of `Rules`: what follows some tokens of a toy."""

    def next_of(tokens: list[int]) -> list[float]:
        row = toy.next(sentence, tokens)
        if len(tokens) < len(prefix):
            return [0.0 if token == prefix[len(tokens)] else -math.inf for token in range(len(row))]
        n = options.no_repeat_ngram
        grams = {tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1)} if n else set()
        banned = {token for token in range(len(row)) if n and (*tokens[len(tokens) - n + 1 :], token)[-n:] in grams}
        if len(tokens) < options.min_length:
            banned.add(EOS)
        left = math.log(sum(math.exp(value) for token, value in enumerate(row) if token not in banned))
        return [-math.inf if token in banned else value - left for token, value in enumerate(row)]

    return next_of


@pytest.mark.parametrize("sharpness", [0.5, 2.0])
@pytest.mark.parametrize("options", OPTIONS)
def test_bans_are_those_of_the_slow_twin(options: Options, sharpness: float) -> None:
    for seed in range(2):
        toy, rules = make_toy(seed, sharpness=sharpness, vocabulary=8), Rules.of(options, EOS)
        next_of = [next_allowed(toy, sentence, options) for sentence in range(4)]
        assert same(toy.greedy(LIMITS, rules), [search_greedily(*one) for one in zip(next_of, LIMITS, strict=True)])
        for found, one, limit in zip(toy.beam(LIMITS, options, rules), next_of, LIMITS, strict=True):
            assert same(found, search_with_beam(one, limit, options))


@pytest.mark.parametrize("options", [Options(beam=3), Options(beam=3, no_repeat_ngram=2), Options(beam=2, min_length=5)])
def test_beginnings_are_free_and_those_of_the_slow_twin(options: Options) -> None:
    toy, limits = make_toy(3, sharpness=1.0, vocabulary=8), [9, 3, 6, 11]
    prefixes = [[4, 4, 2], [], [5], [2, 3, 2, 4, 6]]
    rules = Rules.of(options, EOS, prefixes)
    next_of = [next_allowed(toy, sentence, options, prefix) for sentence, prefix in enumerate(prefixes)]
    assert same(toy.greedy(limits, rules), [search_greedily(*one) for one in zip(next_of, limits, strict=True)])
    for found, one, limit, prefix in zip(toy.beam(limits, options, rules), next_of, limits, prefixes, strict=True):
        assert same(found, search_with_beam(one, limit, options, len(prefix)))
        assert all(kept.tokens[: len(prefix)] == prefix for kept in found)


@pytest.mark.parametrize("beam", [1, 4])
def test_no_n_gram_comes_twice_and_none_is_too_short(beam: int) -> None:
    toy, options = make_toy(1, sentences=6, vocabulary=6), Options(beam=beam, min_length=5, no_repeat_ngram=2)
    for kept in toy.beam([11] * 6, options, Rules.of(options, EOS)):
        for found in kept:
            pairs = list(zip(found.tokens, found.tokens[1:], strict=False))
            assert len(pairs) == len(set(pairs))
            assert len(found.tokens) >= 5


@pytest.mark.parametrize("beam", [1, 3])
def test_rules_follow_their_sentences_through_the_batch(beam: int) -> None:
    toy, limits = make_toy(6, sentences=6, sharpness=1.0), [3, 9, 5, 6, 9, 4]
    prefixes = [[2, 3], [], [4], [5, 5, 5], [6, 2], [3]]
    options = Options(beam=beam, no_repeat_ngram=2, min_length=2)
    together = toy.beam(limits, options, Rules.of(options, EOS, prefixes))
    for sentence, found in enumerate(together):
        rules = Rules.of(options, EOS, [prefixes[sentence]])
        assert toy.only(sentence).beam([limits[sentence]], options, rules) == [found]


def test_what_is_banned_leaves_its_probability_to_the_others() -> None:
    row = torch.tensor([[0.1, 0.6, 0.3]]).log()
    allowed = Rules(Options(min_length=1), eos=1).apply(row, torch.tensor([0]), torch.empty(1, 0, dtype=torch.long), 0)
    torch.testing.assert_close(allowed.exp(), torch.tensor([[0.25, 0.0, 0.75]]))


def test_nothing_is_ruled_where_nothing_is_asked() -> None:
    assert Rules.of(Options(), EOS) is None
    assert Rules.of(Options(), EOS, [[], []]) is None
    assert Rules.of(Options(), EOS, [[], [4]]) is not None
    assert Rules.of(Options(min_length=1), EOS) is not None


def test_where_all_is_banned_nothing_is() -> None:
    row = torch.tensor([[0.2, 0.3, 0.5]]).log()
    rules = Rules(Options(min_length=9, no_repeat_ngram=1), eos=1)
    allowed = rules.apply(row, torch.tensor([0]), torch.tensor([[0, 2]]), 2)
    torch.testing.assert_close(allowed, row)


def test_where_all_but_what_never_comes_is_banned_nothing_is() -> None:
    row = torch.tensor([[0.0, 0.2, 0.8]]).log()
    rules = Rules(Options(min_length=9, no_repeat_ngram=1), eos=1)
    allowed = rules.apply(row, torch.tensor([0]), torch.tensor([[2, 2]]), 2)
    torch.testing.assert_close(allowed, row)
