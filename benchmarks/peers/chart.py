"""What the sides of a measurement are called, and its bar chart: panels, each with a scale of its own, the fastest on top."""

from pathlib import Path
from typing import Any

from headway.reports.figures import INK, QUIET, make_figure, place, quieten, save_figure, write_title

OURS, THEIRS = "#c8401f", "#a9b4be"
BAR, WIDTH, GAP = 0.36, 5.6, 0.62  # inches
LETTER = 0.085  # inches of a side's name, a letter
TITLES = {  # of sides that results know by another name
    "headway": "Headway",
    "headway-torch": "Headway on torch",
    "marian": "Marian",
    "joeynmt": "JoeyNMT",
    "best-layout": "CTranslate2 alone, best layout",
    "default-layout": "CTranslate2, its default",
    "huggingface": "Hugging Face generate",
    "sacrebleu": "sacreBLEU",
}


def name_side(name: str) -> str:
    """As a person reads it: `best-layout int8` is CTranslate2 alone, best layout, int8."""
    which, _, kind = name.partition(" ")
    title = TITLES.get(which)
    return name if title is None else f"{title}, {kind}" if kind else title


def draw_chart(panels: dict[str, dict[str, Any]], title: str, subtitle: str, stem: Path) -> None:
    """Write `stem`.png and `stem`.svg. A panel is a title and its sides by name; a side has its `tokens_per_second`, whether it
    is `ours`, and perhaps a `note` beside its figure.
    """
    bars = sum(map(len, panels.values()))
    names = LETTER * max(len(name) for sides in panels.values() for name in sides)
    figure = make_figure(names + WIDTH, BAR * bars + GAP * len(panels))
    top = 0.0
    for heading, sides in panels.items():
        height = BAR * len(sides)
        panel = place(figure, names, top + 0.3, WIDTH, height)
        _draw_sides(panel, sides)
        panel.set_title(heading, loc="left", fontsize=9.5, color=INK, x=-names / WIDTH)
        top += height + GAP
    write_title(figure, title, subtitle)
    save_figure(figure, stem)


def _draw_sides(panel: Any, sides: dict[str, Any]) -> None:
    slowest_first = sorted(sides.items(), key=lambda item: item[1]["tokens_per_second"]["median"])
    for row, (_, side) in enumerate(slowest_first):
        speed, ours = side["tokens_per_second"], side["ours"]
        panel.barh(row, speed["median"], height=0.68, color=OURS if ours else THEIRS)
        panel.plot([speed["least"], speed["most"]], [row, row], color=INK, linewidth=1.1, solid_capstyle="butt")
        note = f"    {side['note']}" if side.get("note") else ""
        panel.annotate(
            f"{speed['median']:,}{note}",
            (speed["most"], row),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9.5,
            color=INK,
            fontweight="bold" if ours else "normal",
        )
    panel.set_yticks(range(len(sides)), [name for name, _ in slowest_first])
    panel.set_ylim(-0.5, len(sides) - 0.5)
    panel.set_xlim(0, 1.45 * max(side["tokens_per_second"]["most"] for side in sides.values()))
    panel.set_xticks([])
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.spines["left"].set_color(QUIET)
    quieten(panel)
    panel.tick_params(axis="y", labelcolor=INK)
