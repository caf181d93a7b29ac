"""Sentences of like length together."""

from hypothesis import given
from hypothesis import strategies as st

from headway.engines.batching import batches_by_length


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 200))
def test_each_place_once_longest_first_and_no_batch_too_large(lengths: list[int], tokens: int) -> None:
    batches = list(batches_by_length(lengths, tokens))
    places = [place for batch in batches for place in batch]
    assert sorted(places) == list(range(len(lengths)))
    assert [lengths[place] for place in places] == sorted(lengths, reverse=True)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * (lengths[batch[0]] + 1) <= tokens


@given(st.lists(st.integers(0, 40), min_size=2, max_size=60), st.integers(1, 200))
def test_no_batch_is_smaller_than_it_must_be(lengths: list[int], tokens: int) -> None:
    batches = list(batches_by_length(lengths, tokens))
    for batch in batches[:-1]:
        assert (len(batch) + 1) * (lengths[batch[0]] + 1) > tokens


def test_of_equals_the_first_comes_first() -> None:
    assert list(batches_by_length([3, 3, 5, 3], 8)) == [[2], [0, 1], [3]]
