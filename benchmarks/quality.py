"""What each setting is worth on small corpora, one change at a time: the tables of docs/quality.md.

    python benchmarks/quality.py --data DATA [--corpora twi] [--questions pieces dropout] [--seeds 1 2] [--work runs/quality]

Every model has the same computing to learn with: so many floating-point operations, whatever an update costs it. So a figure
depends on neither the machine nor what else it does, and what is dearer an update makes fewer of them, as it would at home.
Corpora are asked side by side, each on one core of those that this process may use. Models are judged on their corpus's
validation part; another one to choose the best update by is cut off the training text, and test sets are not looked at. Each
answer is a file in results/quality, with a table and a picture of all; what is answered is not asked again. Base's translations
are kept too: all others are compared with them.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from machine import tell_command
from quality_answers import BASE, METRICS, draw_picture, make_overview, make_table, read_answers

from headway.config import options as list_settings
from headway.errors import HeadwayError
from headway.evaluation.evaluate import evaluate
from headway.evaluation.evaluation import System
from headway.experiments.ablation import parse_changes
from headway.experiments.experiment import describe_machine
from headway.reports.runs.tested import read_tested

RESULTS = Path(__file__).parent / "results" / "quality"
OPERATIONS = 25e12  # of a model: some twelve minutes of a core
SETTINGS = (
    "preset=tiny vocab-size=4000 dropout=0.2 batch-tokens=1024 learning-rate=0.003 precision=fp32 patience=0 length-penalty=0.6"
)


class Corpus(NamedTuple):
    stem: str
    judged: str
    source: str
    target: str
    every: int = 1  # pair of so many is taken
    times: int = 1  # as much computing for each model as elsewhere


CORPORA = {
    "multi30k": Corpus("multi30k/train", "multi30k/val", "en", "de", every=3),  # 9,700 pairs, read 13 times
    "twi": Corpus("twi_everyday/train", "twi_everyday/val", "en", "twi"),  # 23,000 pairs, read 9 times
    "multi30k-few": Corpus("multi30k/train", "multi30k/val", "en", "de", every=6),  # 4,700 pairs, read 32 times
    "multi30k-long": Corpus("multi30k/train", "multi30k/val", "en", "de", times=3),  # 29,000 pairs, read 13 times
    "tatoeba": Corpus("tatoeba_en-de/train", "tatoeba_en-de/val", "en", "de"),  # 160,000 pairs, read 1.2 times
}
QUESTIONS = {
    "r-drop": ["r-drop=5"],
    "pieces": ["vocab-size=2000", "vocab-size=8000", "kind=unigram"],
    "dropout": ["dropout=0.1", "dropout=0.3", "attention-dropout=0.1 activation-dropout=0.1", "word-dropout=0.1"],
    "rate": ["learning-rate=0.0015", "learning-rate=0.006", "learning-rate=0.012", "schedule=cosine", "schedule=inverse-sqrt"],
    "size": ["preset=small learning-rate=0.0015"],
    "shape": ["n-layers=2", "n-layers=6 n-decoder-layers=2", "d-model=192 d-ff=384 learning-rate=0.002", "d-ff=512"],
    "norm": ["norm=post"],
    "optimizer": ["optimizer=adam"],
    "batch": ["batch-tokens=512", "batch-tokens=2048"],
    "sampling": ["sampling=0.1", "kind=unigram sampling=0.2"],
    "smoothing": ["label-smoothing=0", "label-smoothing=0.2"],
    "averaging": ["average=1", "ema=0.999"],
    "names": ["other-names=1", "other-names=3"],
    "search": ["beam=1", "beam=10", "length-penalty=0", "length-penalty=1", "length-penalty=1.5"],
}


def main() -> None:
    options = parse()
    cores: SimpleQueue[int] = SimpleQueue()
    for core in os.sched_getaffinity(0):
        cores.put(core)
    with ThreadPoolExecutor(cores.qsize()) as pool:
        lanes = [pool.submit(run_lane, cores, name, options) for name in options.corpora]
    tell_answers(read_answers(RESULTS), RESULTS)
    for lane in lanes:
        lane.result()  # or the error that ended it


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory of the corpora")
    parser.add_argument("--work", type=Path, default=Path("runs/quality"), help="where the models are put")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA)[:3], help="side by side")
    parser.add_argument("--questions", nargs="*", choices=QUESTIONS, default=list(QUESTIONS), help="in this order")
    parser.add_argument(
        "--also", nargs="*", default=[], metavar="CHANGE", help="changes that no question asks for, as 'dropout=0.4 norm=post'"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    options = parser.parse_args(words)
    try:
        for change in options.also:
            parse_changes(change)
    except HeadwayError as error:
        parser.error(str(error))
    return options


def run_lane(cores: "SimpleQueue[int]", name: str, options: argparse.Namespace) -> None:
    """One corpus, on a core that is free."""
    core = cores.get()
    try:
        ask_all(core, name, options)
    finally:
        cores.put(core)


def ask_all(core: int, name: str, options: argparse.Namespace) -> None:
    """One change after the other."""
    lay_out(name, options)
    changes = [BASE, *(change for question in options.questions for change in QUESTIONS[question]), *options.also]
    for seed in options.seeds:
        for change in changes:
            kept = find_place(RESULTS, name, change, seed)
            if is_answered(kept, change):
                continue
            answer, translations = ask(core, name, change, seed, options)
            kept.parent.mkdir(parents=True, exist_ok=True)
            if change == BASE:
                kept.with_suffix(".txt").write_text("".join(f"{line}\n" for line in translations), encoding="utf-8")
            kept.with_suffix(".json").write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
            print(f"{name}, {change}, seed {seed}: BLEU {answer['bleu']:.2f}, chrF {answer['chrf']:.2f}", flush=True)


def tell_answers(answers: Sequence[dict[str, Any]], directory: Path) -> None:
    (directory / "table.md").write_text(make_table(answers, order), encoding="utf-8")
    draw_picture(answers, order, directory / "picture")
    print(f"For docs/quality.md:\n\n{make_overview(answers, order)}", flush=True)


def find_place(directory: Path, corpus: str, change: str, seed: int) -> Path:
    return directory / corpus / f"{change.replace(' ', ',').replace('.', '_')}-{seed}"


def is_answered(kept: Path, change: str) -> bool:
    return kept.with_suffix(".json").exists() and (change != BASE or kept.with_suffix(".txt").exists())


def lay_out(name: str, options: argparse.Namespace) -> None:
    """The share of the corpus that is asked for, as a corpus of its own."""
    corpus = CORPORA[name]
    for side in (corpus.source, corpus.target):
        place = options.work / name / f"train.{side}"
        place.parent.mkdir(parents=True, exist_ok=True)
        lines = read_lines(options.data / f"{corpus.stem}.{side}")
        place.write_text("".join(f"{line}\n" for line in lines[:: corpus.every]), encoding="utf-8")


def ask(core: int, name: str, change: str, seed: int, options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Train and judge one model, beside base with the same seed; with what it wrote."""
    trained = BASE if only_searches(change) else change
    begun = time.monotonic()
    run, plan = train(core, name, trained, seed, options)
    if trained == change:
        translations = [one.translation for one in read_tested(run / "test.jsonl")]
    else:
        judged = options.data / f"{CORPORA[name].judged}.{CORPORA[name].source}"
        written = call(core, run, "translate", run / "best", judged, "--compute-type", "float32", *list_options(change))
        translations = written.split("\n")[:-1]
    seconds = time.monotonic() - begun
    of_base = translations if change == BASE else read_lines(find_place(RESULTS, name, BASE, seed).with_suffix(".txt"))
    references = read_lines(options.data / f"{CORPORA[name].judged}.{CORPORA[name].target}")
    found = evaluate([System(BASE, [of_base]), System(change, [translations])], [references])
    result, compared = found.results[-1], {one.metric: one for one in found.comparisons}
    asking = ["--questions", *find_question(change), *([] if find_question(change) or change == BASE else ["--also", change])]
    told = [sys.argv[0], "--data", str(options.data), "--corpora", name, *asking, "--seeds", str(seed)]
    scores = {metric: round(result.mean[metric], 2) for metric in METRICS}
    answer = {
        "corpus": name,
        "change": change,
        "settings": SETTINGS,
        "operations": count_operations(name),
        "seed": seed,
        **scores,
        "intervals": {metric: result.interval[metric] for metric in scores},
        "differences": {metric: [compared[metric].difference, compared[metric].interval] for metric in scores},
        "updates": plan["steps"],
        "epochs": round(plan["epochs"], 1),
        "parameters": plan["parameters"],
        "seconds": round(seconds),
        "machine": describe_machine(),
        "command": tell_command(told, {"DATA": options.data}),
    }
    return answer, translations


