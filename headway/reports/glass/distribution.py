"""The distribution at each step as small charts of bars: the ten likeliest, and what was written."""

import math
from pathlib import Path
from typing import Any

from headway.glass.parts import Prediction, Predictions
from headway.reports.figures import INK, QUIET, font_families, make_figure, place, quieten, save_figure, write_title

_WIDTH, _HEIGHT, _GAP, _LABELS, _TITLE = 1.15, 1.5, 0.25, 0.95, 0.45  # inches
_ACROSS = 5
_BAR, _WRITTEN = "#b9c6d2", "#b13a18"


def draw_distributions(predictions: Predictions, stem: Path) -> list[Path]:
    across = min(_ACROSS, len(predictions.each))
    down = math.ceil(len(predictions.each) / across)
    wide, tall = _LABELS + _WIDTH + _GAP, _TITLE + _HEIGHT + _GAP
    figure = make_figure(max(across * wide, 4.0), down * tall)
    for at, one in enumerate(predictions.each):
        row, column = divmod(at, across)
        panel = place(figure, column * wide + _LABELS, row * tall + _TITLE, _WIDTH, _HEIGHT)
        _draw(panel, one, at + 1)
    write_title(
        figure,
        "What the model thinks comes next",
        f"The likeliest {predictions.names} of each step with their probabilities; in red what was written.",
    )
    return save_figure(figure, stem)


def _draw(panel: Any, one: Prediction, number: int) -> None:
    names = [name for name, _ in one.likeliest]
    shares = [share for _, share in one.likeliest]
    colours = [_WRITTEN if name == one.written else _BAR for name in names]
    places = range(len(names))
    panel.barh(places, shares, color=colours, height=0.75)
    panel.set(xlim=(0, 1), ylim=(9.6, -0.6), xticks=[0, 1])
    quieten(panel)
    panel.set_yticks(places, names, fontsize=7, color=INK, fontfamily=font_families(names), parse_math=False)
    panel.tick_params(axis="x", labelsize=6.5)
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    told = f"{number}. {one.written if one.written is not None else one.place}"
    panel.set_title(told, loc="left", fontsize=8.5, color=INK, pad=12, parse_math=False, fontfamily=font_families([told]))
    panel.text(0, 1.02, f"{one.entropy:.1f} bits", transform=panel.transAxes, fontsize=6.5, color=QUIET, va="bottom")
