"""What each setting is worth on two small corpora, one change at a time: the tables of docs/quality.md.

    python benchmarks/quality.py --data DATA [--work runs/quality] [--minutes 10] [--seeds 1]

Each corpus is one `headway experiment ablation`, which grows by one question after the other. The corpora are asked side by
side, each on one core and with the same minutes for every model, so that what costs more per update makes fewer of them, as it
would at home. Models are judged on the corpus's own validation part; another one to choose the best update by is cut off the
training text, and the test sets are not looked at. The same command goes on where it stood. After each question the results are
copied to benchmarks/results/quality.
"""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread

from all import copy_results

HERE = Path(os.path.relpath(Path(__file__).parent))
RESULTS = HERE / "results" / "quality"
CORPORA = {  # text to train on, to judge by, languages
    "multi30k": ("multi30k/train", "multi30k/val", "en", "de"),
    "twi": ("twi_everyday/train", "twi_everyday/val", "en", "twi"),
}
QUESTIONS = {
    "optimizer": ["optimizer=adam"],
    "shape": ["n-layers=2", "n-layers=1", "n-layers=6 n-decoder-layers=2", "d-model=64 d-ff=128", "d-model=256 d-ff=512"],
    "dropout": ["dropout=0", "dropout=0.1", "dropout=0.3", "attention-dropout=0.1 activation-dropout=0.1", "word-dropout=0.1"],
    "batch": ["batch-tokens=512", "batch-tokens=2048", "batch-tokens=4096"],
    "rate": ["learning-rate=0.0015", "learning-rate=0.006", "schedule=cosine", "schedule=inverse-sqrt"],
    "pieces": ["vocab-size=2000", "vocab-size=4000", "kind=unigram"],
    "sampling": ["sampling=0.1", "kind=unigram sampling=0.2"],
    "norm": ["norm=post"],
    "smoothing": ["label-smoothing=0", "label-smoothing=0.2"],
    "averaging": ["average=1", "average=10", "ema=0.999"],
    "r-drop": ["r-drop=5"],
    "search": ["beam=1", "beam=10", "length-penalty=0", "length-penalty=1"],
}


def main() -> None:
    options = parse()
    lanes = [Thread(target=run_lane, args=(core, name, options)) for core, name in enumerate(options.corpora)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory of the corpora")
    parser.add_argument("--work", type=Path, default=Path("runs/quality"), help="where the models are put")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA), help="one a core")
    parser.add_argument("--minutes", type=float, default=10, help="of each model, on one core")
    parser.add_argument("--seeds", type=int, default=1)
    return parser.parse_args(words)


def run_lane(core: int, corpus: str, options: argparse.Namespace) -> None:
    """The questions one after the other."""
    place = options.work / corpus
    place.mkdir(parents=True, exist_ok=True)
    for question, command in list_commands(corpus, options):
        print(f"{corpus}, {question}: {shlex.join(command)}", flush=True)
        with (place / "log").open("a") as log:
            done = subprocess.run(["taskset", "-c", str(core), *command], stdout=log, stderr=log, check=False)
        if done.returncode:
            print(f"{corpus}, {question}: FAILED, see {log.name}", flush=True)
            return
        copy_results(place / "ablation", RESULTS / corpus)


def list_commands(corpus: str, options: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Each question's name and the command that asks it, and all before it, whose models are there by then."""
    train, judged, source, target = CORPORA[corpus]
    words = ["--train", options.data / train, "--test", options.data / judged, "--from", source, "--to", target]
    budget = ["--max-minutes", options.minutes, "--processes", 1, "--threads", 1, "--seeds", options.seeds]
    headway, changes = Path(sys.executable).parent / "headway", list[str]()
    for question, varied in QUESTIONS.items():
        changes += [word for change in varied for word in ("--vary", change)]
        every = [headway, "experiment", "ablation", *words, *budget, *changes, "--out", options.work / corpus]
        yield question, list(map(str, every))


if __name__ == "__main__":
    main()
