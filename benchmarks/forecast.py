"""What `headway plan --quality` foretells of a corpus, and what training on all of it then comes to, on the validation part.

    python benchmarks/forecast.py --data DATA --corpus multi30k/train en de 6000 --corpus twi_everyday/train en twi 6000 \\
        [--work runs/forecast] [--settings preset=tiny ...]

A corpus is a stem below DATA, its two languages, and the updates of the training that is foretold; the forecast before it makes
7/8 as many. So how busy the machine is does not move a figure. Held-out parts are cut off the corpus. Settings hold for all, by
the names of their options. The same command goes on where it stood. Writes OUT after each corpus.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from machine import describe_run

METRICS = {"bleu": "BLEU", "chrf": "chrF"}


class Corpus(NamedTuple):
    stem: str
    source: str
    target: str
    updates: int

    @property
    def name(self) -> str:
        return f"{self.stem.replace('/', '-')}-{self.source}-{self.target}"


def main() -> None:
    options = parse()
    found: list[dict[str, Any]] = []
    for corpus in options.corpus:
        found.append(check(corpus, options))
        options.out.parent.mkdir(parents=True, exist_ok=True)
        result = {**describe_run(DATA=options.data, WORK=options.work), "corpora": found}
        options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        for metric, title in METRICS.items():
            print(
                f"{corpus.name}: {title} {found[-1]['came'][metric]}, {tell(found[-1]['quality'][metric])} foretold", flush=True
            )
    print(options.out)


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory of the corpora")
    parser.add_argument(
        "--corpus", nargs=4, action="append", required=True, metavar=("STEM", "FROM", "TO", "UPDATES"), help="repeatable"
    )
    parser.add_argument("--work", type=Path, default=Path("runs/forecast"), help="where the models are put")
    parser.add_argument("--settings", nargs="*", default=[], metavar="NAME=VALUE", help="of all trainings")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "forecast.json")
    options = parser.parse_args(words)
    try:
        options.corpus = [Corpus(stem, source, target, int(updates)) for stem, source, target, updates in options.corpus]
    except ValueError as error:
        parser.error(f"updates are a whole number: {error}")
    return options


def check(corpus: Corpus, options: argparse.Namespace) -> dict[str, Any]:
    """The forecast first, then the training, in one directory: both read the same data."""
    from headway.data.pairtext import read_pairs
    from headway.evaluation.metrics import score
    from headway.translator import load

    run = options.work / corpus.name
    words = ["--train", options.data / corpus.stem, "--from", corpus.source, "--to", corpus.target]
    words += ["--max-steps", corpus.updates, *(f"--{setting}" for setting in options.settings), "--out", run]
    plan = json.loads(headway("plan", *words, "--quality", "--json"))
    headway("train", *words)
    pairs = list(read_pairs(run / "data", "valid"))
    translated = load(run / "best", compute_type="float32").translate([source for source, _ in pairs])
    scores = score([one.text for one in translated], [[target for _, target in pairs]])
    came = {metric: round(getattr(scores, metric).score, 2) for metric in METRICS}
    return {"corpus": corpus._asdict(), "pairs": plan["pairs"], "quality": plan["quality"], "came": came}


def headway(*words: object) -> str:
    """What a command prints; what it says meanwhile is shown."""
    done = subprocess.run([sys.executable, "-m", "headway", *map(str, words)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"headway {words[0]} failed.")
    return done.stdout


def tell(forecast: dict[str, Any] | None) -> str:
    """With its interval."""
    if forecast is None:
        return "nothing"
    low, high = forecast["interval"]
    return f"{forecast['score']:.1f} [{low:.1f}, {high:.1f}]"


if __name__ == "__main__":
    main()
