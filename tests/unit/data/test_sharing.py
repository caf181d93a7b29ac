"""Cutting an update into parts: nothing lost, nothing twice, about equal work, like lengths together."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.sharing import divide

LENGTHS = np.random.default_rng(1).integers(2, 60, 5000)


def cost(pairs: np.ndarray) -> np.ndarray:
    return LENGTHS[pairs]


def sorted_passes(count: int, size: int) -> list[np.ndarray]:
    chosen = np.random.default_rng(count).permutation(len(LENGTHS))[: count * size]
    return [np.sort(chosen[i * size : (i + 1) * size]) for i in range(count)]


@given(count=st.integers(1, 7), size=st.integers(1, 40), parts=st.integers(1, 30))
def test_every_pair_is_in_one_part(count: int, size: int, parts: int):
    passes = sorted_passes(count, size)
    divided = divide(passes, parts, cost)
    assert len(divided) == parts
    assert sorted(np.concatenate(divided)) == sorted(np.concatenate(passes))


@pytest.mark.parametrize(("count", "parts", "processes"), [(1, 2, 2), (1, 3, 3), (4, 8, 2), (7, 8, 8), (3, 2, 2)])
def test_processes_have_about_equal_work(count: int, parts: int, processes: int):
    divided = divide(sorted_passes(count, 200), parts, cost)
    work = [sum(cost(part).sum() for part in divided[rank::processes]) for rank in range(processes)]
    assert max(work) - min(work) <= 2 * count * LENGTHS.max()


def test_a_pass_stays_together_where_it_can():
    """Two processes: each gets half of every pass, in its order."""
    passes = sorted_passes(3, 50)
    divided = divide(passes, 6, cost)
    for number, whole in enumerate(passes):
        assert (np.concatenate(divided[2 * number : 2 * number + 2]) == whole).all()


def test_else_pairs_of_like_length_are_put_together():
    divided = divide(sorted_passes(7, 100), 4, cost)
    ranges = [(cost(part).min(), cost(part).max()) for part in divided]
    assert all(longest <= shortest for (_, longest), (shortest, _) in itertools.pairwise(ranges))
