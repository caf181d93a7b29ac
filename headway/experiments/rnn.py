"""The Transformer against an attention RNN and a convolutional model: one corpus, the same pieces, parameters and minutes.

The rivals stand in `benchmarks/rivals`, as good as they could be made; each is trained by a command of its own.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from headway.errors import HeadwayError, RequestError
from headway.evaluation.breakdowns.lengths import choose_edges
from headway.experiments.by_length import judge_by_length
from headway.experiments.comparing import gather, tabulate, tell_winners
from headway.experiments.experiment import Findings, Request, read_json
from headway.experiments.variants import (
    Record,
    Trained,
    Variant,
    choose_rows,
    compare,
    find_run,
    promise_training,
    train_variant,
    vary,
)
from headway.progress import Display
from headway.reports.curves import read_metrics
from headway.reports.figures import INK, QUIET, make_figure, open_frame, place, save_figure, write_title

CLAIM = "Sections 1, 4 and 6: attention alone is better than recurrence, in less time, and joins distant words in one step."
TRANSFORMER, RECURRENT, CONVOLUTIONAL = Variant("Transformer"), Variant("recurrent"), Variant("convolutional")
TAKES = ("train", "rows")
VARIANTS = [TRANSFORMER, RECURRENT, CONVOLUTIONAL]
COLOURS = {"Transformer": "#b13a18", "recurrent": "#1f5f99", "convolutional": "#1b6b50"}
RIVALS = Path(__file__).parent.parent.parent / "benchmarks" / "rivals"
TESTING = 60.0  # seconds: a rival's start, and its test


@dataclass(frozen=True)
class Side:
    """A trained model, with its way there: validation BLEU at each minute, and how far gradient reaches in its encoder."""

    trained: Trained
    curve: list[tuple[float, float]]
    tokens_per_second: float
    reach: dict[str, Any]


def check(request: Request) -> None:
    if not RIVALS.exists():
        raise RequestError(
            "The models that the Transformer is measured against are not part of the installed package.",
            "Run this experiment from a clone of the repository, installed with pip install -e .",
        )
    if not request.settings.training.max_minutes:
        raise RequestError("The sides of this experiment have the same minutes.", "Give --max-minutes instead.")
    if request.settings.training.optimizer == "muon":
        raise RequestError("All sides of this experiment learn with Adam.", "Leave out --optimizer.")
    choose_rows(request, VARIANTS)


def promise(request: Request, display: Display) -> float:
    rivals = sum(not (_place(request, one) / "result.json").exists() for one in choose_rows(request, VARIANTS)[1:])
    minutes = request.settings.training.max_minutes
    assert minutes
    return promise_training(request, [TRANSFORMER], display) + rivals * (60 * minutes + TESTING)


def run(request: Request, display: Display) -> Findings:
    variants = choose_rows(request, VARIANTS)
    sides = []
    for number, variant in enumerate(variants, start=1):
        display.say(f"\n[{number}/{len(variants)}] {variant.name}")
        sides.append(
            _train_transformer(request, display) if variant is TRANSFORMER else _train_rival(request, variant, display)
        )
    trained = [side.trained for side in sides]
    figures = gather(trained, compare(trained, display))
    references = trained[0].first.references
    lengths = [len(text.split()) for text in references]
    ends = [edge - 1 for edge in choose_edges(np.array(lengths))] or [max(lengths)]
    buckets = judge_by_length([one.as_system() for one in trained], references, lengths, ends)
    for at, (side, one) in enumerate(zip(sides, figures, strict=True)):
        one |= {"tokens_per_second": side.tokens_per_second, "reach": side.reach["relative"]}
        one |= {"by_length": [bucket.describe(at) for bucket in buckets]}
        one |= {"curve": [{"minutes": round(x, 2), "valid_bleu": y} for x, y in side.curve]}
    columns, rows = tabulate(figures)
    columns, rows = (
        [*columns, "tokens/s"],
        [[*row, f"{one['tokens_per_second']:,.0f}"] for row, one in zip(rows, figures, strict=True)],
    )
    story = [*tell_winners(figures), *(_tell_lead(sides[0], other) for other in sides[1:])]
    return Findings(columns, rows, figures, story, _draw(figures, request.out / "rnn"))


def _place(request: Request, variant: Variant) -> Path:
    return request.out / variant.name


def _find_transformer(request: Request) -> Path:
    return find_run(request, vary(request.settings, TRANSFORMER, seed=request.settings.training.seed))


def _train_transformer(request: Request, display: Display) -> Side:
    record = train_variant(request, TRANSFORMER, request.settings.training.seed, display)
    run, reach = _find_transformer(request), request.out / "transformer-gradients.json"
    _call("gradients.py", "--bundle", run / "best", "--data", run / "data", "--out", reach)
    speed = median(one["tokens_per_second"] for one in read_metrics(run / "metrics.jsonl"))
    return Side(Trained(TRANSFORMER, [record]), _read_curve(run), round(speed, 1), read_json(reach))


def _train_rival(request: Request, variant: Variant, display: Display) -> Side:
    out = _place(request, variant)
    display.close()
    _call("train.py", "--model", variant.name, "--data", _find_transformer(request), "--out", out)
    result = read_json(out / "result.json")
    tested = [json.loads(line) for line in (out / "test.jsonl").read_text(encoding="utf-8").split("\n") if line]
    record = Record(
        seed=request.settings.training.seed,
        parameters=result["parameters"],
        updates=result["updates"],
        seconds=result["seconds"],
        perplexity=float(np.exp(result["valid"]["valid_loss"])),
        sources=[one["source"] for one in tested],
        references=[one["reference"] for one in tested],
        translations=[one["translation"] for one in tested],
    )
    reach = read_json(out / "gradients.json")
    return Side(Trained(variant, [record]), _read_curve(out), result["tokens_per_second"], reach)


def _call(script: str, *words: object) -> None:
    """A rival's command; what it says goes to standard error."""
    done = subprocess.run([sys.executable, RIVALS / script, *map(str, words)], stdout=sys.stderr, check=False)
    if done.returncode:
        raise HeadwayError(
            f"benchmarks/rivals/{script} failed.", "What it said stands above; the same command goes on from here."
        )


