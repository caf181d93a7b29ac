"""The beam's tree: a column for each step, those that lived on above those that were dropped."""

from pathlib import Path

from headway.glass.parts import Beam
from headway.reports.figures import INK, QUIET, RULE, font_families, make_figure, place, save_figure, write_title

MOST_NODES = 2_500  # that a page takes; from there on, without those that were dropped

_WIDE, _TALL = 1.05, 0.3  # inches of a step, and of a candidate
_WINNER, _ENDED = "#b13a18", "#1b6b50"


def lay_out(beam: Beam) -> list[tuple[int, int]]:
    """Column and row of each node, from 0: those that lived on or ended stand first, each in the order of its probability."""
    columns: dict[int, list[int]] = {}
    for at, node in enumerate(beam.nodes):
        columns.setdefault(node.step, []).append(at)
    rows = {}
    for some in columns.values():
        for row, at in enumerate(sorted(some, key=lambda at: (beam.nodes[at].fate == "pruned", at))):
            rows[at] = row
    return [(node.step - 1, rows[at]) for at, node in enumerate(beam.nodes)]


def draw_beam(beam: Beam, stem: Path) -> list[Path]:
    places = lay_out(beam)
    across, down = (1 + max(place[axis] for place in places) for axis in (0, 1))
    figure = make_figure(across * _WIDE, down * _TALL)
    panel = place(figure, 0, 0, across * _WIDE, down * _TALL)
    panel.set(xlim=(0, across), ylim=(down, 0))
    panel.axis("off")
    families = font_families([node.piece for node in beam.nodes])
    for node, (column, row) in zip(beam.nodes, places, strict=True):
        if node.parent >= 0:
            x, y = places[node.parent]
            colour, wide = (_WINNER, 1.8) if node.winner else (QUIET, 0.7) if node.fate != "pruned" else (RULE, 0.5)
            panel.plot([x + 0.72, column + 0.02], [y + 0.5, row + 0.5], color=colour, linewidth=wide, zorder=2 + node.winner)
        colour = _WINNER if node.winner else _ENDED if node.fate == "ended" else INK if node.fate == "kept" else "#a4adb6"
        weight = "bold" if node.winner else "normal"
        common = {"va": "center", "color": colour, "parse_math": False, "zorder": 4}
        panel.text(column + 0.04, row + 0.36, node.piece[:14], fontsize=7.5, fontweight=weight, fontfamily=families, **common)
        told = f"{node.log_probability:.2f}" if node.score is None else f"{node.log_probability:.2f} → {node.score:.3f}"
        panel.text(column + 0.04, row + 0.78, told, fontsize=5.5, **common)
    write_title(
        figure,
        f"The search: a beam of {beam.width}",
        "Each column is a step; below a piece, the log-probability of all so far, and of what ended its score. "
        "Red: the way to the translation. Pale: dropped.",
    )
    return save_figure(figure, stem)
