"""`report.html`: one run on one page. How good, how it learned, what it read, what it is, how fast, and how to go on."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.amounts import amount
from headway.architectures import Architecture
from headway.atomic import write_file
from headway.config import Settings, fields
from headway.data.facts import Facts
from headway.directions import tell_option
from headway.evaluation.evaluation import Evaluation
from headway.progress import duration
from headway.reports.charts import Curve, Plot, make_plot, tell
from headway.reports.evaluation.page import show, tell_interval
from headway.reports.page import render
from headway.reports.runs.record import RunRecord

FIGURES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER", "accuracy": "accuracy", "loss": "loss"}
# Settings without a default that nobody chooses for the user.
GIVEN = {"valid", "test", "held_out", "image_size", "init", "max_steps", "max_epochs", "max_minutes"}
TASKS = {
    "translate": "A translator",
    "denoise": "A model that mends text",
    "span": "A model that mends text",
    "lm": "A model that goes on with text",
    "mlm": "A model that fills gaps",
    "classify": "A model that tells classes",
}


def write_run_page(run: RunRecord, evaluation: Evaluation | None, path: Path | None = None) -> Path:
    """The page of a run and of the evaluation of its test part, in its own directory if nothing else is said."""
    path = path or run.directory / "report.html"
    write_file(path, render_run(run, evaluation))
    return path


def render_run(run: RunRecord, evaluation: Evaluation | None) -> str:
    data = run.settings.data
    languages = f"{data.source_language} → {data.target_language}" if data.task == "translate" else ""
    return render(
        "runs/run.html",
        name=run.name,
        eyebrow=" · ".join(part for part in (TASKS[run.task], languages) if part),
        missing=run.missing,
        tiles=_tiles(run, evaluation),
        shown=[show(evaluation)] if evaluation else [],
        valid=tell_figures(run.valid),
        plots=draw_curves(run),
        facts=run.facts,
        losses=_count_losses(run.facts) if run.facts else [],
        data=run.manifest.provenance.data if run.manifest else {},
        shape=describe_shape(run),
        measured=run.manifest.ctranslate2 if run.manifest else None,
        speed=_tell_speed(run),
        unusual=tell_settings(run.settings, unusual=True),
        chosen=tell_settings(run.settings, unusual=False),
        yaml=run.settings.to_yaml(),
        commands=_commands(run),
    )


def tell_figures(figures: dict[str, float]) -> list[tuple[str, str]]:
    """As a person reads them, in the usual order."""
    return [(title, tell_figure(name, figures[name])) for name, title in FIGURES.items() if name in figures]


def tell_figure(name: str, value: float) -> str:
    return f"{value:.3f}" if name == "loss" else f"{value:.2f} %" if name == "accuracy" else f"{value:.2f}"


def _tiles(run: RunRecord, evaluation: Evaluation | None) -> list[tuple[str, str, str]]:
    """What is asked first: (what, figure, more)."""
    tiles = []
    if evaluation:
        for name, score in evaluation.results[0].scores[0].named():
            more = tell_interval(score.interval, digits=1) if score.interval else ""
            tiles.append((f"test {name}", f"{score.score:.1f}", more))
    else:
        tiles += [(f"test {title}", figure, "") for title, figure in tell_figures(run.test)]
    if run.parameters:
        tiles.append(("parameters", tell_count(run.parameters), ""))
    if run.seconds is not None:
        tiles.append(("training", duration(run.seconds), amount(run.steps, "update")))
    if run.tokens_per_second:
        more = f"{run.mfu:.0%} of the machine’s peak" if run.mfu else ""
        tiles.append(("tokens a second", tell_count(run.tokens_per_second), more))
    return tiles


def tell_count(number: float) -> str:
    return f"{number / 1e6:.1f} M" if number >= 1e6 else f"{number:,.0f}"


def draw_curves(run: RunRecord) -> list[Plot]:
    """Losses, what validation found, the learning rate, the speed."""
    in_minutes = [(seconds / 60, speed) for seconds, speed in run.points("tokens_per_second", over="seconds")]
    losses = [
        Curve(
            f"training (dropout on{', labels smoothed' if run.settings.training.label_smoothing else ''})",
            6,
            run.points("loss"),
        ),
        Curve("validation", 1, run.points("valid_loss"), dots=True),
    ]
    figures = [
        make_plot(f"Validation {FIGURES[name]}", "updates", [Curve(name, 0, points, dots=True)], note=_tell_best(points))
        for name in ("bleu", "chrf", "accuracy")
        if (points := run.points(f"valid_{name}"))
    ]
    plots = [
        make_plot("Loss", "updates", losses, note=_tell_best(run.points("valid_loss"), lowest=True)),
        *figures,
        make_plot("Learning rate", "updates", [Curve("learning rate", 2, run.points("learning_rate"))], zero=True),
        make_plot("Tokens a second", "minutes", [Curve("tokens a second", 3, in_minutes)], zero=True),
    ]
    return [plot for plot in plots if plot]


def _tell_best(points: Sequence[tuple[float, float]], *, lowest: bool = False) -> str:
    if not points:
        return ""
    step, value = (min if lowest else max)(points, key=lambda point: point[1])
    return f"best {value:.4g} at update {step:,.0f}"


def _count_losses(facts: Facts) -> list[tuple[str, int, float]]:
    """Where the examples that were read went, and what was made of them: (where, how many, share of those read in percent)."""
    cut = (0 if facts.valid_given else facts.valid_pairs) + (0 if facts.test_given else facts.test_pairs)
    counted = [
        ("kept for training", facts.pairs_kept),
        ("made of those, with other names", facts.renamed),
        ("held out for validation and test", cut),
        ("left out: they repeat a sentence that is held out", facts.leaking),
        ("dropped: blank", facts.dropped["blank"]),
        (f"dropped: over {facts.max_length:,} pieces", facts.dropped["long"]),
        (f"dropped: one side over {facts.max_ratio:g} times as long as the other", facts.dropped["ratio"]),
    ]
    of, pairs = max(1, facts.pairs_read), facts.noun == "pair"
    told = [(where, count) for where, count in counted if count or (pairs and where.startswith("dropped"))]
    return [(where, count, round(100 * count / of, 2)) for where, count in told]


def describe_shape(run: RunRecord) -> list[tuple[str, str]]:
    """The architecture, each field as it is named in the paper or in headway.json."""
    if not run.manifest:
        return []
    a = run.manifest.architecture
    count = {"parameters": run.parameters} if run.parameters else {}
    return [(name, tell_value(value)) for name, value in ({"kind": a.kind} | count | vars(a)).items()]


def tell_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if value is None:
        return "not set"
    return f"{value:,}" if isinstance(value, int) else tell(value) if isinstance(value, float) else str(value)


def _tell_speed(run: RunRecord) -> list[tuple[str, str]]:
    told = [("updates", f"{run.steps:,}")]
    if run.records:
        last = run.records[-1]
        told.append(("passes over the corpus", f"{last.get('epoch', 0):,.0f} complete"))
        if "tokens" in last:
            told.append(("target tokens read", f"{last['tokens']:,.0f}"))
    if run.seconds is not None:
        told.append(("time", duration(run.seconds)))
    if run.tokens_per_second:
        told.append(("tokens a second", f"{run.tokens_per_second:,.0f}, the median of the reports"))
    if run.mfu:
        told.append(("share of the machine’s peak", f"{run.mfu:.1%}, of the fastest matrix product measured there"))
    return told


def tell_settings(settings: Settings, *, unusual: bool) -> list[tuple[str, str, str]]:
    """(name, value, meaning) of those that are not as they are by default; or of those that have no fixed default, and were
    chosen from the corpus or given."""
    told = []
    values = settings.model_dump(by_alias=True)
    for section, name, field in fields():
        value, default = values[section][name], field.get_default(call_default_factory=True)
        given = name in GIVEN if default in (None, "auto") else True
        if value is not None and value != default and given == unusual:
            told.append((f"{section}.{name}", tell_value(value), field.description or ""))
    return told


def _commands(run: RunRecord) -> list[tuple[str, str]]:
    """(what for, command), to go on with."""
    model, directory = (shlex.quote(str(path)) for path in (run.directory / "best", run.directory))
    if run.manifest is None:
        return []
    if run.task == "translate":
        source = run.settings.data.source_language.split(",")[0] or "txt"
        chosen = tell_option(run.manifest.directions)
        commands = [
            ("Translate a file", f"headway translate {model}{chosen} < text.{source}"),
            ("See where it looks", f"headway inspect {model}{chosen} 'Some text.'"),
            ("Compare it with another run", f"headway report {directory} OTHER"),
        ]
        if isinstance(run.manifest.architecture, Architecture):
            commands.append(("Take it elsewhere", f"headway export {model} --to ctranslate2 --output DIRECTORY"))
        return commands
    teach = f"headway train --init {model} --train data/train --from en --to de --out runs/en-de"
    others = {
        "lm": [("Go on with a text", f"headway generate {model} 'Once upon a time' --temperature 0.8")],
        "mlm": [
            ("Fill gaps", f"headway fill {model} 'Some [MASK] text.'"),
            ("Teach it classes", f"headway train --task classify --init {model} --train FILE.tsv --out DIRECTORY"),
        ],
        "classify": [("Tell classes", f"headway classify {model} FILE")],
    }
    return others.get(run.task, [("Teach it to translate", teach)])
