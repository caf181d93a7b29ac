"""Several runs on one page: scores with tests between them, curves over each other, and the settings that differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from headway.atomic import write_file
from headway.evaluation.evaluation import TITLES, Evaluation
from headway.evaluation.metrics import Score
from headway.evaluation.statistics import OnProgress
from headway.progress import duration
from headway.reports.charts import COLOURS, Curve, Plot, make_plot
from headway.reports.evaluation.page import show, tell_interval
from headway.reports.page import render
from headway.reports.runs.evaluation import evaluate_runs
from headway.reports.runs.page import FIGURES, tell_count, tell_figure, tell_value
from headway.reports.runs.record import RunRecord
from headway.reports.short_names import shorten

# How the work was divided, and what follows from minutes on this machine: no difference between two runs.
DIVISION = {"training.processes", "training.threads", "training.recompute", "training.shard"}
FOLLOWING = {"training.warmup", "training.valid_every", "training.checkpoint_every"}
SEED = "training.seed"
SHORTEST = 3  # letters that names must share to be one name


@dataclass(frozen=True)
class Compared:
    """Runs side by side: those that differ by their seed alone are one system."""

    runs: list[RunRecord]
    systems: dict[str, list[RunRecord]]
    evaluations: list[Evaluation]  # one for each test part
    differing: dict[str, list[Any]]  # settings that are not the same in all runs, with each run's value
    notes: list[str]


def compare_runs(runs: Sequence[RunRecord], on_progress: OnProgress | None = None) -> Compared:
    runs = _with_own_names(runs)
    systems = group_seeds(runs)
    parts = _group_by_test(systems)
    notes = [f"{run.name}: {told}" if len(runs) > 1 else told for run in runs for told in run.missing]
    if len({run.task for run in runs}) > 1:
        notes.append("The runs have different tasks: their losses do not measure the same thing.")
    notes = [*_tell_parts(systems, parts), *notes]
    evaluations = [evaluate_runs(part, on_progress) for part in parts]
    return Compared(runs, systems, evaluations, find_differences(runs), notes)


def _tell_parts(systems: Mapping[str, list[RunRecord]], parts: Sequence[Mapping[str, list[RunRecord]]]) -> list[str]:
    """Why scores that stand side by side may not be compared."""
    told = []
    if len(parts) > 1:
        named = "; ".join(f"set {number}: {', '.join(part)}" for number, part in enumerate(parts, 1))
        told.append(
            f"The runs were tested on different sentences ({named}). Scores on different sentences cannot be compared, so no "
            "test is made between them."
        )
    lonely = [run.name for runs in systems.values() for run in runs if run.test and not run.tested and run.task == "translate"]
    if lonely and len(systems) > 1:
        told.append(
            f"Left out of the comparison: {', '.join(lonely)}, because there is no test.jsonl. Without it nobody knows which "
            "sentences were tested, nor whether the scores can be compared with others."
        )
    return told


def write_runs_page(compared: Compared, path: Path) -> Path:
    write_file(path, render_runs(compared))
    return path


def render_runs(compared: Compared) -> str:
    order = list(compared.systems)
    return render(
        "runs/runs.html",
        names=[run.name for run in compared.runs],
        notes=compared.notes,
        rows=tell_rows(compared),
        apart=has_parts(compared),
        columns=tested_by(compared.runs),
        shown=[show(one, [order.index(result.name) for result in one.results]) for one in compared.evaluations],
        seeds=[(name, [run.name for run in runs]) for name, runs in compared.systems.items() if len(runs) > 1],
        plots=draw_curves(compared),
        differing=[(name, [tell_value(value) for value in values]) for name, values in compared.differing.items()],
    )


def group_seeds(runs: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Runs that differ by nothing but their seed, under one name."""
    groups: list[list[RunRecord]] = []
    for run in runs:
        same = (group for group in groups if _same_but_seed(group[0], run))
        found = next(same, None)
        if found is None:
            groups.append([run])
        else:
            found.append(run)
    named: dict[str, list[RunRecord]] = {}
    for group in groups:
        names = [run.name for run in group]
        shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
        told = "".join(letters[0] for letters in shared).rstrip("-_./ ")
        if len(told) < SHORTEST or f"{told} ({len(names)} seeds)" in named:
            told = " + ".join(names)
        named[f"{told} ({len(names)} seeds)" if len(names) > 1 else told] = group
    return named


def _same_but_seed(one: RunRecord, other: RunRecord) -> bool:
    return (
        set(find_differences([one, other])) == {SEED}
        and one.manifest is not None
        and other.manifest is not None
        and one.manifest.provenance.data == other.manifest.provenance.data
        and _test_part(one) == _test_part(other)
    )


