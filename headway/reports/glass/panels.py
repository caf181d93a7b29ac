"""Maps of vectors for a paper: panels one below the other or side by side, rows named, on one scale of colours."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.reports.colours import LIGHT, make_scale
from headway.reports.figures import (
    INK,
    QUIET,
    RULE,
    colour_map,
    font_families,
    make_figure,
    place,
    quieten,
    save_figure,
    write_title,
)

_ROW, _LEAST_ROW, _TALLEST = 0.17, 0.035, 9.0  # inches: a row, the smallest one, and the panel from which on rows shrink
_GAP, _LABEL = 0.55, 0.13


@dataclass(frozen=True)
class Panel:
    name: str
    values: np.ndarray  # [rows, columns]
    rows: Sequence[str]
    columns: Sequence[str] | str  # their names, or what they count
    low: float
    high: float
    scale: str = "signed"
    beside: Sequence[str] = ()  # a word to the right of each row


def draw_panels(panels: Sequence[Panel], title: str, story: str, stem: Path, *, width: float = 8.0) -> list[Path]:
    """One below the other, as `stem`.png and `stem`.svg."""
    heights = [max(0.35, len(panel.rows) * _row(len(panel.rows))) for panel in panels]
    named = [0.75 if not isinstance(panel.columns, str) else 0.0 for panel in panels]
    figure = make_figure(width, sum(heights) + sum(named) + _GAP * len(panels))
    top = 0.2
    for panel, height, below in zip(panels, heights, named, strict=True):
        axes = place(figure, 0, top, width, height)
        _draw(axes, panel)
        bar = place(figure, width + (0.55 if panel.beside else 0.12), top, 0.08, min(height, 1.2))
        _draw_scale(bar, panel)
        top += height + below + _GAP
    write_title(figure, title, story)
    return save_figure(figure, stem)


def _row(n: int) -> float:
    return max(_LEAST_ROW, min(_ROW, _TALLEST / n))


def _draw(axes: Any, panel: Panel) -> None:
    rows, columns = panel.values.shape
    colours = colour_map(make_scale(*LIGHT[panel.scale]))
    axes.imshow(
        panel.values,
        cmap=colours,
        vmin=panel.low,
        vmax=panel.high,
        aspect="auto",
        interpolation="nearest",
        extent=(0, columns, rows, 0),
    )
    quieten(axes)
    axes.spines[:].set_color(RULE)
    axes.set_title(panel.name, loc="left", fontsize=9, color=QUIET, pad=4)
    every = math.ceil(_LABEL / _row(rows))
    common = {"fontsize": 7.5, "color": INK, "parse_math": False}
    places = range(0, rows, every)
    names = [panel.rows[at] for at in places]
    axes.set_yticks([at + 0.5 for at in places], names, fontfamily=font_families(names), **common)
    if isinstance(panel.columns, str):
        axes.set_xlabel(panel.columns, fontsize=8)
    else:
        some = range(0, columns, math.ceil(columns / 50))
        names = [panel.columns[at] for at in some]
        turn = {"rotation": 50, "ha": "right", "va": "center", "rotation_mode": "anchor"}
        axes.set_xticks([at + 0.5 for at in some], names, fontfamily=font_families(names), **common, **turn)
    for at, word in enumerate(panel.beside):
        if at % every == 0:
            axes.text(columns, at + 0.5, f" {word}", va="center", fontsize=7.5, color=QUIET)


def _draw_scale(axes: Any, panel: Panel) -> None:
    steps = np.linspace(panel.high, panel.low, 128)[:, None]
    axes.imshow(steps, cmap=colour_map(make_scale(*LIGHT[panel.scale])), aspect="auto", extent=(0, 1, panel.low, panel.high))
    axes.set_xticks([])
    axes.set_yticks([panel.low, panel.high], [f"{panel.low:.2g}", f"{panel.high:.2g}"])
    axes.yaxis.tick_right()
    axes.tick_params(length=0, pad=2, labelsize=7, labelcolor=QUIET)
    axes.spines[:].set_visible(False)
