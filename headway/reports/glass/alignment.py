"""Source and translation side by side, joined by what the decoder looked at. T written, S source."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from headway.reports.figures import INK, QUIET, font_families, make_figure, place, save_figure, write_title

_PITCH, _LEAST = 0.3, 0.04  # inches between two pieces; a weight below this has no line
_COLOUR = "#b13a18"


def draw_alignment(source: Sequence[str], written: Sequence[str], weights: np.ndarray, layer: int, stem: Path) -> list[Path]:
    """weights [T, S]"""
    longest = max(len(source), len(written))
    figure = make_figure(5.5, longest * _PITCH)
    panel = place(figure, 0, 0, 5.5, longest * _PITCH)
    panel.set(xlim=(0, 5.5), ylim=(longest, 0))
    panel.axis("off")
    left, right = (np.arange(n) + 0.5 for n in (len(source), len(written)))
    left, right = left * longest / len(source), right * longest / len(written)
    along = np.linspace(0, 1, 24)
    bend = along * along * (3 - 2 * along)
    for row, column in zip(*np.nonzero(weights >= _LEAST), strict=True):
        weight, start, end = float(weights[row, column]), left[column], right[row]
        panel.plot(
            1.75 + 2 * along,
            start + (end - start) * bend,
            color=_COLOUR,
            alpha=0.1 + 0.9 * weight,
            linewidth=0.4 + 2.6 * weight,
        )
    common = {"va": "center", "fontsize": 9, "color": INK, "parse_math": False}
    for labels, places, x, side in ((source, left, 1.65, "right"), (written, right, 3.85, "left")):
        families = font_families(labels)
        for label, at in zip(labels, places, strict=True):
            panel.text(x, at, label, ha=side, fontfamily=families, **common)
    for name, x, side in (("source", 1.65, "right"), ("written", 3.85, "left")):
        panel.text(x, -0.35, name, ha=side, fontsize=8, color=QUIET)
    write_title(
        figure,
        "What each piece of the translation looks at",
        f"Cross-attention of decoder layer {layer}, mean of its heads; lines below {_LEAST} are left out.",
        gap=0.35,
    )
    return save_figure(figure, stem)
