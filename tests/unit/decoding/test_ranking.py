"""The order among finished outputs."""

import pytest

from headway.decoding.ranking import Hypothesis, Ranked, length_penalty, rank


def test_the_papers_length_penalty() -> None:
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)
    assert length_penalty(30, 0.0) == 1.0
    assert length_penalty(13, 1.0, "paper") == 3.0


def test_the_other_toolkits_length_penalty() -> None:
    assert length_penalty(1, 0.6, "power") == 1.0
    assert length_penalty(8, 2.0, "power") == 64.0
    assert length_penalty(30, 0.0, "power") == 1.0


def test_the_end_counts_in_the_length() -> None:
    assert rank([Hypothesis([5, 6, 7], -8.0)], alpha=1.0, penalty="power") == [Ranked([5, 6, 7], -2.0)]
    assert rank([Hypothesis([], -3.0)], alpha=1.0, penalty="paper") == [Ranked([], -3.0)]


def test_a_longer_output_may_win_by_its_length_under_one_penalty_and_not_under_the_other() -> None:
    short, long = Hypothesis([5], -2.0), Hypothesis([5] * 7, -4.0)
    assert [one.tokens for one in rank([long, short], alpha=0.0, penalty="power")] == [short.tokens, long.tokens]
    assert [one.tokens for one in rank([short, long], alpha=1.0, penalty="power")] == [long.tokens, short.tokens]  # -1, -0.5
    assert [one.tokens for one in rank([long, short], alpha=1.0, penalty="paper")] == [short.tokens, long.tokens]  # -1.7, -1.8


def test_of_equals_the_first_stays_first() -> None:
    assert [one.tokens for one in rank([Hypothesis([9], -1.0), Hypothesis([4], -1.0)], alpha=0.6, penalty="paper")] == [
        [9],
        [4],
    ]
