"""Section 6.1: the average of a run's last checkpoints, with a learning rate that falls to nothing and one that does not."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headway.bundle import read_bundle
from headway.experiments.comparing import OURS, PAPER, gather, tabulate, tell_winners
from headway.experiments.experiment import Findings, Request
from headway.experiments.variants import Trained, Variant, compare, find_run, look_at, promise_training, train_variants, vary
from headway.progress import Display
from headway.reports.figures import make_figure, open_frame, place, save_figure, write_title
from headway.training.averaging import average_run
from headway.training.group import Group
from headway.training.team import build_validator
from headway.translator import load

CLAIM = "Section 6.1: the average of the last checkpoints (5 of base, 20 of big) is the model that is tested."
AVERAGED = (1, 2, 3, 5, 10)
TESTING = 15.0  # seconds for each average
COLOURS = {"linear": OURS, "inverse-sqrt": PAPER}
VARIANTS = [
    Variant(name, {("training", "schedule"): name, ("training", "average"): 1, ("training", "keep_checkpoints"): max(AVERAGED)})
    for name in COLOURS
]


def promise(request: Request) -> float:
    return promise_training(request, VARIANTS) + TESTING * len(AVERAGED) * len(VARIANTS)


def run(request: Request, display: Display) -> Findings:
    figures = []
    for trained in train_variants(request, VARIANTS, display):
        averages = [_test(request, trained, last, display) for last in AVERAGED]
        figures += gather(averages, compare(averages, display))
    groups = [figures[at : at + len(AVERAGED)] for at in range(0, len(figures), len(AVERAGED))]
    story = [line for group in groups for line in tell_winners(group)]
    return Findings(*tabulate(figures), figures, story, _draw(groups, request.out / "averaging"))


def _test(request: Request, trained: Trained, last: int, display: Display) -> Trained:
    """The average of so many checkpoints of the first seed's run, as a model of its own."""
    name, record = trained.variant.name, trained.first
    settings = vary(request.settings, trained.variant, seed=record.seed)
    directory = find_run(request, settings)
    with TemporaryDirectory(prefix="headway-average-") as made:
        if last == 1:
            model = directory / "last"
        else:
            model = Path(made) / "model"
            average_run(directory, last, model)
        orders, prepared = look_at(request, settings)
        found = build_validator(orders.settings, orders.architecture, prepared, Group()).validate(
            read_bundle(model).build_model()
        )
        translations = load(model, engine="torch").translate(
            record.sources, on_progress=lambda done, total: display.update(f"Testing {name}, last {last}", done, total)
        )
        display.close()
    texts = [one.text for one in translations]
    tested = replace(record, perplexity=math.exp(found.loss), translations=texts)
    return Trained(Variant(f"{name}, last {last}" if last > 1 else f"{name}, the last one"), [tested])


def _draw(groups: Sequence[Sequence[dict[str, Any]]], stem: Path) -> list[Path]:
    figure = make_figure(8.0, 3.3)
    for left, key, named in ((0.6, "bleu", "test BLEU"), (4.8, "perplexity", "validation perplexity, a piece")):
        panel = place(figure, left, 0.1, 3.2, 2.7)
        for (schedule, colour), group in zip(COLOURS.items(), groups, strict=True):
            values = [one[key] for one in group]
            panel.plot(AVERAGED, values, "o-", color=colour, markersize=5, linewidth=1.6, label=schedule)
            if key == "bleu" and group[0]["bleu_interval"]:
                low, high = zip(*(one["bleu_interval"] for one in group), strict=True)
                panel.fill_between(AVERAGED, low, high, color=colour, alpha=0.1, linewidth=0)
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
