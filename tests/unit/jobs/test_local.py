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


def test_an_error_of_the_reader_is_raised_where_it_is_read():
    def fail() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    items = read_ahead(fail())
    assert next(items) == 1
    with pytest.raises(OSError, match="gone"):
        next(items)
