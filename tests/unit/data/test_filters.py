import pytest

from headway.data.filters import LengthFilter, is_blank


@pytest.mark.parametrize(("source", "target", "blank"), [("a", "b", False), ("", "b", True), ("a", " \t\u2003", True)])
def test_blank_on_a_side(source: str, target: str, blank: bool) -> None:
    assert is_blank(source, target) is blank


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (100, 100, None),
        (101, 100, "long"),
        (1, 101, "long"),
        (80, 20, None),
        (81, 20, "ratio"),
        (20, 81, "ratio"),
        (1, 10, None),  # short: any ratio may be right
        (1, 11, "ratio"),
    ],
)
def test_lengths(source: int, target: int, reason: str | None) -> None:
    assert LengthFilter(max_length=100, max_ratio=4).reason_to_drop(source, target) == reason