def train(core: int, name: str, change: str, seed: int, options: argparse.Namespace) -> tuple[Path, dict[str, Any]]:
    """The run of one model, and what it comes to; one that is there is looked at, and refused if its settings were others."""
    run, words = find_place(options.work, name, change, seed), list(list_words(name, change, seed, options))
    plan = json.loads(call(core, run, "plan", *words, "--max-steps", 1000, "--seconds", 0, "--json"))
    steps = round(1000 * count_operations(name) / plan["flops"])
    call(core, run, "train", *words, "--max-steps", steps, "--out", run)
    return run, {**plan, "steps": steps, "epochs": steps / 1000 * plan["epochs"]}


def count_operations(name: str) -> float:
    return OPERATIONS * CORPORA[name].times


def find_question(change: str) -> list[str]:
    """That asks for a change; none for what was asked by the way."""
    return [question for question, changes in QUESTIONS.items() if change in changes]


def list_words(name: str, change: str, seed: int, options: argparse.Namespace) -> Iterator[object]:
    """The options of a model: base's, but for those that are changed."""
    corpus = CORPORA[name]
    yield from ("--train", options.work / name / "train", "--test", options.data / corpus.judged)
    yield from ("--from", corpus.source, "--to", corpus.target, "--seed", seed, "--processes", 1, "--threads", 1)
    yield from list_options(SETTINGS, *([] if change == BASE else [change]))


def list_options(*changes: str) -> Iterator[str]:
    """`dropout=0.1 norm=post` as a command takes it; later ones win."""
    for option, value in dict(word.split("=") for change in changes for word in change.split()).items():
        yield from (f"--{option}", value)


def only_searches(change: str) -> bool:
    """Whether base's model has only to be asked in another manner."""
    known = list_settings()
    return change != BASE and all(known[word.split("=")[0]][0] == "decoding" for word in change.split())


def call(core: int, run: Path, *words: object) -> str:
    """What a command prints, on a core of its own; what it says goes to a log beside the run."""
    run.parent.mkdir(parents=True, exist_ok=True)
    command = ["taskset", "-c", str(core), sys.executable, "-m", "headway", *map(str, words)]
    with run.with_suffix(".log").open("a", encoding="utf-8") as log:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"headway {words[0]} failed: see {log.name}")
    return done.stdout


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def order(changes: Iterable[str]) -> list[str]:
    """As they are asked; what no question asks for comes last, by its name."""
    asked = [BASE, *(change for question in QUESTIONS.values() for change in question)]
    return sorted(changes, key=lambda change: (asked.index(change) if change in asked else len(asked), change))


if __name__ == "__main__":
    main()
