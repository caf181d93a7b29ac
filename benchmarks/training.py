"""Training throughput of Headway against `nn.Transformer`, eole, Marian and JoeyNMT: real target tokens a second.

    benchmarks/peers/install.sh PEERS
    python benchmarks/training.py --data DATA --peers PEERS --presets tiny small --rounds 5 --steps 100

DATA holds train.en, train.de, val.en and val.de. Every side runs its own command, one after the other and all over again each
round, and is read from its own log (peers/sides.py). The same for all: the preset's sizes, pre-norm, tied embeddings, a BPE of
8,000 pieces of the same text, about 4,096 target tokens an update, dropout 0.3, label smoothing 0.1, Adam, fp32, all cores.
Ratios are taken within a round; tokens count eos and no padding. Writes OUT.json, OUT.png and OUT.svg after every round.
"""

import argparse
import importlib.metadata
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from machine import describe_run
from peers.chart import draw_chart, name_side
from peers.corpus import PIECES, prepare_corpus
from peers.sides import BATCH_TOKENS, REPORT_EVERY, SIDES, WARMUP, Side, SideFailed, Speed, Task

from headway.models.presets import PRESETS

Rounds = list[dict[str, Speed]]  # of each round, the sides that came through


def main() -> None:
    options = parse()
    if options.work:
        options.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.work, prefix="training-") as work:
        measure(options, Path(work).absolute())


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory with train.en, train.de, val.en, val.de")
    parser.add_argument("--peers", type=Path, default=Path("runs/peers"), help="directory that peers/install.sh filled")
    parser.add_argument("--presets", nargs="+", default=["tiny"], choices=PRESETS)
    parser.add_argument("--sides", nargs="+", default=[side.name for side in SIDES], choices=[side.name for side in SIDES])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60, help=f"updates of a side in a round; the first {WARMUP} warm up")
    parser.add_argument("--work", type=Path, help="where scratch directories are made and removed again")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "training")
    options = parser.parse_args(words)
    if options.steps < 2 * WARMUP or options.steps % REPORT_EVERY:
        parser.error(f"--steps is {options.steps}: it must be a multiple of {REPORT_EVERY}, and at least {2 * WARMUP}")
    return options


def measure(options: argparse.Namespace, work: Path) -> None:
    installed = {side: python for side in SIDES if side.name in options.sides and (python := side.find_python(options.peers))}
    for name in set(options.sides) - {side.name for side in installed}:
        _say(f"{name} is not in {options.peers} and is left out; benchmarks/peers/install.sh installs it")
    versions = {side.name: side.find_version(python) for side, python in installed.items()}
    corpus = prepare_corpus(options.data.absolute(), work / "corpus")
    measured: dict[str, Rounds] = {preset: [] for preset in options.presets}
    for preset in options.presets:
        for number in range(1, options.rounds + 1):
            measured[preset].append({})
            for side, python in installed.items():
                _say(f"{preset}, round {number} of {options.rounds}: {side.name}", end=" ")
                task = Task(preset, options.steps, corpus, python, work / "run", shared=work / "shared")
                if speed := _try(side, task):
                    measured[preset][-1][side.name] = speed
            result = _describe(options, versions) | {
                "presets": {preset: summarise(rounds, versions) for preset, rounds in measured.items()}
            }
            _write(result, options.out)
    for preset in options.presets:
        print(f"\n{preset}\n{make_table(result['presets'][preset])}")
    print(f"\n{options.out}.json, .png, .svg")


def _try(side: Side, task: Task) -> Speed | None:
    begun = time.monotonic()
    try:
        speed = side.measure(task)
    except SideFailed as failure:
        _say(f"failed and is left out of this round: {failure}")
        return None
    _say(f"{speed.tokens_per_second:,.0f} tokens/s, {speed.tokens_per_update:,.0f} an update, {time.monotonic() - begun:.0f} s")
    return speed


def summarise(rounds: Rounds, versions: dict[str, str]) -> dict[str, Any]:
    """Of each side: its speed over the rounds, and how many times as fast Headway was, round by round."""
    sides = {}
    for name, version in versions.items():
        speeds = [done[name] for done in rounds if name in done]
        if not speeds:
            continue
        sides[name] = {
            "version": version,
            "tokens_per_second": _spread([speed.tokens_per_second for speed in speeds], digits=None),
            "tokens_per_update": round(statistics.mean(speed.tokens_per_update for speed in speeds)),
            "rounds": [round(done[name].tokens_per_second) if name in done else None for done in rounds],
        }
        both = [done for done in rounds if name in done and "headway" in done]
        if both and name != "headway":
            ratios = [done["headway"].tokens_per_second / done[name].tokens_per_second for done in both]
            sides[name]["ratio"] = _spread(ratios, digits=2)
    return sides


def _spread(values: Sequence[float], digits: int | None) -> dict[str, float]:
    found = {"median": statistics.median(values), "least": min(values), "most": max(values)}
    return {name: round(value, digits) for name, value in found.items()}


def make_table(sides: dict[str, Any]) -> str:
    """In Markdown."""
    rows = ["| side | version | target tokens/s | least–most | Headway is | tokens an update |", "|---|---|---|---|---|---|"]
    for name, side in sides.items():
        speed, ratio = side["tokens_per_second"], side.get("ratio")
        times = f"{ratio['median']:.2f}× ({ratio['least']:.2f}–{ratio['most']:.2f})" if ratio else ""
        rows.append(
            f"| {name} | {side['version']} | {speed['median']:,} | {speed['least']:,}–{speed['most']:,} | {times} "
            f"| {side['tokens_per_update']:,} |"
        )
    return "\n".join(rows)


def _describe(options: argparse.Namespace, versions: dict[str, str]) -> dict[str, Any]:
    return {
        "rounds": options.rounds,
        "steps": options.steps,
        "warmup": WARMUP,
        "batch_tokens": BATCH_TOKENS,
        "pieces": PIECES,
        "corpus": options.data.name,
        **describe_run(PEERS=options.peers, WORK=options.work, DATA=options.data.parent),
        "torch": importlib.metadata.version("torch"),
        "models": {preset: asdict(PRESETS[preset]) for preset in options.presets},
    }


def _name_panel(result: dict[str, Any], preset: str) -> str:
    shape = "{n_layers}+{n_layers} layers, d_model {d_model}, d_ff {d_ff}".format_map(result["models"][preset])
    return f"{preset}: {shape}"


def _bars(sides: dict[str, Any]) -> dict[str, Any]:
    bars = {}
    for name, side in sides.items():
        title = f"{name_side(name)} {side['version'].partition('+')[0]}"  # 2.13.0+cpu is 2.13.0
        note = f"Headway {side['ratio']['median']:.1f}×" if "ratio" in side else ""
        bars[title] = {"tokens_per_second": side["tokens_per_second"], "ours": name == "headway", "note": note}
    return bars


def _write(result: dict[str, Any], stem: Path) -> None:
    stem.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{stem}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if any(result["presets"].values()):
        draw_chart(
            {_name_panel(result, preset): _bars(sides) for preset, sides in result["presets"].items() if sides},
            "Training speed: target tokens a second",
            "{cores} cores of {processor}; median of {rounds} interleaved rounds, lines from the slowest to the fastest".format(
                **result["machine"], rounds=result["rounds"]
            ),
            stem,
        )


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
