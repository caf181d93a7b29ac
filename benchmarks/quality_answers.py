"""The answers of quality.py, as a table and as a picture: what each change gave or took, on each corpus."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from headway.reports.figures import INK, QUIET, make_figure, open_frame, place, save_figure, write_title

Answer = dict[str, Any]
Order = Callable[[Iterable[str]], list[str]]  # of changes
BASE = "base"
METRICS = ("bleu", "chrf")
BETTER, WORSE = "#1b7f5c", "#b3412f"
FEWEST = 3  # changes and base that a panel is worth drawing for
SIDE_BY_SIDE = {"multi30k": "a third of Multi30k", "multi30k-few": "a sixth", "twi": "everyday Twi"}  # equal computing
SHOWN = (-6.0, 4.5)  # points of the metric
ROW, WIDTH, GAP, LETTER = 0.24, 2.5, 0.35, 0.082  # inches


def read_answers(directory: Path) -> list[Answer]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*/*.json"))]


def make_table(answers: Sequence[Answer], order: Order) -> str:
    """A section a corpus, a row a change: means over seeds of scores, differences from base and their intervals' ends."""
    lines = ["# What each setting is worth", "", "By `python benchmarks/quality.py`.", "", "![As a picture](picture.png)"]
    for corpus, here in _by(answers, "corpus").items():
        base = here[0]
        lines += ["", f"## {corpus}", "", f"Base: `{base['settings']}`; {base['operations']:.3g} operations a model.", ""]
        lines += ["| change | seeds | updates | epochs | BLEU | against base | chrF | against base |", "| --- |" + " --- |" * 7]
        changes = _by(here, "change")
        lines += [_tell_row(changes[change]) for change in order(changes)]
    return "\n".join(lines) + "\n"


def make_overview(answers: Sequence[Answer], order: Order) -> str:
    """A row a change, a column a corpus, as docs/quality.md has it: BLEU and chrF of base, and what changes add to them."""
    corpora = {name: _by([one for one in answers if one["corpus"] == name], "change") for name in SIDE_BY_SIDE}
    lines = [f"| change | {' | '.join(SIDE_BY_SIDE.values())} |", "|---|" + "---|" * len(SIDE_BY_SIDE)]
    for change in order({change for changes in corpora.values() for change in changes}):
        cells = [_tell_cell(changes.get(change, [])) for changes in corpora.values()]
        lines.append(f"| `{change}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _tell_cell(seeds: Sequence[Answer]) -> str:
    told = []
    for metric in METRICS if seeds else ():
        apart, low, high = _compare(seeds, metric)
        if seeds[0]["change"] == BASE:
            told.append(f"{mean(one[metric] for one in seeds):.1f}")
        else:
            told.append(f"**{apart:+.1f}**" if low > 0 or high < 0 else f"{apart:+.1f}")
    return ", ".join(told) + (" ²" if len(seeds) == 2 else "")


def _by(answers: Sequence[Answer], key: str) -> dict[str, list[Answer]]:
    return {value: [one for one in answers if one[key] == value] for value in dict.fromkeys(one[key] for one in answers)}


def _tell_row(seeds: Sequence[Answer]) -> str:
    cells = [f"`{seeds[0]['change']}`", str(len(seeds)), f"{seeds[0]['updates']:,}", f"{seeds[0]['epochs']:.1f}"]
    for metric in METRICS:
        cells.append(f"{mean(one[metric] for one in seeds):.1f}")
        apart, low, high = _compare(seeds, metric)
        cells.append("" if seeds[0]["change"] == BASE else f"{apart:+.1f} [{low:+.1f}, {high:+.1f}]")
    return f"| {' | '.join(cells)} |"


def _compare(seeds: Sequence[Answer], metric: str) -> tuple[float, float, float]:
    """The difference from base and the ends of its interval, each the mean over seeds: all translate the same sentences,
    so that more seeds do not make the luck of sentences smaller.
    """
    apart = [one["differences"][metric] for one in seeds]
    low, high = (mean(interval[end] for _, interval in apart) for end in (0, 1))
    return mean(difference for difference, _ in apart), low, high


def draw_picture(answers: Sequence[Answer], order: Order, stem: Path, metric: str = "chrf") -> None:
    """A panel a corpus that was asked several questions, all on the same rows and scale."""
    corpora = {name: _by(here, "change") for name, here in _by(answers, "corpus").items()}
    corpora = {name: changes for name, changes in corpora.items() if len(changes) >= FEWEST}
    rows = [change for change in order({change for changes in corpora.values() for change in changes}) if change != BASE]
    names = LETTER * max(map(len, rows))
    figure = make_figure(names + len(corpora) * (WIDTH + GAP), ROW * len(rows))
    for number, (corpus, changes) in enumerate(corpora.items()):
        panel = place(figure, names + number * (WIDTH + GAP), 0.0, WIDTH, ROW * len(rows))
        for row, change in enumerate(rows):
            if seeds := changes.get(change):
                _draw_row(panel, row, seeds, metric)
        panel.axvline(0, color=INK, linewidth=0.8)
        panel.set_xlim(*SHOWN)
        panel.set_ylim(len(rows) - 0.5, -0.5)
        panel.set_yticks(range(len(rows)), rows if number == 0 else [""] * len(rows), fontsize=8)
        open_frame(panel, "both")
        panel.set_title(f"{corpus}, {changes[BASE][0]['epochs']:.0f} epochs", loc="left", fontsize=9.5, color=INK)
    write_title(
        figure,
        "What one change gives or takes, in chrF",
        "Against base at the same computing, on the validation part. A dot a seed; bars are 95 % over sentences. "
        "Grey: no clear difference.",
        gap=0.4,
    )
    save_figure(figure, stem)


def _draw_row(panel: Any, row: int, seeds: Sequence[Answer], metric: str) -> None:
    """A bar from end to end of the interval, and a dot for each seed; what is off the scale is told by an arrow."""
    apart, low, high = _compare(seeds, metric)
    colour = BETTER if low > 0 else WORSE if high < 0 else QUIET
    if apart < SHOWN[0]:
        panel.text(SHOWN[0], row, f" ◂ {apart:+.1f}", color=colour, fontsize=8, va="center")
        return
    panel.plot([low, high], [row, row], color=colour, linewidth=3, alpha=0.35, solid_capstyle="butt")
    panel.plot([one["differences"][metric][0] for one in seeds], [row] * len(seeds), "o", color=colour, markersize=3.5)
