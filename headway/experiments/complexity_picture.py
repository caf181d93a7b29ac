"""The measured table 1 as a picture: eight panels, each a question, all lines named where they end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headway.amounts import amount
from headway.cores import count_cores
from headway.experiments.complexity_fits import Exponent, compare_over_length, find_crossings, fit_memory, fit_time, select
from headway.experiments.layer_costs import Point, Study
from headway.reports.colours import LIGHT, make_scale
from headway.reports.figures import INK, QUIET, RULE, make_figure, place, quieten, save_figure, write_title

_WIDTH, _HEIGHT, _BESIDE, _AROUND = 3.7, 2.75, 2.5, 0.95  # inches: a panel, the names beside it, titles and ticks around it
_APART = 0.165  # inches between two names at least

Axis = Literal["n", "d"]
_SIZES = {"n": "length n", "d": "dimension d"}
_LAYERS = {  # one hue a family; what is dashed computes the same as what is not
    "self-attention": "#b5381b",
    "self-attention, written out": "#b5381b",
    "attention alone": "#e08a5f",
    "restricted self-attention": "#a37a12",
    "recurrent": "#1c5d99",
    "convolution": "#1e7a5a",
    "separable convolution": "#74b49b",
}
_ATTENTIONS = {"additive": "#7a4aa0", "dot-product": "#b5381b", "dot-product, written out": "#b5381b"}


@dataclass(frozen=True)
class _Line:
    name: str
    colour: str
    x: list[int]
    y: list[float]
    low: list[float]
    high: list[float]


def draw(points: Sequence[Point], stem: Path) -> list[Path]:
    """`stem`.png and `stem`.svg. A panel for which nothing was measured stays empty, and says so."""
    figure = make_figure(2 * (_WIDTH + _BESIDE), 4 * (_HEIGHT + _AROUND) - 0.6)
    panels = [
        place(figure, column * (_WIDTH + _BESIDE), 0.15 + row * (_HEIGHT + _AROUND), _WIDTH, _HEIGHT)
        for row in range(4)
        for column in range(2)
    ]
    _draw_costs(panels[0], "Learning from one sequence: time by length, ms", _times(points, "length", _LAYERS, "n"), "n")
    _draw_costs(panels[1], "Learning from one sequence: time by dimension, ms", _times(points, "dimension", _LAYERS, "d"), "d")
    _draw_costs(panels[2], "Learning from one sequence: memory by length, MB", _memories(points, "length", _LAYERS), "n")
    _draw_costs(panels[3], "One decoding step: time by positions before it, ms", _times(points, "decoding", _LAYERS, "n"), "n")
    _draw_costs(panels[4], "Additive or dot-product attention: time, ms", _times(points, "comparing", _ATTENTIONS, "n"), "n")
    _draw_costs(panels[5], "Additive or dot-product attention: memory, MB", _memories(points, "comparing", _ATTENTIONS), "n")
    _draw_costs(panels[6], "As many tokens in longer sequences: time a token, µs", _token_lines(points), "n")
    _draw_ratios(panels[7], points)
    cores = count_cores()
    write_title(
        figure,
        "Table 1, measured: what a layer costs",
        f"One thread of a machine with {amount(cores, 'core')}. Medians; shaded from quartile to quartile. "
        "Beside each name: the exponent, fitted over the upper half of the sizes.",
        gap=0.3,
    )
    return save_figure(figure, stem)


def _times(points: Sequence[Point], study: Study, looks: dict[str, str], axis: Axis) -> list[_Line]:
    def line(name: str, chosen: list[Point]) -> _Line:
        each = [1000 / point.batch for point in chosen]
        return _Line(
            _name(name, axis, fit_time(chosen, axis)),
            looks[name],
            [int(getattr(point, axis)) for point in chosen],
            [point.seconds * ms for point, ms in zip(chosen, each, strict=True)],
            [point.low * ms for point, ms in zip(chosen, each, strict=True)],
            [point.high * ms for point, ms in zip(chosen, each, strict=True)],
        )

    return _lines(points, study, looks, line)


def _memories(points: Sequence[Point], study: Study, looks: dict[str, str]) -> list[_Line]:
    def line(name: str, chosen: list[Point]) -> _Line:
        megabytes = [point.bytes_each / 1e6 for point in chosen]
        label = _name(name, "n", fit_memory(chosen, "n"))
        return _Line(label, looks[name], [point.n for point in chosen], megabytes, megabytes, megabytes)

    return _lines(points, study, looks, line)


def _token_lines(points: Sequence[Point]) -> list[_Line]:
    """What one token costs: flat where the work is n d² and all of it can be done at once."""
    looks = {name: _LAYERS[name] for name in ("self-attention", "recurrent", "convolution")}
    lines = _times(points, "length", looks, "n")
    steps = {"self-attention": "1 step", "recurrent": "n steps in a row", "convolution": "1 step"}
    told = [f"{name}: {steps[name]}" for name in looks if select(points, "length", name)]

    def by_token(line: _Line, values: list[float]) -> list[float]:
        return [1000 * value / n for value, n in zip(values, line.x, strict=True)]

    return [
        replace(line, name=name, y=by_token(line, line.y), low=by_token(line, line.low), high=by_token(line, line.high))
        for line, name in zip(lines, told, strict=True)
    ]


def _lines(
    points: Sequence[Point], study: Study, looks: dict[str, str], line: Callable[[str, list[Point]], _Line]
) -> list[_Line]:
    return [line(name, chosen) for name in looks if (chosen := select(points, study, name))]


def _name(name: str, axis: Axis, exponent: Exponent | None) -> str:
    return name if exponent is None else f"{name}  {axis}^{max(0.0, exponent.value):.1f}"


def _draw_costs(panel: Any, title: str, lines: list[_Line], axis: Axis) -> None:
    for line in lines:
        dashes = (0, (4, 2)) if "written out" in line.name else "-"
        panel.fill_between(line.x, line.low, line.high, color=line.colour, alpha=0.18, linewidth=0)
        panel.plot(line.x, line.y, color=line.colour, linestyle=dashes, linewidth=1.7, marker="o", markersize=2.6)
    _finish(panel, title, [size for line in lines for size in line.x], _SIZES[axis])
    _name_lines(panel, [(line.y[-1], line.x[-1], line.name, line.colour) for line in lines])


def _draw_ratios(panel: Any, points: Sequence[Point]) -> None:
    """Self-attention's time over the recurrent layer's, and where each line goes through 1: the paper expects that at n = d."""
    ratios = compare_over_length(points)
    colours = dict(zip(ratios, make_scale(*LIGHT["encoder"][1:])[:: -max(1, 200 // max(1, len(ratios)))][::-1], strict=False))
    crossings = {crossing.d: crossing for crossing in find_crossings(points)}
    ends = []
    for d, pairs in ratios.items():
        lengths, values = [n for n, _ in pairs], [ratio for _, ratio in pairs]
        panel.plot(lengths, values, color=colours[d], linewidth=1.7, marker="o", markersize=2.6)
        ends.append((values[-1], lengths[-1], f"d = {d}: {crossings[d]}", colours[d]))
        if (length := crossings[d].length) is not None and length > lengths[0]:
            panel.plot([length], [1], "o", markersize=6, markerfacecolor="white", markeredgecolor=colours[d], zorder=3)
    title = "Self-attention over the recurrent layer: time over time"
    _finish(panel, title, [n for pairs in ratios.values() for n, _ in pairs], _SIZES["n"])
    panel.axhline(1, color=QUIET, linewidth=0.9, zorder=0)
    _name_lines(panel, ends)


def _finish(panel: Any, title: str, sizes: list[int], size: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    quieten(panel)
    panel.set_title(title, loc="left", fontsize=9.5, fontweight="bold", color=INK, pad=9)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(RULE)
    if not sizes:
        panel.set(xticks=[], yticks=[])
        panel.text(0.5, 0.5, "not measured", transform=panel.transAxes, ha="center", color=QUIET)
        return
    panel.set(xscale="log", yscale="log", xlabel=size)
    ticks = sorted(set(sizes))
    ticks = ticks[(len(ticks) - 1) % 2 :: 2] if len(ticks) > 6 else ticks
    panel.xaxis.set_major_locator(NullLocator())
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    panel.yaxis.set_minor_locator(NullLocator())
    low, high = panel.get_ylim()
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 60 else (1,)))
    panel.grid(color=RULE, linewidth=0.5)
    panel.set_axisbelow(True)


def _name_lines(panel: Any, ends: list[tuple[float, int, str, str]]) -> None:
    """Each name beside the end of its line, or as near as the other names let it be, with a thread to it."""
    if not ends:
        return
    to_panel = panel.transData + panel.transAxes.inverted()
    ordered = sorted(ends)
    at = np.array([to_panel.transform((size, cost)) for cost, size, _, _ in ordered])
    heights = _spread(at[:, 1], _APART / _HEIGHT)
    for (_, _, name, colour), (x, y), height in zip(ordered, at, heights, strict=True):
        common = {"color": colour, "transform": panel.transAxes, "clip_on": False}
        panel.plot([x + 0.015, 1.05], [y, height], linewidth=0.6, alpha=0.6, scalex=False, scaley=False, **common)
        panel.text(1.065, height, name, va="center", fontsize=8.5, parse_math=False, **common)


def _spread(wanted: np.ndarray, apart: float) -> np.ndarray:
    """Rising heights at least `apart` from each other, and as near as can be to those that are wanted, which rise as well."""
    blocks: list[list[float]] = []  # heights less their rank, which may be equal but not fall: means of neighbours that clash
    for rank, height in enumerate(wanted):
        blocks.append([height - rank * apart])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    level = np.array([np.mean(block) for block in blocks for _ in block])
    ranks = np.arange(len(wanted))
    return (level + ranks * apart).clip(ranks * apart, 1 - ranks[::-1] * apart)  # no higher and no lower than the panel
