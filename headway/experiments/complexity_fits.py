"""What the measured costs say of the paper's table 1: exponents, crossings, and how much dearer one side is than another."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headway.experiments.layer_costs import Point, Study


@dataclass(frozen=True)
class Exponent:
    """The slope of log cost over log size. `error`: how far it moves if each figure lies at one of its quartiles."""

    value: float
    error: float
    sizes: tuple[int, int]  # from, to

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}" if self.error >= 0.005 else f"{self.value:.2f}"


@dataclass(frozen=True)
class Crossing:
    """From which length on self-attention is slower than the recurrent layer; None: at no length that was measured."""

    d: int
    length: float | None
    measured: tuple[int, int]  # from, to

    def __str__(self) -> str:
        if self.length is None:
            return f"faster up to n = {self.measured[1]:,}"
        return f"slower from n = {self.length:,.0f}" + (" or before" if self.length <= self.measured[0] else "")


def select(points: Sequence[Point], study: Study, side: str) -> list[Point]:
    return sorted(
        (point for point in points if (point.study, point.side) == (study, side)), key=lambda point: (point.d, point.n)
    )


def fit_time(points: Sequence[Point], axis: Literal["n", "d"]) -> Exponent | None:
    """Of one sequence's time."""
    return _fit(
        points,
        axis,
        lambda point: point.seconds_each,
        lambda point: (math.log(point.high) - math.log(max(point.low, 1e-9))) / 2,
    )


def fit_memory(points: Sequence[Point], axis: Literal["n", "d"]) -> Exponent | None:
    return _fit(points, axis, lambda point: point.bytes_each, lambda point: 0.0)


def _fit(
    points: Sequence[Point], axis: Literal["n", "d"], cost: Callable[[Point], float], spread: Callable[[Point], float]
) -> Exponent | None:
    """Over the upper half of the sizes: at small ones it is Python and not the layer that takes the time."""
    ordered = sorted(points, key=lambda point: getattr(point, axis))
    upper = ordered[len(ordered) // 2 :]
    if len(upper) < 2 or any(cost(point) <= 0 for point in upper):
        return None
    sizes = [int(getattr(point, axis)) for point in upper]
    x = np.log(sizes)
    x -= x.mean()
    weights = x / (x @ x)
    value = weights @ np.log([cost(point) for point in upper])
    error = np.sqrt(weights**2 @ np.array([spread(point) for point in upper]) ** 2)
    return Exponent(float(value), float(error), (sizes[0], sizes[-1]))


def find_crossings(points: Sequence[Point]) -> list[Crossing]:
    """For each dimension at which both were measured at several lengths."""
    crossings = []
    for d, ratios in compare_over_length(points).items():
        slower_from = len(ratios)
        while slower_from and ratios[slower_from - 1][1] > 1:
            slower_from -= 1
        crossings.append(Crossing(d, _interpolate(ratios, slower_from), (ratios[0][0], ratios[-1][0])))
    return crossings


def _interpolate(ratios: Sequence[tuple[int, float]], slower_from: int) -> float | None:
    """Between the last length at which the ratio is no more than 1 and the next one, straight on logarithmic scales."""
    if slower_from == len(ratios):
        return None
    n, ratio = ratios[slower_from]
    if slower_from == 0:
        return float(n)
    before, ratio_before = ratios[slower_from - 1]
    part = math.log(1 / ratio_before) / math.log(ratio / ratio_before)
    return float(before * (n / before) ** part)


def compare_over_length(points: Sequence[Point]) -> dict[int, list[tuple[int, float]]]:
    """By dimension: each length, and self-attention's time over the recurrent layer's."""
    times = {
        side: {(point.d, point.n): point.seconds for study in ("length", "crossing") for point in select(points, study, side)}
        for side in ("self-attention", "recurrent")
    }
    ratios: dict[int, list[tuple[int, float]]] = {}
    for (d, n), seconds in sorted(times["self-attention"].items()):
        if (d, n) in times["recurrent"]:
            ratios.setdefault(d, []).append((n, seconds / times["recurrent"][d, n]))
    return {d: pairs for d, pairs in ratios.items() if len(pairs) > 1}


def grow(points: Sequence[Point]) -> float | None:
    """The same tokens in the longest sequences against the shortest: time over time."""
    if len({point.n for point in points}) < 2:
        return None
    ordered = sorted(points, key=lambda point: point.n)
    longest, shortest = ordered[-1], ordered[0]
    return (longest.seconds / (longest.batch * longest.n)) / (shortest.seconds / (shortest.batch * shortest.n))
