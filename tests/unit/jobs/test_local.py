"""Reading ahead in a thread."""

import threading
from collections.abc import Iterator

import pytest

from headway.jobs.local import read_ahead


def test_it_gives_what_is_there_and_leaves_no_thread_behind_when_it_is_closed():
    closed = []

    def count() -> Iterator[int]:
        try:
            yield from range(5)
        finally:
            closed.append(True)

    before = threading.active_count()
    assert list(read_ahead(count())) == list(range(5))
    items = read_ahead(count())
    assert next(items) == 0
    items.close()
    assert len(closed) == 2 and threading.active_count() == before


def test_reading_is_ahead_by_one():
    taken = []

    def numbers() -> Iterator[int]:
        for number in range(5):
            taken.append(number)
            yield number
        raise ZeroDivisionError

    ahead = read_ahead(numbers())
    assert next(ahead) == 0
    assert [next(ahead) for _ in range(2)] == [1, 2] and len(taken) <= 4
    with pytest.raises(ZeroDivisionError):
        list(ahead)
