"""Charts that fit any width without a script: places are shares of a box, text is text and keeps its size.

Here numbers become places, in percent; `charts.html` draws them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

COLOURS = 8  # that report.css has; the next one is the first again
DASHES = ("", "7 3", "2 3", "9 3 2 3", "14 4")  # that tell lines apart where colours do not; five, so that 40 pairs differ
POINTS = 300  # of a line: more cannot be told apart on any screen

Point = tuple[float, float]


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Track:
    """A straight scale."""

    low: float
    high: float
    ticks: list[Tick]

    def at(self, value: float) -> float:
        """Where a value stands, in percent."""
        return _share(value, self.low, self.high)


@dataclass(frozen=True)
class Curve:
    """A line through points; those that were measured one by one are also drawn as dots."""

    name: str
    colour: int
    points: Sequence[Point]
    dots: bool = False


@dataclass(frozen=True)
class Drawn:
    """A curve as SVG paths, in a box of 100 by 100 from the upper left."""

    name: str
    colour: int
    line: str
    dots: str
    dash: str  # of the line, as SVG has it


@dataclass(frozen=True)
class Plot:
    title: str
    across: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    curves: list[Drawn]
    note: str


def make_track(values: Iterable[float], *, zero: bool = False) -> Track:
    """A scale that holds all values, from one round number to another; with `zero`, from nothing on."""
    found = [*values, *([0.0] if zero else [])]
    marks = round_numbers(min(found, default=0.0), max(found, default=1.0))
    low, high = marks[0], marks[-1]
    return Track(low, high, [Tick(_share(mark, low, high), tell(mark)) for mark in marks])


def make_plot(title: str, across: str, curves: Sequence[Curve], *, note: str = "", zero: bool = False) -> Plot | None:
    """Curves in one box, from nothing on to the right, with `zero` upwards too; None if there is not a single point."""
    kept = []
    for number, curve in enumerate(curves):
        points = [point for point in curve.points if all(map(math.isfinite, point))]
        if points:
            kept.append((curve, points if curve.dots else thin(points), DASHES[number % len(DASHES)]))
    if not kept:
        return None
    end = max(0.0, *(x for _, points, _ in kept for x, _ in points)) or 1.0
    values = [y for _, points, _ in kept for _, y in points]
    if min(values) == max(values):  # no distance to choose a scale by: from nothing on, with room above
        values += [0.0, 1.25 * values[0] or 1.0]
    up = make_track(values, zero=zero)
    x_ticks = [Tick(_share(mark, 0.0, end), tell(mark)) for mark in round_numbers(0.0, end) if mark <= end]
    drawn = []
    for curve, points, dash in kept:
        places = [f"{_share(x, 0.0, end):g} {100 - up.at(y):g}" for x, y in points]
        line = "M" + " L".join(places) if len(places) > 1 else ""
        dots = "".join(f"M{place}h0" for place in places) if curve.dots or not line else ""
        drawn.append(Drawn(curve.name, curve.colour % COLOURS, line, dots, dash))
    return Plot(title, across, x_ticks, up.ticks, drawn, note)


def thin(points: Sequence[Point]) -> list[Point]:
    """No more points than can be seen: means of neighbours."""
    every = math.ceil(len(points) / POINTS)
    groups = [points[start : start + every] for start in range(0, len(points), every)]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def round_numbers(low: float, high: float) -> list[float]:
    """Two to six round numbers, evenly apart, the first not above `low`, the last not below `high`."""
    room = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(room / 4))
    step = next(power * size for size in (1, 2, 2.5, 5, 10) if power * size >= room / 4 * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def tell(value: float) -> str:
    """A number as short as it can be read: 0.003, 12.5, 4,000, 2.5M."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.4g}M"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    told = f"{0.0 if abs(value) < 1e-12 else value:.4g}"
    return f"−{told[1:]}" if told.startswith("-") else told


def _share(value: float, low: float, high: float) -> float:
    return round(100 * (value - low) / (high - low), 2)
