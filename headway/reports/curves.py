"""The learning curve of a run, as a picture: is it still learning, has it begun to learn by heart, how good is it."""

import io
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from headway.atomic import write_file
from headway.errors import DataError, HeadwayError

_TRAIN, _VALID, _BLEU, _QUIET = "#7a8794", "#c8401f", "#1f6f8b", "#5b6570"
LARGEST = 1e300  # a number above it cannot be drawn, nor added to others

Record = dict[str, float]


def draw_learning_curve(metrics: Path, picture: Path) -> None:
    """Draw a run's `metrics.jsonl`: losses above, validation BLEU below (when there is any), over the updates."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise HeadwayError("Drawing the learning curve needs matplotlib.", "pip install headway[report]") from None

    records = read_metrics(metrics)
    if not records:
        raise DataError(f"{metrics} holds no report yet.", "Let the run come to its first report, then draw again.")
    has_bleu = len(_column(records, "valid_bleu")[0]) > 0

    figure = Figure(figsize=(8, 6.4 if has_bleu else 4.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)  # draws without a screen, and without pyplot's global state
    panels = figure.subplots(2 if has_bleu else 1, 1, sharex=True, squeeze=False, height_ratios=[3, 2] if has_bleu else [1])[
        :, 0
    ]
    _draw_losses(panels[0], records)
    if has_bleu:
        _draw_bleu(panels[1], records)
    for panel in panels:
        _tidy(panel)
    panels[-1].set_xlim(0, records[-1]["step"] * 1.02)
    panels[-1].set_xlabel("update")
    panels[-1].xaxis.set_major_formatter("{x:,.0f}")
    _add_minutes(panels[0], records)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    write_file(picture, buffer.getvalue())


def read_metrics(path: Path) -> list[Record]:
    """The reports of a run, in order. A line that was torn by a kill is passed over, and a figure that is no finite number;
    so is what a resumed run did again."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise DataError(f"The metrics {path} cannot be read: {error.strerror}.", "Is it the directory of a run?") from None
    records: list[Record] = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        record = {name: value for name, value in record.items() if _is_number(value)} if isinstance(record, dict) else {}
        if record.get("step", -1) < 0:
            continue
        while records and records[-1]["step"] > record["step"]:
            records.pop()
        if records and records[-1]["step"] == record["step"]:
            records[-1].update(record)
        else:
            records.append(record)
    return records


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < LARGEST  # which nan is not, either


def _column(records: Sequence[Record], name: str) -> tuple[np.ndarray, np.ndarray]:
    """The steps at which a figure was reported, and the figure."""
    found = [(record["step"], record[name]) for record in records if name in record]
    steps, values = np.array(found, dtype=float).reshape(-1, 2).T
    return steps, values


def _smooth(values: np.ndarray) -> np.ndarray:
    """A centred mean over about a fortieth of the run; at both ends over what there is of it."""
    if len(values) == 0:
        return values
    window = np.ones(len(values) // 80 * 2 + 1)
    return np.convolve(values, window, "same") / np.convolve(np.ones_like(values), window, "same")


def _draw_losses(panel: Any, records: Sequence[Record]) -> None:
    steps, loss = _column(records, "loss")
    panel.plot(steps, loss, color=_TRAIN, alpha=0.3, linewidth=0.8)
    panel.plot(steps, _smooth(loss), color=_TRAIN, linewidth=1.8, label="training (dropout on, labels smoothed)")
    valid_steps, valid_loss = _column(records, "valid_loss")
    if len(valid_steps):
        panel.plot(valid_steps, valid_loss, color=_VALID, linewidth=1.8, marker="o", markersize=3.5, label="validation")
        _mark(panel, valid_steps, valid_loss, int(valid_loss.argmin()), "{:.3f}", _VALID, above=False)
        bottom, top = panel.get_ylim()
        panel.set_ylim(bottom=bottom - 0.08 * (top - bottom))  # room for the label of the lowest point
    panel.set_ylabel("loss per token")
    panel.legend(frameon=False, loc="upper right")


def _draw_bleu(panel: Any, records: Sequence[Record]) -> None:
    steps, bleu = _column(records, "valid_bleu")
    panel.plot(steps, bleu, color=_BLEU, linewidth=1.8, marker="o", markersize=3.5)
    _mark(panel, steps, bleu, int(bleu.argmax()), "{:.1f}", _BLEU, above=True)
    panel.set_ylabel("validation BLEU")
    panel.set_ylim(bottom=0, top=max(1.0, bleu.max() * 1.2))


def _mark(panel: Any, steps: np.ndarray, values: np.ndarray, best: int, form: str, color: str, *, above: bool) -> None:
    """A ring around the best value, and the value beside it, on the side where the line is not."""
    x, y = steps[best], values[best]
    panel.plot([x], [y], marker="o", markersize=9, markerfacecolor="none", markeredgecolor=color, markeredgewidth=1.6)
    panel.annotate(
        f"best {form.format(y)}",
        (x, y),
        xytext=(0, 10 if above else -10),
        textcoords="offset points",
        ha="right" if x > 0.8 * steps[-1] else "center",
        va="bottom" if above else "top",
        color=color,
        fontweight="bold",
    )


def _tidy(panel: Any) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", color="#e4e8ec", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.tick_params(colors=_QUIET)


def _add_minutes(panel: Any, records: Sequence[Record]) -> None:
    """A second axis on top with the time it took; left out where the reports do not tell a rising time."""
    steps, seconds = _column(records, "seconds")
    if len(steps) < 2 or (np.diff(seconds) <= 0).any():
        return
    steps = np.concatenate([[0.0], steps, [2 * steps[-1]]])  # the axis goes on a little after the last report
    minutes = np.concatenate([[0.0], seconds, [2 * seconds[-1]]]) / 60
    forth = partial(np.interp, xp=steps, fp=minutes)
    back = partial(np.interp, xp=minutes, fp=steps)
    top = panel.secondary_xaxis("top", functions=(forth, back))
    top.set_xlabel("minutes", color=_QUIET)
    top.tick_params(colors=_QUIET)
    top.spines["top"].set_visible(False)
