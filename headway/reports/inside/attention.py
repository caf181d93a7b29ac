"""Attention as pictures: one for each layer, in it a map for each head, with pieces as labels.

A row is a piece that asks, a column one that is asked; the darker, the more the row takes from it. H heads, T rows, S columns.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headway.family.reading import Reading
from headway.reports.colours import LIGHT, make_scale
from headway.reports.figures import INK, QUIET, RULE, colour_map, font_families, make_figure, place, save_figure

if TYPE_CHECKING:
    from headway.translator import Inside

Name = Literal["encoder", "decoder", "cross"]  # which colours a view has

GAMMA = 0.6  # of the colour scale: most weights of a long sentence are small, and would all look white

_CELL, _PANEL, _LEAST_CELL = 0.21, 9.0, 0.02  # inches: a cell, the panel from which on cells shrink, and the smallest cell
_GAP, _TITLE, _LABEL = 0.22, 0.3, 0.125  # inches: between panels, above each, and between two labels at least
_TILED = 48  # pieces up to which cells stand apart, as shapes; from there on they are an image


@dataclass(frozen=True)
class View:
    """One of the model's attentions, with the pieces that ask and those that are asked."""

    name: Name
    title: str
    story: str
    asking: list[str]
    asked: list[str]
    weights: np.ndarray  # [L, H, T, S]
    sides: tuple[str, str] = ("asked", "asking")  # what to call the pieces that are asked, and those that ask


def make_views(inside: "Inside | Reading") -> list[View]:
    """Three of a translation, one of a text that is only read."""
    return [_of_text(inside)] if isinstance(inside, Reading) else _of_translation(inside)


def _of_text(reading: Reading) -> View:
    if reading.forwards:
        story = "Each piece (row) gathers what it needs from itself and from those before it (columns); it cannot see ahead."
        return View("decoder", "Masked self-attention", story, reading.pieces, reading.pieces, reading.weights)
    story = "Each piece (row) gathers what it needs from all pieces (columns), before it and after it."
    return View("encoder", "Self-attention", story, reading.pieces, reading.pieces, reading.weights)


def _of_translation(inside: "Inside") -> list[View]:
    """A row of the decoder is named after what it writes: that is what it asks for."""
    source, read, written = inside.source, inside.read, inside.written
    encoder, decoder, cross = (
        "Each piece of the source (row) gathers what it needs from all pieces of the source (columns).",
        "To write its next piece (row), the decoder looks back at what it has read of the translation so far (columns).",
        "To write its next piece (row), the decoder looks at the pieces of the source (columns).",
    )
    return [
        View("encoder", "Encoder self-attention", encoder, source, source, inside.encoder, ("source", "source")),
        View("decoder", "Decoder self-attention", decoder, written, read, inside.decoder, ("read", "written")),
        View("cross", "Cross-attention", cross, written, source, inside.cross, ("source", "written")),
    ]


def draw_layer(view: View, layer: int, stem: Path) -> list[Path]:
    """Draw all heads of a layer (counted from 1) as `stem`.png and `stem`.svg."""
    weights = view.weights[layer - 1]
    n_heads, rows, columns = weights.shape
    cell = max(_LEAST_CELL, min(_CELL, _PANEL / max(rows, columns)))
    width, height = columns * cell, rows * cell
    across = _choose_columns(n_heads, width, height)
    down = math.ceil(n_heads / across)
    figure = make_figure(across * (width + _GAP), down * (height + _GAP + _TITLE))
    families = font_families([*view.asking, *view.asked])
    for head in range(n_heads):
        row, column = divmod(head, across)
        panel = place(figure, column * (width + _GAP), row * (height + _GAP + _TITLE) + _TITLE, width, height)
        _draw_map(panel, weights[head], view.name)
        panel.set_title(f"head {head + 1}", loc="left", fontsize=9, color=QUIET, pad=5)
        if column == 0:
            _label(panel.yaxis, view.asking, cell, families)
        if head + across >= n_heads:  # nothing stands below
            _label(panel.xaxis, view.asked, cell, families, rotation=50, ha="right", va="center", rotation_mode="anchor")
    _draw_scale(figure, across * (width + _GAP), _TITLE, view.name)
    tall = figure.get_size_inches()[1]
    figure.text(0, 1 + 0.28 / tall, f"{view.title}, layer {layer}", fontsize=13, fontweight="bold", color=INK, va="bottom")
    figure.text(0, 1 + 0.08 / tall, view.story, fontsize=8.5, color=QUIET, va="bottom")
    return save_figure(figure, stem)


def _choose_columns(n: int, width: float, height: float) -> int:
    """How many panels stand side by side: full rows, in a picture nearest to the shape of a page laid on its side."""
    full = [across for across in range(1, n + 1) if n % across == 0]
    return min(full, key=lambda across: abs(math.log(across * width / (n // across * height) / 1.5)))


def _draw_map(panel: Any, weights: np.ndarray, name: str) -> None:
    from matplotlib.colors import PowerNorm

    tiled = max(weights.shape) <= _TILED
    panel.pcolormesh(
        weights,
        cmap=colour_map(make_scale(*LIGHT[name])),
        norm=PowerNorm(GAMMA, 0, 1),
        edgecolors="white" if tiled else "none",
        linewidth=0.8 if tiled else 0,
        rasterized=not tiled,
    )
    panel.invert_yaxis()
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(not tiled)
    panel.spines[:].set_color(RULE)


def _label(axis: Any, pieces: list[str], cell: float, families: list[str], **turn: Any) -> None:
    """Name the pieces; where they stand too close, only each second, third, ..."""
    places = range(0, len(pieces), math.ceil(_LABEL / cell))
    names = [pieces[at] for at in places]
    axis.set_ticks([at + 0.5 for at in places], names, fontsize=8, color=INK, fontfamily=families, parse_math=False, **turn)
    axis.set_tick_params(length=0, pad=3)


def _draw_scale(figure: Any, left: float, top: float, name: str) -> None:
    panel = place(figure, left, top, 0.09, 1.5)
    weights = np.linspace(0, 1, 257) ** (1 / GAMMA)
    panel.pcolormesh(
        [0, 1], np.linspace(0, 1, 257), np.arange(256)[:, None], cmap=colour_map(make_scale(*LIGHT[name])), rasterized=True
    )
    marks = [0, 0.05, 0.2, 0.5, 1]
    panel.set_yticks(np.interp(marks, weights, np.linspace(0, 1, 257)), [f"{mark:g}" for mark in marks])
    panel.set_xticks([])
    panel.yaxis.tick_right()
    panel.tick_params(length=0, pad=3, labelsize=8, labelcolor=QUIET)
    panel.spines[:].set_visible(False)
    panel.set_title("weight", loc="left", fontsize=8, color=QUIET, pad=6)