def find_differences(runs: Sequence[RunRecord]) -> dict[str, list[Any]]:
    """Settings that are not the same in all runs, with each run's value."""
    told = [_flatten(run) for run in runs]
    ignored = DIVISION | (FOLLOWING if all(one["training.max_minutes"] for one in told) else set())
    values = {name: [one[name] for one in told] for name in told[0] if name not in ignored}
    return {name: found for name, found in values.items() if any(value != found[0] for value in found)}


def _flatten(run: RunRecord) -> dict[str, Any]:
    """Settings by their full names; what an older run was not told of its shape, its model knows."""
    content = run.settings.model_dump(by_alias=True)
    shape = vars(run.manifest.architecture) if run.manifest else {}
    content["model"] = {name: shape.get(name) if value is None else value for name, value in content["model"].items()}
    return {f"{section}.{name}": value for section, values in content.items() for name, value in values.items()}


def _with_own_names(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """The shortest that tells each from all others: directories of one name have what stands above them before it."""
    names = shorten([run.directory for run in runs])
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def _test_part(run: RunRecord) -> list[tuple[str, str]]:
    return [(one.source, one.reference) for one in run.tested]


def _group_by_test(systems: Mapping[str, list[RunRecord]]) -> list[dict[str, list[RunRecord]]]:
    """The systems that were tested, by what they were tested on."""
    parts: list[dict[str, list[RunRecord]]] = []
    for name, runs in systems.items():
        if not runs[0].tested:
            continue
        for part in parts:
            if _test_part(next(iter(part.values()))[0]) == _test_part(runs[0]):
                part[name] = runs
                break
        else:
            parts.append({name: runs})
    return parts


def tested_by(runs: Sequence[RunRecord]) -> list[str]:
    """The figures that at least one run was tested by, as a person reads them."""
    return [f"test {FIGURES[name]}" for name in _figures(runs)]


def _figures(runs: Sequence[RunRecord]) -> list[str]:
    return [name for name in FIGURES if any(name in run.test for run in runs)]


def tell_rows(compared: Compared) -> list[dict[str, Any]]:
    """A line for each run: its scores, with intervals where there are some, its size, its time and speed."""
    scores, figures, parts = _find_scores(compared), _figures(compared.runs), _number_parts(compared)
    return [
        {
            "name": run.name,
            "colour": colour % COLOURS,
            "part": parts.get(run.name, "unknown" if run.test else "–"),
            "scores": [scores.get((run.name, name)) or _tell_alone(name, run.test.get(name)) for name in figures],
            "size": tell_count(run.parameters) if run.parameters else "–",
            "updates": f"{run.steps:,}",
            "time": duration(run.seconds) if run.seconds is not None else "–",
            "speed": f"{run.tokens_per_second:,.0f}" if run.tokens_per_second else "–",
            "peak": f"{run.mfu:.0%}" if run.mfu else "–",
        }
        for run, colour in _coloured(compared)
    ]


def has_parts(compared: Compared) -> bool:
    """Are there scores that were not measured on the same sentences, as far as anybody knows?"""
    tested = [run for run in compared.runs if run.test and run.task == "translate"]
    return len(compared.evaluations) > 1 or (len(tested) > 1 and not all(run.tested for run in tested))


def _number_parts(compared: Compared) -> dict[str, str]:
    """The test part of each run that translated one."""
    return {
        run.name: f"set {number}"
        for number, evaluation in enumerate(compared.evaluations, 1)
        for result in evaluation.results
        for run in compared.systems[result.name]
    }


def _tell_alone(name: str, value: float | None) -> tuple[str, str]:
    """A figure without an interval."""
    return ("–" if value is None else tell_figure(name, value)), ""


def _find_scores(compared: Compared) -> dict[tuple[str, str], tuple[str, str]]:
    """Of each run and metric that were evaluated, the score and its interval."""
    found = {}
    for evaluation in compared.evaluations:
        for result in evaluation.results:
            for run, scores in zip(compared.systems[result.name], result.scores, strict=True):
                for metric in TITLES:
                    score: Score = getattr(scores, metric)
                    told = tell_interval(score.interval) if score.interval else ""
                    found[run.name, str(metric)] = f"{score.score:.2f}", told
    return found


def _coloured(compared: Compared) -> list[tuple[RunRecord, int]]:
    """Each run with its system's number: seeds have one colour."""
    colours = {run.name: number for number, runs in enumerate(compared.systems.values()) for run in runs}
    return [(run, colours[run.name]) for run in compared.runs]


def draw_curves(compared: Compared) -> list[Plot]:
    """What validation found of each run, over updates and over minutes."""
    plots = []
    for name in ("bleu", "chrf", "accuracy", "loss"):
        for across, over, unit in (("minutes", "seconds", 60), ("updates", "step", 1)):
            curves = [
                Curve(run.name, colour, [(x / unit, y) for x, y in run.points(f"valid_{name}", over)], dots=True)
                for run, colour in _coloured(compared)
            ]
            plots.append(make_plot(f"Validation {FIGURES[name]}", across, curves, note=f"over {across}"))
    return [plot for plot in plots if plot]
