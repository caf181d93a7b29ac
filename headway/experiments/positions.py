"""Section 3.5: sinusoids may let a model go on to sentences longer than any that it was trained on; learned positions cannot.

The training text is divided at its median length: what is shorter trains, what is longer is translated. Headway's own
translator never gives a model such a sentence, it cuts it where that hurts least: here it must not, but for a row of its own.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median_low
from typing import Any

from headway.amounts import amount, are
from headway.atomic import write_file, writing
from headway.config import Settings, parse_corpus
from headway.data.readers import Pair, open_corpus
from headway.errors import DataError
from headway.evaluation.evaluation import System
from headway.experiments.by_length import judge_by_length
from headway.experiments.comparing import tell_interval
from headway.experiments.experiment import Findings, Request
from headway.experiments.variants import Record, Variant, choose_rows, find_run, promise_training, train_variant, vary
from headway.progress import Display
from headway.reports.figures import INK, QUIET, RULE, make_figure, open_frame, place, save_figure, write_title
from headway.translator import load

CLAIM = "Section 3.5: sinusoidal positions may let the model go on to sentences longer than those of its training."
VARIANTS = [Variant(name, {("model", "positions"): name}) for name in ("sinusoidal", "learned", "none")]
TAKES = ("train", "rows")
CUT = "sinusoidal, cut"
COLOURS = {"sinusoidal": "#b13a18", "learned": "#1f5f99", "none": "#7a8590", CUT: "#1b6b50"}
SHARES = (1.0, 1.25, 1.5, 2.0)  # of the longest sentence in training: where the buckets end
HELD_OUT, LONG = 250, 1500  # short pairs for each of validation and test, long ones for the test
TESTING = 20.0  # seconds to translate the long sentences once more
WITHOUT_CUT = 10_000  # pieces: no sentence is longer


def check(request: Request) -> None:
    choose_rows(request, VARIANTS)


def promise(request: Request, display: Display) -> float:
    variants = choose_rows(request, VARIANTS)
    return promise_training(_on_short_text(request)[0], variants, display) + TESTING * (len(variants) + 1)


def run(request: Request, display: Display) -> Findings:
    short, longest = _on_short_text(request)
    systems = []
    for number, variant in enumerate(variants := choose_rows(request, VARIANTS), start=1):
        display.say(f"\n[{number}/{len(variants)}] {variant.name} positions")
        record = train_variant(short, variant, request.settings.training.seed, display)
        model = find_run(short, vary(short.settings, variant, seed=record.seed)) / "best"
        systems.append(System(variant.name, [_translate_whole(model, record, display)]))
        if variant.name == "sinusoidal":
            systems.append(System(CUT, [record.translations]))
    lengths = [len(source.split()) for source in record.sources]
    display.update("Comparing", 0, None)
    buckets = judge_by_length(systems, record.references, lengths, [round(share * longest) for share in SHARES])
    display.close()
    figures: list[dict[str, Any]] = [
        {"model": system.name, "buckets": [bucket.describe(at) for bucket in buckets]} for at, system in enumerate(systems)
    ]
    rows = [[one["model"], *(f"{b['bleu']:.1f}{tell_interval(b['interval'])}" for b in one["buckets"])] for one in figures]
    columns = ["BLEU by words of the source", *(bucket["words"] for bucket in figures[0]["buckets"])]
    counts = ["sentences", *(f"{bucket.sentences:,}" for bucket in buckets)]
    story = [f"Training had sentences of at most {amount(longest, 'word')}. " + _tell(figures)]
    return Findings(columns, [*rows, counts], figures, story, _draw(figures, longest, request.out / "positions"))


def _on_short_text(request: Request) -> tuple[Request, int]:
    """The request with the shorter half of its text to train on, and the words of the longest sentence in that."""
    data = request.settings.data
    text = request.pool / f"text-{hashlib.sha256(json.dumps(request.corpora).encode()).hexdigest()[:12]}"
    if not (text / "longest").exists():
        _write_parts(text, *_divide(request.settings), request.settings)
    changed = {"train": [str(text / "train")], "valid": str(text / "valid"), "test": str(text / "test"), "prefix": []}
    settings = request.settings.model_copy(update={"data": data.model_copy(update=changed)})
    return replace(request, settings=settings), int((text / "longest").read_text())


def _divide(settings: Settings) -> tuple[dict[str, list[Pair]], int]:
    """Train, valid and test; no sentence that is held out stays in training, on either side."""
    pairs = [pair for spec in settings.data.train for pair in _read(parse_corpus(spec)[0], settings)]
    lengths = [len(source.split()) for source, _ in pairs]
    longest = median_low(lengths) if lengths else 0
    short = [pair for pair, words in zip(pairs, lengths, strict=True) if words <= longest]
    beyond = [pair for pair, words in zip(pairs, lengths, strict=True) if words > longest]
    if len(short) < 4 * HELD_OUT or len(beyond) < HELD_OUT:
        raise DataError(
            f"There {are(len(short))} {amount(len(short), 'pair')} of at most {amount(longest, 'word')}, "
            f"and {amount(len(beyond), 'longer one')}.",
            f"This experiment needs {4 * HELD_OUT:,} of the first and {HELD_OUT:,} of the second, in languages with spaces.",
        )
    held_out = short[:: len(short) // (2 * HELD_OUT)]
    valid, test = held_out[0::2][:HELD_OUT], [*held_out[1::2][:HELD_OUT], *beyond[:: max(1, len(beyond) // LONG)][:LONG]]
    taken = [{pair[side] for pair in (*valid, *test)} for side in (0, 1)]
    train = [pair for pair in short if pair[0] not in taken[0] and pair[1] not in taken[1]]
    return {"train": train, "valid": valid, "test": test}, longest


def _write_parts(text: Path, parts: Mapping[str, Sequence[Pair]], longest: int, settings: Settings) -> None:
    with writing(text):
        text.mkdir(parents=True, exist_ok=True)
    for part, some in parts.items():
        for side, language in enumerate((settings.data.source_language, settings.data.target_language)):
            write_file(text / f"{part}.{language}", "".join(f"{pair[side]}\n" for pair in some))
    write_file(text / "longest", f"{longest}\n")


def _read(spec: str, settings: Settings) -> list[Pair]:
    data = settings.data
    pairs = open_corpus(spec, data.source_language, data.target_language).read()
    return [pair for pair in pairs if pair[0].strip() and pair[1].strip()]


def _translate_whole(model: Path, record: Record, display: Display) -> list[str]:
    """Every sentence at once, however long."""
    translator = load(model, engine="torch")
    reader = translator.reader
    reader.lines = reader.lines.model_copy(update={"sentences": False, "longest": WITHOUT_CUT})
    found = translator.translate(record.sources, on_progress=lambda done, total: display.update("Testing", done, total))
    display.close()
    return [one.text for one in found]


def _tell(figures: Sequence[dict[str, Any]]) -> str:
    told = []
    for one in figures:
        first, last = one["buckets"][0], one["buckets"][-1]
        told.append(
            f"{one['model']} goes from {first['bleu']:.1f} BLEU to {last['bleu']:.1f} on the longest ({last['words']} words)"
        )
    return "; ".join(told) + "."


def _draw(figures: Sequence[dict[str, Any]], longest: int, stem: Path) -> list[Path]:
    figure = make_figure(7.4, 3.6)
    panel = place(figure, 0.6, 0.1, 5.2, 3.0)
    for one in figures:
        colour, xs, ys = COLOURS[one["model"]], [b["mean_words"] for b in one["buckets"]], [b["bleu"] for b in one["buckets"]]
        panel.plot(xs, ys, "o--" if one["model"] == CUT else "o-", color=colour, markersize=5, linewidth=1.6)
        for x, bucket in zip(xs, one["buckets"], strict=True):
            if bucket["interval"]:
                panel.plot([x, x], bucket["interval"], color=colour, linewidth=1.4, alpha=0.4, solid_capstyle="round")
        panel.annotate(
            one["model"], (xs[-1], ys[-1]), xytext=(8, 0), textcoords="offset points", va="center", color=colour, fontsize=9
        )
    panel.axvspan(panel.get_xlim()[0], longest, color=RULE, alpha=0.35, linewidth=0)
    panel.annotate(
        "trained on", (longest, 0), xytext=(-5, 5), textcoords="offset points", ha="right", color=QUIET, fontsize=8.5
    )
    panel.set_ylim(bottom=0)
    panel.set_xlabel("words of the source", fontsize=9)
    panel.set_ylabel("test BLEU", fontsize=9)
    open_frame(panel)
    panel.tick_params(labelcolor=INK)
    story = "A model for each kind of positions, trained on the shorter half of the text; whiskers are 95 % intervals."
    write_title(figure, "Sentences longer than any in training", story)
    return save_figure(figure, stem)
