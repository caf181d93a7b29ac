"""All that was measured, in one table and one picture: reads results/*.json and results/experiments/*/results.json.

    python benchmarks/table.py        # writes results/table.md, results/summary.png and results/summary.svg

Results that were written before they carried machine and command say so in the table.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from forecast import METRICS, tell
from peers.chart import OURS, name_side
from quality_answers import BASE

from headway.amounts import amount
from headway.atomic import write_file
from headway.progress import duration
from headway.reports.figures import INK, QUIET, RULE, make_figure, open_frame, place, save_figure, write_title

RESULTS = Path(__file__).parent / "results"
COLUMNS = ["what", "Headway", "the other side", "Headway is so many times as fast", "machine", "command", "file"]
NOT_RECORDED = "not recorded: see [README](../README.md)"
ROW, WIDTH, GAP, LETTER = 0.25, 4.6, 0.5, 0.078  # inches
TICKS = (0.5, 1, 2, 4, 8, 16, 32)

Result = dict[str, Any]
Spread = dict[str, float]  # median, least, most


@dataclass(frozen=True)
class Row:
    """Something measured. `times` says how many times as fast Headway is, where both sides were timed in turn."""

    what: str
    ours: str
    other: str  # its name
    theirs: str
    times: Spread | None = None
    is_rival: bool = False  # another program, not Headway in another manner: these are in the picture
    with_what: str = ""  # in which manner Headway ran, where it has several
    record: Result = field(default_factory=dict)  # what tells machine and command; the whole file where it is not set


def main() -> None:
    found = {path: json.loads(path.read_text(encoding="utf-8")) for path in list_results(RESULTS)}
    write_file(RESULTS / "table.md", make_table(found))
    rows = [row for path, result in found.items() for row in read(path, result) if row.is_rival]
    draw_summary(rows, RESULTS / "summary")
    print(RESULTS / "table.md")


def list_results(directory: Path) -> list[Path]:
    return [*sorted(directory.glob("*.json"), key=_order), *sorted(directory.glob("experiments/*/results.json"))]


def _order(path: Path) -> tuple[int, bool, str]:
    """As one would tell it: training first; of several sizes, tiny first."""
    kinds = ("training", "decoding", "evaluation", "forecast", "names", "family", "ablation", "scale")
    kind, _, size = path.stem.partition("-")
    return kinds.index(kind), size != "tiny", size


def read(path: Path, result: Result) -> list[Row]:
    """The rows of a file, which its name tells how to read."""
    kind = "experiment" if path.name == "results.json" else path.stem.partition("-")[0]
    readers = {
        "training": read_training,
        "decoding": read_decoding,
        "evaluation": read_evaluation,
        "forecast": read_forecast,
        "names": read_names,
        "family": read_family,
        "ablation": read_ablation,
        "scale": read_scale,
        "experiment": read_experiment,
    }
    return [row if row.record else replace(row, record=result) for row in readers[kind](result)]


def read_training(result: Result) -> Iterator[Row]:
    for preset, sides in result["presets"].items():
        ours = f"{sides['headway']['tokens_per_second']['median']:,}"
        for name, side in sides.items():
            if "ratio" in side:
                title = f"{name_side(name)} {side['version'].partition('+')[0]}"
                speed = f"{side['tokens_per_second']['median']:,}"
                yield Row(f"Training, {preset}: target tokens/s", ours, title, speed, side["ratio"], is_rival=True)


def read_decoding(result: Result) -> Iterator[Row]:
    size = result["title"].partition(" ")[0]
    for beam, sides in result["beams"].items():
        for name, side in sides.items():
            for ours, times in side.get("ratios", {}).items():
                yield Row(
                    f"Translating, {size}, beam {beam}: target tokens/s",
                    f"{sides[ours]['tokens_per_second']['median']:,}",
                    name_side(name),
                    f"{side['tokens_per_second']['median']:,}",
                    times,
                    is_rival=not name.startswith("headway"),
                    with_what=ours.removeprefix("headway").strip(" -"),
                )


def read_evaluation(result: Result) -> Iterator[Row]:
    sides, apart = result["sides"], result["agreement"]
    what = f"Evaluating two systems, {result['sentences']:,} sentences, {result['draws']:,} draws"
    title = f"{name_side('sacrebleu')} {result['versions']['sacrebleu']}"
    seconds = {name: f"{side['seconds']['median']:.1f}" for name, side in sides.items()}
    yield Row(f"{what}: seconds", seconds["headway"], title, seconds["sacrebleu"], sides["sacrebleu"]["ratio"], is_rival=True)
    yield Row(f"{what}: largest difference of scores", f"{apart['scores']:g}", title, "the same to the last digit")
    yield Row(f"{what}: largest difference of p-values", f"{apart['p_values']:g}", title, "within 0.01")


def read_forecast(result: Result) -> Iterator[Row]:
    for one in result["corpora"]:
        corpus = one["corpus"]
        what = f"{corpus['stem']}, {corpus['source']} to {corpus['target']}, {corpus['updates']:,} updates: on validation"
        for metric, title in METRICS.items():
            yield Row(f"{what}, {title}", f"{one['came'][metric]:.1f}", "foretold", tell(one["quality"][metric]))


def read_names(result: Result) -> Iterator[Row]:
    """What each change makes of names, beside base."""
    bases = {answer["corpus"]: answer for answer in result["answers"] if answer["change"] == BASE}
    for answer in result["answers"]:
        if answer["change"] != BASE:
            for kind, what in (("known", "that training had"), ("new", "that it had not")):
                ours, without = (f"{one[kind]['percent_kept']} %" for one in (answer, bases[answer["corpus"]]))
                yield Row(f"{answer['corpus']}, `{answer['change']}`: names carried over, {what}", ours, "base", without)


def read_family(result: Result) -> Iterator[Row]:
    """What was trained, and what was timed; each only where it is there."""
    if gpt := result.get("gpt"):
        loss = f"{gpt['validation_loss']['loss']:.3f}"
        yield Row("GPT on tinyshakespeare: validation loss", loss, "nanoGPT", f"{gpt['wanted_at_most']}", record=gpt)
    if bert := result.get("bert"):
        ours, scratch = (f"{bert[which]['accuracy']:.1f} %" for which in ("pretrained", "not_pretrained"))
        bayes = f"{bert['naive_bayes_accuracy']:.1f} %"
        yield Row("BERT on sst2: right in `dev`", ours, "naive Bayes of word pairs", bayes, record=bert)
        yield Row("BERT on sst2: right in `dev`", ours, "not pretrained", scratch, record=bert)
    if vit := result.get("vit"):
        accuracy, wanted = f"{vit['test']['accuracy']:.2f} %", f"{vit['wanted_at_least']:.2f} %"
        yield Row("ViT on MNIST: right in test", accuracy, "asked for", wanted, record=vit)
    if t5 := result.get("t5"):
        for task, found in t5["bleu"].items():
            ours, alone = f"{found['together']:.1f}", f"{found['alone']:.1f}"
            yield Row(f"T5, two tasks, {task}: BLEU", ours, "one task alone", alone, record=t5)
    if denoise := result.get("denoise"):
        ours, scratch = (f"{denoise[which]['bleu']:.1f}" for which in ("pretrained", "not_pretrained"))
        what = "Denoising first, 2,000 pairs of Multi30k: BLEU on test2016"
        yield Row(what, ours, "not pretrained", scratch, record=denoise)
    cache = result.get("cache", {})
    for prompt in (key for key in cache if key.startswith("prompt")):
        what = f"GPT-2's size, 256 tokens, {prompt}: seconds with the cache"
        seconds = cache[prompt]["seconds"]
        ours, without = f"{seconds['cached']:.1f}", f"{seconds['uncached']:.1f}"
        yield Row(what, ours, "without", without, _once(cache[prompt]["times"]), record=cache)
    imported = result.get("imported", {})
    for engine, times in imported.get("imported_is_faster_by", {}).items():
        yield Row(f"Imported weights on {engine}: times the native speed", f"{times:.2f}", "native", "1", record=imported)


def _once(times: float) -> Spread:
    return {"median": times, "least": times, "most": times}


def read_ablation(result: Result) -> Iterator[Row]:
    steps = dict(result["steps"])
    what = f"One step, {result['preset']}, {result['tokens']:,} tokens: ms of processor time"
    ours = f"{steps.pop('all')['ms']:.0f}"
    for name, step in steps.items():
        yield Row(what, ours, f"with {name}", f"{step['ms']:.0f}", _once(step["ratio"]))


def read_scale(result: Result) -> Iterator[Row]:
    what = f"{result['pairs']:,} pairs"
    memory = max(process["rss_mb"] for process in result["processes"])
    yield Row(f"{what}: memory of a process at most", f"{memory:,} MB", "asked for", "1,500 MB")
    first = result["seconds"]["store to first updates"]
    yield Row(f"{what}: seconds from the store to the first updates", f"{first:.0f}", "asked for", "60")


def read_experiment(result: Result) -> Iterator[Row]:
    taken, promised = duration(result["seconds"]), duration(result["promised_seconds"])
    yield Row(
        f"Experiment {result['experiment']} ([table](experiments/{result['experiment']}/table.md))", taken, "promised", promised
    )


def make_table(found: dict[Path, Result]) -> str:
    lines = [
        "# What was measured",
        "",
        "Made by `python benchmarks/table.py` from the files named in it; [README](../README.md) tells how each was measured.",
        "Ratios are taken within a round, of sides that run in turn: the median, and from the least to the most where there",
        "was more than one round. Rows that one command gave have machine and command in the first of them.",
        "",
        "![Headway beside other programs](summary.png)",
        "",
        _line(COLUMNS),
        _line(["---"] * len(COLUMNS)),
    ]
    for path, result in found.items():
        link = f"[{path.relative_to(RESULTS).with_suffix('')}]({path.relative_to(RESULTS)})"
        before: Result = {}
        for row in read(path, result):
            ours = f"{row.ours} ({row.with_what})" if row.with_what else row.ours
            times = _tell(row.times) if row.times else ""
            told = ["as above"] * 2 if row.record is before else [_tell_machine(row.record), _tell_command(row.record)]
            lines.append(_line([row.what, ours, f"{row.other}: {row.theirs}", times, *told, link]))
            before = row.record
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tell(times: Spread) -> str:
    whole = f"{times['median']:.2f}"
    return whole if times["least"] == times["most"] else f"{whole} ({times['least']:.2f} to {times['most']:.2f})"


def _tell_machine(record: Result) -> str:
    machine = record.get("machine")
    if not machine:
        return NOT_RECORDED
    gpus = f", {machine['gpus']} GPUs" if machine.get("gpus") else ""
    return f"{amount(machine['cores'], 'core')} of {machine['processor']}{gpus}"


def _tell_command(record: Result) -> str:
    if "experiment" in record:
        return f"`headway experiment {record['experiment']}`, settings in the file"
    return f"`{record['command']}`" if "command" in record else NOT_RECORDED


def draw_summary(rows: list[Row], stem: Path) -> None:
    """A panel for each thing measured, all on one scale: a dot for each rival, a line from the least to the most."""
    panels = {what: list(some) for what, some in groupby(rows, key=lambda row: row.what)}
    names = LETTER * max(len(_label(row)) for row in rows)
    figure = make_figure(names + WIDTH + 0.5, ROW * len(rows) + GAP * len(panels))
    furthest = 1.25 * max(row.times["most"] for row in rows if row.times)
    nearest = 0.85 * min(1.0, *(row.times["least"] for row in rows if row.times))
    machines = "; ".join(dict.fromkeys(_tell_machine(row.record) for row in rows))
    top = 0.0
    for what, some in panels.items():
        panel = place(figure, names, top + 0.3, WIDTH, ROW * len(some))
        panel.set_xscale("log")
        panel.set_xlim(nearest, furthest)
        _draw_rows(panel, some)
        panel.set_title(what, loc="left", fontsize=9.5, color=INK, x=-names / WIDTH)
        top += ROW * len(some) + GAP
    _number(panel)
    write_title(
        figure,
        "Headway is so many times as fast as …",
        f"{machines}. Sides in turn; median of the rounds, lines from the least to the most. Left of 1, Headway is slower.",
    )
    save_figure(figure, stem)


def _label(row: Row) -> str:
    """Of a rival, with Headway's manner where the rival has none that is the same."""
    return row.other if row.other.endswith(row.with_what) else f"{row.other} (Headway: {row.with_what})"


def _draw_rows(panel: Any, rows: list[Row]) -> None:
    open_frame(panel, grid="x")
    panel.axvline(1, color=QUIET, linewidth=1.0)
    for place_, row in enumerate(reversed(rows)):
        assert row.times
        panel.plot([row.times["least"], row.times["most"]], [place_, place_], color=OURS, linewidth=1.6, solid_capstyle="butt")
        panel.plot(row.times["median"], place_, "o", color=OURS, markersize=6)
        panel.annotate(
            f"{row.times['median']:.2f}",
            (row.times["most"], place_),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    panel.set_yticks(range(len(rows)), [_label(row) for row in reversed(rows)])
    panel.set_ylim(-0.6, len(rows) - 0.4)
    panel.set_xticks([tick for tick in TICKS if panel.get_xlim()[0] <= tick <= panel.get_xlim()[1]], [])
    panel.set_xticks([], minor=True)
    panel.spines[["left", "bottom"]].set_visible(False)
    panel.tick_params(axis="y", labelcolor=INK)
    panel.grid(axis="x", color=RULE, linewidth=0.6)


def _number(panel: Any) -> None:
    """The scale, below the last panel only."""
    ticks = list(panel.get_xticks())
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


if __name__ == "__main__":
    main()
