"""Evaluating two systems, after decoding: `headway evaluate` against the command `sacrebleu`, on the same files.

    python benchmarks/evaluation.py --references test.de --systems ours.de theirs.de [--source test.en] [--rounds 3]

BLEU, chrF and TER of each system with intervals, and both paired tests: bootstrap with 1,000 draws, randomisation with 10,000
trials. sacreBLEU makes one test a call, so it is called twice, and both calls count. Headway counts on all cores; sacreBLEU has
one process, for its `--paired-jobs` is one for each system beside the first. Headway's breakdowns are in its time. Whole
commands are timed, one after the other, and all over again each round; ratios are taken within a round. Scores must be the same
to the last digit and p-values within 0.01. Without --systems, two are made from the references by damaging them, always
alike; without --references, these are of the phrasebook. Writes OUT.
"""

import argparse
import importlib.metadata
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_run

from headway.data.phrasebook import make_pairs
from headway.data.readers import read_lines
from headway.evaluation.evaluation import TITLES

DRAWS, TRIALS = 1000, 10_000
NEAR = 0.01  # that p-values may differ by
DIGITS, DIGITS_OF_P = 12, 4  # that sacreBLEU is asked to print, and of p-values those that it always does
DAMAGE = {"a": 0.420, "b": 0.415}  # share of words, as much as in a translation; so near that neither test is sure
TESTS = {"bootstrap": ("--paired-bs", "--paired-bs-n", DRAWS), "randomisation": ("--paired-ar", "--paired-ar-n", TRIALS)}

