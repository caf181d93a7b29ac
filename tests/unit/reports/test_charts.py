"""Numbers become places: what is larger stands higher or further right, and everything stands within its box."""

import math
import re
from itertools import pairwise

import pytest

from headway.reports.charts import POINTS, Curve, make_plot, make_track, round_numbers, tell, thin


@pytest.mark.parametrize("low, high", [(0, 1), (38.2, 41.4), (-1.3, 0), (0, 9175), (1e-7, 0.003), (5, 5), (0, 0), (-4, -4)])
def test_round_numbers_hold_what_is_between(low: float, high: float) -> None:
    marks = round_numbers(low, high)
    assert 2 <= len(marks) <= 7
    assert marks[0] <= low + 1e-9 and marks[-1] >= high - 1e-9
    steps = [b - a for a, b in pairwise(marks)]
    assert steps == pytest.approx([steps[0]] * len(steps)) and steps[0] > 0


def test_a_track_that_begins_at_nothing() -> None:
    track = make_track([40.0, 60.0], zero=True)
    assert (track.at(0), track.at(60)) == (0, 100)
    assert [tick.text for tick in track.ticks] == ["0", "20", "40", "60"]
    assert make_track([]).at(0) == 0  # nothing to show is no reason to fail


def test_a_plot_puts_larger_values_higher() -> None:
    plot = make_plot("loss", "updates", [Curve("one", 9, [(0, 4.0), (50, 2.0), (100, 0.0)], dots=True)])
    assert plot
    (drawn,) = plot.curves
    assert drawn.line == "M0 0 L50 50 L100 100" and drawn.dots == "M0 0h0M50 50h0M100 100h0"
    assert drawn.colour == 1  # there are eight


def test_what_is_not_finite_is_left_out() -> None:
    points = [(1.0, 1.0), (2.0, math.nan), (3.0, math.inf), (4.0, 2.0)]
    plot = make_plot("loss", "updates", [Curve("one", 0, points), Curve("none", 1, [(1.0, math.nan)])])
    assert plot and len(plot.curves) == 1
    assert len(re.findall(r"[ML]", plot.curves[0].line)) == 2
    assert make_plot("loss", "updates", [Curve("none", 1, [])]) is None


def test_a_plot_from_zero_on() -> None:
    plot = make_plot("speed", "minutes", [Curve("one", 0, [(0, 90.0), (1, 100.0)])], zero=True)
    assert plot and plot.y_ticks[0].text == "0" and plot.curves[0].line == "M0 10 L100 0"


def test_one_point_is_a_dot() -> None:
    plot = make_plot("loss", "updates", [Curve("one", 0, [(0.0, 1.5)])])
    assert plot and not plot.curves[0].line and plot.curves[0].dots


def test_long_lines_are_thinned_by_means() -> None:
    points = [(float(x), float(x % 2)) for x in range(100_000)]
    kept = thin(points)
    assert len(kept) <= POINTS
    assert all(y == pytest.approx(0.5) for _, y in kept[:-1])
    assert thin(points[:5]) == points[:5]


def test_lines_are_told_apart_by_more_than_colour() -> None:
    """Also those whose colour has come round again, and in every plot alike, even where one has nothing to show."""
    curves = [Curve(str(number), number, [(0.0, 1.0), (1.0, 2.0)]) for number in range(40)]
    plot = make_plot("loss", "updates", curves)
    assert plot and len({(one.colour, one.dash) for one in plot.curves}) == 40
    without = make_plot("loss", "updates", [Curve("0", 0, []), *curves[1:]])
    assert without and [one.dash for one in without.curves] == [one.dash for one in plot.curves[1:]]


def test_time_before_the_beginning_is_no_reason_to_fail() -> None:
    assert make_plot("loss", "minutes", [Curve("one", 0, [(-5.0, 1.0), (-4.0, 2.0)])])


def test_numbers_as_people_read_them() -> None:
    told = [tell(value) for value in (0.0, -0.5, 0.003, 12.5, 4000, 2_500_000, 1e-5)]
    assert told == ["0", "−0.5", "0.003", "12.5", "4,000", "2.5M", "1e-05"]


@pytest.mark.parametrize(("value", "marks"), [(0.035, ["0", "0.02", "0.04", "0.06"]), (0.0, ["0", "0.25", "0.5", "0.75", "1"])])
def test_a_single_value_stands_on_a_scale_that_begins_at_nothing(value: float, marks: list[str]) -> None:
    plot = make_plot("BLEU", "updates", [Curve("a", 0, [(10, value)], dots=True)])
    assert plot and [tick.text for tick in plot.y_ticks] == marks
