"""Section 3.5 as two pictures: the position table, row by row a slower wave, and how like each other positions are.

The paper's table is a tone and ever deeper ones: dimension 2i swings with a wave of 2 pi 10000^(2i / d_model) positions. The
product of two rows depends on their distance alone and is highest near by, so attention can learn "the word before".
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from headway.reports.colours import LIGHT, make_scale
from headway.reports.figures import QUIET, RULE, colour_map, make_figure, place, quieten, save_figure, write_title

_WAVES = 9  # dimensions drawn one by one
_SHOWN = (0.1, 0.35, 0.65, 0.9)  # positions whose neighbours are shown, as shares of the table


def draw_table(table: np.ndarray, stem: Path) -> list[Path]:
    """Some dimensions as waves, and the whole table below them: `stem`.png and `stem`.svg. table [positions, d_model]"""
    figure = make_figure(8, 6.5)
    waves = place(figure, 0, 0, 8, 3)
    _draw_waves(waves, table)
    if is_sinusoidal(table):
        parts = {"sines\n(even dimensions)": table[:, ::2], "cosines\n(odd dimensions)": table[:, 1::2]}
    else:
        parts = {"dimension": table}
    height, highest = 3.4 / len(parts), float(np.abs(table).max())
    for row, (name, part) in enumerate(parts.items()):
        panel = place(figure, 0, 3.1 + row * height, 8, height - 0.06)
        _draw_image(panel, part.T, "signed", low=-highest, high=highest, bottom=table.shape[1])
        panel.set_ylabel(name)
        panel.set_yticks([tick for tick in panel.get_yticks() if 0 <= tick < 0.9 * table.shape[1]])  # not into the next panel
        if row < len(parts) - 1:
            panel.set_xticks([])
    panel.set_xlabel("position")
    waves.set_xlim(panel.get_xlim())
    write_title(
        figure,
        "What tells positions apart: the position table",
        "Each position gets a chord of its own: a column of numbers, read off all waves. Red is above zero, blue below.",
    )
    return save_figure(figure, stem)


def draw_products(table: np.ndarray, stem: Path) -> list[Path]:
    """The dot product of each position with each, as a map and, for some of them, as curves. table [positions, d_model]"""
    products = compare(table)
    figure = make_figure(10.1, 4)
    panel = place(figure, 0, 0, 4, 4)
    _draw_image(panel, products, "cross", low=float(products.min()), high=1.0, bottom=len(table))
    panel.set(xlabel="position", ylabel="position")
    curves = place(figure, 4.8, 0, 5.3, 4)
    shown = sorted({int(share * (len(table) - 1)) for share in _SHOWN})
    colours = make_scale(*LIGHT["cross"][1:])
    for at, position in enumerate(shown):
        colour = colours[at * 255 // len(shown)]
        curves.plot(products[position], color=colour, linewidth=1.8)
        curves.annotate(
            str(position), (position, 1), (0, 4), textcoords="offset points", ha="center", color=colour, fontweight="bold"
        )
    curves.set(xlabel="position", ylabel="dot product, both of length one", xlim=(0, max(1, len(table) - 1)))
    curves.set_ylim(top=1 + 0.1 * (1 - products.min()))
    curves.set_yticks([tick for tick in curves.get_yticks() if curves.get_ylim()[0] <= tick <= 1])
    curves.grid(axis="y", color=RULE, linewidth=0.6)
    _tidy(curves)
    curves.spines[["top", "right"]].set_visible(False)
    write_title(
        figure,
        "How like each other positions are: their dot products",
        "Left: each position with each, the darker the more alike. Right: some of these rows; each is highest at itself.",
    )
    return save_figure(figure, stem)


def compare(table: np.ndarray) -> np.ndarray:
    """Dot products of all pairs of rows, each scaled to length one: [positions, positions]. A row of zeros is like none."""
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    rows = table / np.where(lengths > 0, lengths, 1)
    return rows @ rows.T


def choose_waves(table: np.ndarray) -> list[int]:
    """Dimensions worth drawing one by one: even ones, of a sinusoidal table those that swing within it."""
    positions, d_model = table.shape
    last = d_model - 1
    if is_sinusoidal(table):
        last = min(last, int(d_model * math.log(positions / math.pi) / math.log(10_000)))
    return sorted({2 * round(at / 2) for at in np.linspace(0, max(0, last - 1), _WAVES)})


def is_sinusoidal(table: np.ndarray) -> bool:
    positions, d_model = table.shape
    waves = 2 * np.pi / wavelengths(d_model)[::2]
    return bool(np.allclose(table[:, ::2], np.sin(np.arange(positions)[:, None] * waves), atol=1e-4))


def wavelengths(d_model: int) -> np.ndarray:
    """Positions that each dimension of the paper's table takes for a whole wave: [d_model]"""
    return 2 * np.pi * 10_000 ** (np.arange(d_model) // 2 * 2 / d_model)


def _draw_waves(panel: Any, table: np.ndarray) -> None:
    chosen = choose_waves(table)
    colours = make_scale(*LIGHT["encoder"][1:])
    places = np.arange(len(table)) + 0.5  # the middle of a column of the table below
    height = float(np.abs(table[:, chosen]).max()) or 1.0
    for row, dimension in enumerate(chosen):
        colour = colours[-1 - row * 200 // len(chosen)]
        wave = 0.42 * table[:, dimension] / height - row
        panel.fill_between(places, -row, wave, color=colour, alpha=0.13, linewidth=0)
        panel.plot(places, wave, color=colour, linewidth=1.2, marker=".", markersize=3)
    panel.set_yticks([-row for row in range(len(chosen))], [str(dimension) for dimension in chosen])
    panel.set(ylabel="some dimensions", xticks=[], ylim=(0.55 - len(chosen), 0.55))
    _tidy(panel)
    panel.spines[:].set_visible(False)
    if is_sinusoidal(table):
        for row, length in enumerate(wavelengths(table.shape[1])[chosen]):
            text = f"{length:,.0f}" if row else f"{length:,.0f} positions\na wave"
            panel.text(1.01, -row, text, transform=panel.get_yaxis_transform(), va="center", color=QUIET, fontsize=9)


def _draw_image(panel: Any, values: np.ndarray, scale: str, *, low: float, high: float, bottom: int) -> None:
    """An image whose columns are positions and whose rows are spread over an axis from 0 to `bottom`."""
    colours = colour_map(make_scale(*LIGHT[scale]))
    extent = (0, values.shape[1], bottom, 0)
    panel.imshow(values, cmap=colours, vmin=low, vmax=high, aspect="auto", interpolation="nearest", extent=extent)
    _tidy(panel)


def _tidy(panel: Any) -> None:
    quieten(panel)
    panel.spines[:].set_color(RULE)