Figures = dict[tuple[str, ...], float]  # a score by metric and system, a p-value by metric and test


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory() as work:
        files = lay_out(options, Path(work))
        result = describe(options) | measure(files, options.rounds)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for name, side in result["sides"].items():
        ratio = f", Headway is {side['ratio']['median']:.2f} times as fast" if "ratio" in side else ""
        print(f"{name}: {side['seconds']['median']:.1f} s{ratio}")
    apart = result["agreement"]
    print(f"Scores differ by at most {apart['scores']}, p-values by at most {apart['p_values']}\n{options.out}")
    if apart["scores"] or apart["p_values"] > NEAR:
        sys.exit(f"Scores must be the same, and p-values within {NEAR}.")


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--references", type=Path, help="what the systems should have written")
    parser.add_argument("--systems", type=Path, nargs=2, help="what they wrote")
    parser.add_argument("--source", type=Path, help="what they translated, for Headway's breakdown by names")
    parser.add_argument("--sentences", type=int, default=3000, help="this many; from the beginning again if there are fewer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "evaluation.json")
    options = parser.parse_args(words)
    if options.systems and not options.references:
        parser.error("--systems need their --references")
    return options


def lay_out(options: argparse.Namespace, work: Path) -> dict[str, Path]:
    """Files of the wanted number of lines: `references`, systems `a` and `b`, and `source` if there is one."""
    if options.references:
        texts = {"references": list(read_lines(options.references))}
    else:
        texts = {"references": [pair.german for pair in make_pairs(options.sentences)]}
    if options.source:
        texts["source"] = list(read_lines(options.source))
    if options.systems:
        texts |= {name: list(read_lines(path)) for name, path in zip(DAMAGE, options.systems, strict=True)}
    texts = {name: list(islice(cycle(lines), options.sentences)) for name, lines in texts.items()}
    if not options.systems:
        texts |= {name: damage(texts["references"], share, seed) for seed, (name, share) in enumerate(DAMAGE.items())}
    for name, lines in texts.items():
        (work / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {name: work / name for name in texts}


def damage(lines: Sequence[str], share: float, seed: int) -> list[str]:
    """Sentences in which so many words are lost, said twice, taken from another sentence, or moved to another place."""
    random = np.random.default_rng(seed)
    vocabulary = [word for line in lines for word in line.split()]
    damaged = []
    for line in lines:
        words: list[str] = []
        for word in line.split():
            fault = random.integers(4) if random.random() < share else None
            if fault is None:
                words.append(word)
            elif fault == 1:
                words += [word, word]
            elif fault == 2:
                words.append(vocabulary[random.integers(len(vocabulary))])
            elif fault == 3:
                words.insert(int(random.integers(len(words) + 1)), word)
        damaged.append(" ".join(words))
    return damaged


def measure(files: dict[str, Path], rounds: int) -> dict[str, Any]:
    """Seconds of each side, how many times as fast Headway is, and how far its figures are from sacreBLEU's."""
    seconds: dict[str, list[float]] = {"headway": [], "sacrebleu": []}
    for number in range(1, rounds + 1):
        taken, ours = run_headway(files)
        seconds["headway"].append(taken)
        taken, theirs = run_sacrebleu(files)
        seconds["sacrebleu"].append(taken)
        told = ", ".join(f"{name} {side[-1]:.1f} s" for name, side in seconds.items())
        print(f"round {number} of {rounds}: {told}", file=sys.stderr, flush=True)
    sides: dict[str, Any] = {
        name: {"seconds": _spread(side), "rounds": [round(one, 2) for one in side]} for name, side in seconds.items()
    }
    sides["sacrebleu"]["ratio"] = _spread([b / a for a, b in zip(*seconds.values(), strict=True)])
    return {"rounds": rounds, "sides": sides, "agreement": _compare(ours, theirs)}


def run_headway(files: dict[str, Path]) -> tuple[float, Figures]:
    words = ["--hypotheses", files["a"], "--compare", files["b"], "--references", files["references"], "--json"]
    words += ["--source", files["source"]] if "source" in files else []
    taken, said = _run("headway", "evaluate", *words, "--draws", DRAWS)
    found, figures = json.loads(said), Figures()
    for metric, title in TITLES.items():
        figures |= {(title, name): system[metric]["score"] for name, system in zip(DAMAGE, found["systems"], strict=True)}
    for one in found["comparisons"]:
        figures |= {(TITLES[one["metric"]], test): one[f"{test}_p"] for test in TESTS}
    return taken, figures


def run_sacrebleu(files: dict[str, Path]) -> tuple[float, Figures]:
    words = ["-i", *(files[name] for name in DAMAGE), "-m", "bleu", "chrf", "ter"]
    words += ["--format", "latex", "--width", DIGITS, "--no-color"]  # its JSON of the bootstrap ends in an error of its own
    seconds, figures = 0.0, Figures()
    for test, (which, how_often, times) in TESTS.items():
        taken, said = _run("sacrebleu", files["references"], *words, which, how_often, times)
        seconds += taken
        figures |= read_table(said, test)
    return seconds, figures


def read_table(said: str, test: str) -> Figures:
    """sacreBLEU's own, in LaTeX: under its head a row for each system, with a score a metric and behind the second's its p."""
    rows = [line.rstrip("\\ ").split("&")[1:] for line in said.splitlines() if "&" in line][1:]
    figures: Figures = {}
    for name, cells in zip(DAMAGE, rows, strict=True):
        figures |= {(title, name): float(cell.split()[0]) for title, cell in zip(TITLES.values(), cells, strict=True)}
    for title, cell in zip(TITLES.values(), rows[1], strict=True):
        figures[title, test] = float(cell.partition("(p = ")[2].partition(")")[0])
    return figures


def _run(module: str, *words: object) -> tuple[float, str]:
    """Seconds that a command takes, and what it prints."""
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", module, *map(str, words)], capture_output=True, text=True, check=False)
    taken = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"{module} failed:\n{done.stderr}")
    return taken, done.stdout


def _compare(ours: Figures, theirs: Figures) -> dict[str, Any]:
    """The largest differences of scores and of p-values, and all figures of both, with the digits that sacreBLEU prints."""
    ours = {key: round(value, DIGITS if key[1] in DAMAGE else DIGITS_OF_P) for key, value in ours.items()}
    apart = {key: round(abs(ours[key] - theirs[key]), DIGITS) for key in ours}
    return {
        "scores": max(value for key, value in apart.items() if key[1] in DAMAGE),
        "p_values": max(value for key, value in apart.items() if key[1] in TESTS),
        "headway": {", ".join(key): value for key, value in ours.items()},
        "sacrebleu": {", ".join(key): theirs[key] for key in ours},
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    found = {"median": statistics.median(values), "least": min(values), "most": max(values)}
    return {name: round(value, 2) for name, value in found.items()}


def describe(options: argparse.Namespace) -> dict[str, Any]:
    return {
        **describe_run(DATA=options.references.parent.parent if options.references else None),
        "versions": {"sacrebleu": importlib.metadata.version("sacrebleu")},
        "sentences": options.sentences,
        "draws": DRAWS,
        "trials": TRIALS,
        "references": options.references.name if options.references else "phrasebook",
        "systems": [path.name for path in options.systems] if options.systems else "references, damaged",
    }


if __name__ == "__main__":
    main()
