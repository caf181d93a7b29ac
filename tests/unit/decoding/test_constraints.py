"""Phrases that must appear do, and what may appear is otherwise the likeliest."""

import pytest
from toy_search import BOS, EOS, EVERYTHING, Toy, make_toy, same

from headway.decoding.constraints import Phrase, constrained_search
from headway.decoding.options import Options
from headway.decoding.ranking import Hypothesis

PHRASES: list[list[Phrase]] = [
    [(5,)],
    [(2, 3)],
    [(4, 2), (6,)],
    [(5, 5, 6)],
    [(2, 3, 4), (2, 3, 5)],  # begin alike
    [(3,), (3, 4)],  # one is the other's beginning
    [(6, 6), (6,)],
    [(2, 3), (3, 2)],
    [(4, 5, 6, 2), (3, 3)],
]


def search(toy: Toy, limit: int, phrases: list[Phrase], options: Options) -> list[Hypothesis]:
    return constrained_search(toy.step, toy.start(), bos=BOS, eos=EOS, limit=limit, phrases=phrases, options=options)


def find(phrase: Phrase, tokens: list[int]) -> list[set[int]]:
    """The places that the phrase takes, wherever it stands."""
    return [set(range(at, at + len(phrase))) for at in range(len(tokens)) if tuple(tokens[at : at + len(phrase)]) == phrase]


def holds(tokens: list[int], phrases: list[Phrase], taken: frozenset[int] = frozenset()) -> bool:
    """Whether every phrase stands in the tokens, each in places of its own."""
    if not phrases:
        return True
    return any(holds(tokens, phrases[1:], taken | places) for places in find(phrases[0], tokens) if not places & taken)


@pytest.mark.parametrize("phrases", PHRASES)
@pytest.mark.parametrize("beam", [1, 3, 12])
def test_every_result_holds_every_phrase(phrases: list[Phrase], beam: int) -> None:
    for seed in range(6):
        toy = make_toy(seed, sentences=1, sharpness=3.0)
        found = search(toy, 11, phrases, Options(beam=beam))
        assert found
        for one in found:
            assert holds(one.tokens, phrases), (seed, one)
            assert len(one.tokens) <= 11
            if one.log_probability is not None:
                assert one.log_probability == pytest.approx(toy.log_probability(0, one.tokens), abs=1e-4)


@pytest.mark.parametrize("phrases", PHRASES)
def test_phrases_may_fill_the_limit_exactly(phrases: list[Phrase]) -> None:
    limit = sum(map(len, phrases))
    for seed in range(4):
        found = search(make_toy(seed, sentences=1), limit, phrases, Options(beam=4))
        assert found
        for one in found:
            assert holds(one.tokens, phrases)
            assert len(one.tokens) == limit
            assert one.log_probability is None


@pytest.mark.parametrize("seed", range(3))
def test_who_can_no_longer_write_all_phrases_takes_no_place_in_the_beam(seed: int) -> None:
    found = search(make_toy(seed, sentences=1), 3, [(2,), (3,), (4,)], Options(beam=6))
    assert sorted(one.tokens for one in found) == [[2, 3, 4], [2, 4, 3], [3, 2, 4], [3, 4, 2], [4, 2, 3], [4, 3, 2]]


@pytest.mark.parametrize("seed", range(3))
def test_without_phrases_a_wide_beam_finds_what_enumeration_finds(seed: int) -> None:
    toy = make_toy(seed, sentences=1, positions=5, vocabulary=5)
    found, wanted = search(toy, 4, [], Options(beam=EVERYTHING)), toy.enumerate(0, 4)
    assert len(found) == len(wanted)
    assert same(*(sorted(some, key=lambda one: one.tokens) for some in (found, wanted)))


@pytest.mark.parametrize("phrase", [(2,), (3, 4), (2, 2)])
def test_a_wide_beam_finds_all_that_hold_the_phrase(phrase: Phrase) -> None:
    """Those are all, since a phrase of such a kind cannot be begun again in its own midst and be missed."""
    toy = make_toy(1, sentences=1, positions=5, vocabulary=5)
    found = search(toy, 4, [phrase], Options(beam=EVERYTHING))
    wanted = [one for one in toy.enumerate(0, 4) if holds(one.tokens, [phrase])]
    assert same(*(sorted(some, key=lambda one: one.tokens) for some in (found, wanted)))


def test_a_phrase_left_half_way_does_not_count() -> None:
    for seed in range(10):
        for one in search(make_toy(seed, sentences=1, vocabulary=4), 8, [(2, 2, 3)], Options(beam=3)):
            assert find((2, 2, 3), one.tokens), one


def test_likely_phrases_cost_nothing() -> None:
    """What the search finds without being asked, it finds when asked for a part of it."""
    for seed in range(5):
        toy = make_toy(seed, sentences=1, sharpness=4.0)
        free = search(toy, 11, [], Options(beam=6))
        best = max((one for one in free if one.log_probability is not None), key=lambda one: one.log_probability or 0.0)
        if best.tokens:
            assert best in search(toy, 11, [tuple(best.tokens[-1:])], Options(beam=6))