def _read_curve(directory: Path) -> list[tuple[float, float]]:
    reports = read_metrics(directory / "metrics.jsonl")
    return [(one["seconds"] / 60, one["valid_bleu"]) for one in reports if "valid_bleu" in one]


def _tell_lead(transformer: Side, other: Side) -> str:
    """From which minute on the Transformer stays ahead on validation, or that it does not."""
    minutes = sorted({x for side in (transformer, other) for x, _ in side.curve})
    ours, theirs = (_follow(side.curve, minutes) for side in (transformer, other))
    behind = [minute for minute, one, two in zip(minutes, ours, theirs, strict=True) if one <= two]
    name = other.trained.variant.name
    if not behind:
        return f"On validation, the Transformer is ahead of the {name} model at every point."
    later = [minute for minute in minutes if minute > behind[-1]]
    if not later:
        return f"On validation, the {name} model is ahead of the Transformer at the end."
    return f"On validation, the Transformer is ahead of the {name} model for good from minute {later[0]:.1f} on."


def _follow(curve: Sequence[tuple[float, float]], minutes: Sequence[float]) -> list[float]:
    """BLEU at each of the minutes, on straight lines between validations; it begins with nothing."""
    known, values = [0.0, *(minute for minute, _ in curve)], [0.0, *(value for _, value in curve)]
    return [float(value) for value in np.interp(minutes, known, values)]


def _draw(figures: Sequence[dict[str, Any]], stem: Path) -> list[Path]:
    """BLEU over time, BLEU by length, and how far gradient reaches."""
    figure = make_figure(12.6, 3.5)
    time, length, reach = (place(figure, left, 0.3, 3.2, 2.6) for left in (0.5, 4.7, 8.9))
    words = [bucket["words"] for bucket in figures[0]["by_length"]]
    for one in figures:
        colour, name = COLOURS[one["model"]], one["model"]
        xs, ys = zip(*((point["minutes"], point["valid_bleu"]) for point in one["curve"]), strict=True)
        time.plot([0, *xs], [0, *ys], "o-", color=colour, linewidth=1.7, markersize=3.5, label=name)
        length.plot(words, [bucket["bleu"] for bucket in one["by_length"]], "o-", color=colour, linewidth=1.7, markersize=5)
        for at, bucket in enumerate(one["by_length"]):
            if bucket["interval"]:
                length.plot([at, at], bucket["interval"], color=colour, linewidth=1.4, alpha=0.4, solid_capstyle="round")
        reach.plot(range(len(one["reach"])), one["reach"], color=colour, linewidth=1.7)
    titles = (
        "validation BLEU over minutes of training",
        "test BLEU by words of the reference",
        "gradient that reaches so many places away",
    )
    for panel, title in zip((time, length, reach), titles, strict=True):
        panel.set_title(title, loc="left", fontsize=10, color=INK)
        open_frame(panel)
    time.set_xlabel("minutes", fontsize=9)
    time.legend(frameon=False, fontsize=9, loc="lower right", labelcolor=INK)
    length.set_ylim(bottom=0)
    length.set_xlabel("words", fontsize=9)
    reach.set_yscale("log")
    reach.set_xlabel("distance in the encoder, pieces; 1 at distance 0", fontsize=9)
    for panel in (time, length, reach):
        panel.xaxis.label.set_color(QUIET)
    write_title(
        figure,
        "The Transformer and its rivals",
        "The same corpus, pieces, parameters and minutes; greedy on validation, beam 5 on the test part.",
    )
    return save_figure(figure, stem)
