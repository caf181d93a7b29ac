"""Section 6.1: the average of a run's last checkpoints, with a learning rate that falls to nothing and one that does not."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headway.amounts import amount
from headway.bundle import read_bundle
from headway.errors import RequestError
from headway.experiments.comparing import OURS, PAPER, gather, tabulate, tell_winners
from headway.experiments.experiment import Findings, Request
from headway.experiments.variants import (
    Record,
    Trained,
    Variant,
    compare,
    find_run,
    look_at,
    promise_training,
    train_variant,
    vary,
)
from headway.progress import Display
from headway.reports.figures import make_figure, open_frame, place, save_figure, write_title
from headway.training.averaging import average_run
from headway.training.group import Group
from headway.training.state import list_checkpoints
from headway.training.team import build_validator
from headway.translator import load

CLAIM = "Section 6.1: the average of the last checkpoints (5 of base, 20 of big) is the model that is tested."
TAKES = ("train",)
AVERAGED = (1, 2, 3, 5, 10)
TESTING = 15.0  # seconds for each average
COLOURS = {"linear": OURS, "inverse-sqrt": PAPER}
VARIANTS = [
    Variant(name, {("training", "schedule"): name, ("training", "average"): 1, ("training", "keep_checkpoints"): max(AVERAGED)})
    for name in COLOURS
]


def promise(request: Request, display: Display) -> float:
    return promise_training(request, VARIANTS, display) + TESTING * len(AVERAGED) * len(VARIANTS)


def run(request: Request, display: Display) -> Findings:
    groups = []
    for number, variant in enumerate(VARIANTS, start=1):
        display.say(f"\n[{number}/{len(VARIANTS)}] {variant.name}")
        record = train_variant(request, variant, request.settings.training.seed, display, keep_checkpoints=True)
        averages = _average(request, variant, record, display)
        groups.append(gather(averages, compare(averages, display)))
    figures = [one for group in groups for one in group]
    story = [line for group in groups for line in tell_winners(group)]
    return Findings(*tabulate(figures), figures, story, _draw(groups, request.out / "averaging"))


def _average(request: Request, variant: Variant, record: Record, display: Display) -> list[Trained]:
    """The last checkpoint of a run, and averages of the last ones, as far as there are so many; each a model of its own."""
    settings = vary(request.settings, variant, seed=record.seed)
    orders, prepared = look_at(request, settings, display)
    validator, run = build_validator(orders.settings, orders.architecture, prepared, Group()), find_run(request, settings)
    there = len(list_checkpoints(run / "checkpoints"))
    if there < 2:
        raise RequestError(
            f"{run} has {amount(there, 'checkpoint')}: nothing to average.", "Give a larger budget, and another --out."
        )
    averages = []
    for last in (last for last in AVERAGED if last <= there):
        name = f"{variant.name}, last {last}" if last > 1 else f"{variant.name}, the last one"
        with TemporaryDirectory(prefix="headway-average-") as made:
            model = Path(made) / "model" if last > 1 else run / "last"
            if last > 1:
                average_run(run, last, model)
            found = validator.validate(read_bundle(model).build_model())
            told = partial(display.update, f"Testing {name}")
            translations = [one.text for one in load(model, engine="torch").translate(record.sources, on_progress=told)]
            display.close()
        tested = replace(record, perplexity=found.perplexity, translations=translations)
        averages.append(Trained(Variant(name), [tested]))
    return averages


def _draw(groups: Sequence[Sequence[dict[str, Any]]], stem: Path) -> list[Path]:
    figure = make_figure(8.0, 3.3)
    for left, key, named in ((0.6, "bleu", "test BLEU"), (4.8, "perplexity", "validation perplexity, a piece")):
        panel = place(figure, left, 0.1, 3.2, 2.7)
        for (schedule, colour), group in zip(COLOURS.items(), groups, strict=True):
            values = [one[key] for one in group]
            panel.plot(AVERAGED[: len(group)], values, "o-", color=colour, markersize=5, linewidth=1.6, label=schedule)
            if key == "bleu" and group[0]["bleu_interval"]:
                low, high = zip(*(one["bleu_interval"] for one in group), strict=True)
                panel.fill_between(AVERAGED[: len(group)], low, high, color=colour, alpha=0.1, linewidth=0)
        panel.set_xscale("log")
        panel.set_xticks(AVERAGED, [str(last) for last in AVERAGED], minor=False)
        panel.set_xticks([], minor=True)
        panel.set_xlabel("last checkpoints averaged", fontsize=9)
        panel.set_title(named, loc="left", fontsize=10)
        open_frame(panel)
    figure.axes[0].legend(frameon=False, fontsize=9, title="learning rate falls", title_fontsize=8.5, alignment="left")
    write_title(
        figure,
        "What averaging adds",
        "The linear schedule ends at nothing; the paper's inverse square root does not. Shaded: 95 %.",
    )
    return save_figure(figure, stem)
