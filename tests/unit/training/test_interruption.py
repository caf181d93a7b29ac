"""A request to stop is heard, whenever it comes."""

import signal

import pytest

from headway.training.interruption import Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_that_nobody_looked_for_is_given_again(number: signal.Signals) -> None:
    heard: list[int] = []
    before = signal.signal(number, lambda got, _: heard.append(got))
    try:
        with Interruption() as interruption:
            signal.raise_signal(number)
            assert interruption.asked == number and not heard
        assert heard == [number]
        with pytest.raises(ZeroDivisionError), Interruption():  # the work has ended already
            signal.raise_signal(number)
            raise ZeroDivisionError
        with Interruption() as interruption:
            pass
        assert heard == [number] and interruption.asked is None
    finally:
        signal.signal(number, before)
