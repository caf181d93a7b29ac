import numpy as np
import pytest

from headway.amounts import amount, are


@pytest.mark.parametrize(
    ("number", "noun", "told"),
    [
        (0, "line", "0 lines"),
        (1, "line", "1 line"),
        (1234, "held-out sentence", "1,234 held-out sentences"),
        (1.0, "minute", "1 minute"),
        (0.5, "minute", "0.5 minutes"),
        (2, "process", "2 processes"),
        (np.int64(2_000_001), "pair", "2,000,001 pairs"),
    ],
)
def test_one_is_singular(number: float, noun: str, told: str) -> None:
    assert amount(number, noun) == told


def test_the_verb_goes_with_the_number() -> None:
    assert [are(number) for number in (0, 1, 1.0, 1.5, 2)] == ["are", "is", "is", "are", "are"]
