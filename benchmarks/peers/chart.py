"""The bar chart of a measurement: a panel a preset, with a scale of its own; a bar a side, the fastest on top."""

from pathlib import Path
from typing import Any

from headway.reports.figures import INK, QUIET, make_figure, place, quieten, save_figure, write_title

OURS, THEIRS = "#c8401f", "#a9b4be"
TITLES = {"headway": "Headway", "marian": "Marian", "joeynmt": "JoeyNMT"}  # where the name is not the title
BAR, WIDTH, NAMES, GAP = 0.36, 5.6, 1.9, 0.62  # inches


def draw_chart(result: dict[str, Any], stem: Path) -> None:
    """Write `stem`.png and `stem`.svg."""
    presets = {preset: sides for preset, sides in result["presets"].items() if sides}
    bars = sum(map(len, presets.values()))
    figure = make_figure(NAMES + WIDTH, BAR * bars + GAP * len(presets))
    top = 0.0
    for preset, sides in presets.items():
        height = BAR * len(sides)
        panel = place(figure, NAMES, top + 0.3, WIDTH, height)
        _draw_sides(panel, sides)
        shape = "{n_layers}+{n_layers} layers, d_model {d_model}, d_ff {d_ff}".format_map(result["models"][preset])
        panel.set_title(f"{preset}: {shape}", loc="left", fontsize=9.5, color=INK, x=-NAMES / WIDTH)
        top += height + GAP
    cores, processor = result["machine"]["cores"], result["machine"]["processor"]
    write_title(
        figure,
        "Training speed: target tokens a second",
        f"{cores} cores of {processor}; median of {result['rounds']} interleaved rounds, lines from the slowest to the fastest",
    )
    save_figure(figure, stem)


def _draw_sides(panel: Any, sides: dict[str, Any]) -> None:
    slowest_first = sorted(sides.items(), key=lambda item: item[1]["tokens_per_second"]["median"])
    for row, (name, side) in enumerate(slowest_first):
        speed, ours = side["tokens_per_second"], name == "headway"
        panel.barh(row, speed["median"], height=0.68, color=OURS if ours else THEIRS)
        panel.plot([speed["least"], speed["most"]], [row, row], color=INK, linewidth=1.1, solid_capstyle="butt")
        ratio = f"    Headway {side['ratio']['median']:.1f}×" if "ratio" in side else ""
        panel.annotate(
            f"{speed['median']:,}{ratio}",
            (speed["most"], row),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9.5,
            color=INK,
            fontweight="bold" if ours else "normal",
        )
    panel.set_yticks(range(len(sides)), [_title(name, side["version"]) for name, side in slowest_first])
    panel.set_ylim(-0.5, len(sides) - 0.5)
    panel.set_xlim(0, 1.45 * max(side["tokens_per_second"]["most"] for side in sides.values()))
    panel.set_xticks([])
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.spines["left"].set_color(QUIET)
    quieten(panel)
    panel.tick_params(axis="y", labelcolor=INK)


def _title(name: str, version: str) -> str:
    return f"{TITLES.get(name, name)} {version.partition('+')[0]}"  # 2.13.0+cpu is 2.13.0
