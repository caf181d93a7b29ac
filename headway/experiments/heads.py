"""What each head attends to, and what is lost when it is removed: figures 3 to 5 show a few heads, here are all of them."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args

import numpy as np

from headway.amounts import amount, are
from headway.atomic import write_file
from headway.bundle import read_manifest
from headway.data.readers import open_corpus
from headway.directions import match_directions
from headway.errors import DataError, RequestError
from headway.experiments.experiment import Findings, Request, read_json
from headway.experiments.head_patterns import Part, find_habits
from headway.experiments.head_removal import Bench, Head, Judgement
from headway.experiments.variants import Variant, find_run, promise_training, train_variant, vary
from headway.models.presets import build_architecture
from headway.progress import Display
from headway.reports.colours import LIGHT, make_scale
from headway.reports.figures import INK, colour_map, make_figure, open_frame, place, quieten, save_figure, write_title
from headway.text.tags import put_before
from headway.translator import load

CLAIM = "Section 4 and figures 3 to 5: heads learn to perform different tasks, many of them of syntax and of meaning."
TAKES = ("train", "model")
BASE = Variant("base")
SENTENCES = 300  # of the test part, those that are looked at and translated
FEWEST = 10
A_HEAD = 3.0  # seconds, where it cannot be measured before: one loss, and one translation of the sentences
POINTS = 8  # of the curve on which more and more heads are removed


def promise(request: Request, display: Display) -> float:
    if request.model:
        bench = _read_bench(request)
        begun = time.monotonic()
        bench.judge([])
        return (time.monotonic() - begun) * (len(bench.list_heads()) + POINTS + 2)
    a = build_architecture(request.settings.model, source_vocab=1, target_vocab=1, shared=request.settings.tokenizer.shared)
    heads = a.n_heads * (a.n_layers + 2 * a.n_decoder_layers)
    return promise_training(request, [BASE], display) + A_HEAD * (heads + POINTS + 2)


def run(request: Request, display: Display) -> Findings:
    bench = _read_bench(request) if request.model else _train_bench(request, display)
    if len(bench) < FEWEST:
        raise DataError(
            f"There {are(len(bench))} {amount(len(bench), 'sentence')} to look at.",
            f"Give a --test of at least {FEWEST}, none too long.",
        )
    heads, judged = bench.list_heads(), _Judged(bench, request.out / "heads.json")
    whole = judged.find("all heads", [])
    figures: list[dict[str, Any]] = []
    for at, (head, (habit, shares, entropy)) in enumerate(zip(heads, _find_habits(bench, heads), strict=True)):
        display.update("Removing one head at a time", at, len(heads))
        found = judged.find(head.name, [head])
        risen = (found.losses - whole.losses) / (whole.pieces / len(bench))
        figures.append(
            {
                "head": head.name,
                "attends_to": habit,
                "share": shares.get(habit),
                "entropy": round(entropy, 3),
                "loss_rise": round(found.loss - whole.loss, 4),
                "loss_rise_interval": _interval(risen),
                "bleu_change": round(found.bleu - whole.bleu, 2),
            }
        )
    order = sorted(range(len(heads)), key=lambda at: figures[at]["loss_rise"])
    steps = sorted({round(step * len(heads) / POINTS) for step in range(1, POINTS + 1)})
    curve = [{"removed": 0, "loss": round(whole.loss, 4), "bleu": round(whole.bleu, 2)}]
    for done, step in enumerate(steps):
        display.update("Removing more and more heads", done, len(steps))
        found = judged.find(f"{step} least important", [heads[at] for at in order[:step]])
        curve.append({"removed": step, "loss": round(found.loss, 4), "bleu": round(found.bleu, 2)})
    display.close()
    rows = [_tell(one) for one in sorted(figures, key=lambda one: -one["loss_rise"])]
    columns = ["head", "attends to", "share of its weight", "entropy", "loss rises by", "BLEU"]
    pictures = _draw(heads, figures, curve, request.out / "heads")
    return Findings(columns, rows, [*figures, *curve], _conclude(figures, curve), pictures)


def _train_bench(request: Request, display: Display) -> Bench:
    record = train_variant(request, BASE, request.settings.training.seed, display)
    model = find_run(request, vary(request.settings, BASE, seed=record.seed)) / "best"
    return Bench(load(model, engine="torch"), record.sources, record.references, SENTENCES)


def _read_bench(request: Request) -> Bench:
    data = request.settings.data
    if not (request.model and data.test and data.source_language and data.target_language):
        raise RequestError(
            "A model is looked at on sentences and their translations.", "Give --test data/test --from en --to de with --model."
        )
    way = match_directions(read_manifest(request.model).directions, data.target_language, data.source_language)[0]
    pairs = list(open_corpus(data.test, data.source_language, data.target_language).read())
    translator = load(request.model, engine="torch")
    sources = [put_before(way.prefix, source) for source, _ in pairs]
    return Bench(translator, sources, [target for _, target in pairs], SENTENCES)


class _Judged:
    """Judgements as they are made, in a file: what was judged before an interruption is not judged again."""

    def __init__(self, bench: Bench, path: Path) -> None:
        self._bench, self._path = bench, path
        self._known = read_json(path) if path.exists() else {}

    def find(self, name: str, without: Sequence[Head]) -> Judgement:
        if name not in self._known:
            found = self._bench.judge(without)
            self._known[name] = {
                "losses": [round(float(x), 4) for x in found.losses],
                "pieces": found.pieces,
                "bleu": found.bleu,
            }
            write_file(self._path, json.dumps(self._known) + "\n")
        one = self._known[name]
        return Judgement(np.array(one["losses"]), one["pieces"], one["bleu"])


def _find_habits(bench: Bench, heads: Sequence[Head]) -> list[tuple[str, dict[str, float], float]]:
    """In the order of the heads: the pattern, the share of its weight that each pattern gets, the entropy."""
    seen = list(bench.watch())
    found = {}
    for part in get_args(Part):
        for layer in {head.layer for head in heads if head.part == part}:
            sentences = []
            for source, read, written, weights in seen:
                asking, asked = {"encoder": (source, source), "decoder": (written, read), "cross": (written, source)}[part]
                sentences.append((asking, asked, getattr(weights, part)[layer - 1]))
            for number, habit in enumerate(find_habits(part, sentences), start=1):
                shares = {name: round(share, 3) for name, share in habit.shares.items()}
                found[Head(part, layer, number)] = (habit.name, shares, habit.entropy)
    return [found[head] for head in heads]


def _interval(differences: np.ndarray) -> list[float]:
    """95 % of their mean, by the normal distribution: there are hundreds."""
    reach = 1.96 * float(differences.std(ddof=1)) / len(differences) ** 0.5
    return [round(float(differences.mean()) - reach, 4), round(float(differences.mean()) + reach, 4)]


def _tell(one: dict[str, Any]) -> list[str]:
    low, high = one["loss_rise_interval"]
    share = "" if one["share"] is None else f"{one['share']:.0%}"
    rise = f"{one['loss_rise']:+.3f} [{low:+.3f}, {high:+.3f}]"
    return [one["head"], one["attends_to"], share, f"{one['entropy']:.2f}", rise, f"{one['bleu_change']:+.1f}"]


def _conclude(figures: Sequence[dict[str, Any]], curve: Sequence[dict[str, Any]]) -> list[str]:
    habits = Counter(one["attends_to"] for one in figures)
    idle = sum(one["loss_rise_interval"][0] <= 0 for one in figures)
    spared = [one["removed"] for one in takewhile(lambda one: one["bleu"] >= curve[0]["bleu"] - 1, curve)][-1]
    worst = max(figures, key=lambda one: one["loss_rise"])
    return [
        "Heads by what they attend to: " + ", ".join(f"{name} {count}" for name, count in habits.most_common()) + ".",
        f"Without {worst['head']} ({worst['attends_to']}) the loss rises most, by {worst['loss_rise']:.2f} a piece; "
        f"without one of {idle} of the {amount(len(figures), 'head')} it does not clearly rise.",
        f"{amount(spared, 'head')} together, the least important first, can go before BLEU falls by one from "
        f"{curve[0]['bleu']:.1f}.",
    ]


def _draw(heads: Sequence[Head], figures: Sequence[dict[str, Any]], curve: Sequence[dict[str, Any]], stem: Path) -> list[Path]:
    """A map of each attention, a row a layer and a column a head, and the curve below."""
    from matplotlib.colors import PowerNorm

    numbers, layers = max(head.number for head in heads), max(head.layer for head in heads)
    cell, tall, gap = 0.86, 0.5, 0.35
    width = numbers * cell
    figure = make_figure(3 * width + 2 * gap + 0.6, layers * tall + 3.0)
    largest = max(0.01, *(one["loss_rise"] for one in figures))
    for at, part in enumerate(get_args(Part)):
        panel = place(figure, 0.5 + at * (width + gap), 0.3, width, layers * tall)
        values = np.full((layers, numbers), np.nan)
        for head, one in zip(heads, figures, strict=True):
            if head.part == part:
                rise = max(0.0, one["loss_rise"])
                values[head.layer - 1, head.number - 1] = rise
                dark = (rise / largest) ** 0.5 > 0.6
                told = f"{one['attends_to']}\n{one['loss_rise']:+.2f}"
                colour = "white" if dark else INK
                panel.text(head.number - 0.5, head.layer - 0.5, told, ha="center", va="center", fontsize=6.6, color=colour)
        colours = colour_map(make_scale(*LIGHT[part]))
        panel.pcolormesh(values, cmap=colours, norm=PowerNorm(0.5, 0, largest), edgecolors="white", linewidth=1.5)
        panel.invert_yaxis()
        panel.set_xticks(np.arange(numbers) + 0.5, [f"head {number + 1}" for number in range(numbers)])
        panel.set_yticks(
            np.arange(layers) + 0.5, [f"layer {layer + 1}" for layer in range(layers)] if at == 0 else [""] * layers
        )
        panel.set_title(
            {"encoder": "encoder", "decoder": "decoder", "cross": "decoder to source"}[part], loc="left", fontsize=10
        )
        panel.spines[:].set_visible(False)
        quieten(panel)
        panel.tick_params(labelsize=8)
    panel = place(figure, 0.5, layers * tall + 1.0, 3 * width + 2 * gap, 1.7)
    panel.plot(
        [one["removed"] for one in curve], [one["bleu"] for one in curve], "o-", color="#b13a18", linewidth=1.6, markersize=5
    )
    panel.set_xlabel(f"heads removed of {len(heads)}, those that matter least first", fontsize=9)
    panel.set_ylabel("BLEU, greedy", fontsize=9)
    panel.set_ylim(bottom=0)
    open_frame(panel)
    write_title(
        figure,
        "What each head attends to, and what is lost without it",
        "A number is the rise of the loss, a piece, when that head alone is removed.",
    )
    return save_figure(figure, stem)
