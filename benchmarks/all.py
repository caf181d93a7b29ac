"""Everything that is measured, one after the other, beside other programs where there are some; ends with one table of it all.

    make benchmarks DATA=data [WORK=runs/benchmarks] [ONLY="training evaluation"]
    python benchmarks/all.py --data data [--work runs/benchmarks] [--only training evaluation]

DATA holds multi30k/ (train, val, test2016 and test2017, each .en and .de); the trained relatives, which are measured only when
asked for, want tinyshakespeare/, sst2/ and mnist/ too. WORK gets the other toolkits, each in an environment of its own, and the
models. --only chooses steps by name or by its beginning: `training` is training-tiny and training-small. What a step needs is
made before it unless it is there. A step that fails does not stop the others. Nothing else should run on the machine.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from headway.progress import duration

HERE = Path(os.path.relpath(Path(__file__).parent))
RESULTS = HERE / "results"
KEPT = ("results.json", "table.md", "*.png", "*.svg")  # of an experiment
MODEL_MINUTES = 5  # of training each of an experiment's models
MODEL = ["--batch-tokens", 1024, "--dropout", 0.1]  # learned most in so few minutes, by validation

# On two cores. An experiment's models that another one before it has trained are not counted again.
MINUTES_OF_EXPERIMENTS = {
    "table3": 105,
    "scaling": 17,
    "smoothing": 6,
    "averaging": 14,
    "positions": 18,
    "heads": 4,
    "complexity": 6,
    "rnn": 14,
}
MINUTES_OF_FAMILY = {"cache": 4, "imported": 3, "gpt": 6, "bert": 52, "vit": 25, "t5": 25, "denoise": 50}


@dataclass(frozen=True)
class Step:
    name: str
    minutes: float  # that it is expected to take
    command: list[str]
    results: Path  # what it leaves, a file or a directory
    needs: str = ""  # the step that comes before
    is_preparation: bool = False  # for others: left out when its results are there
    on_demand: bool = False  # only when it is asked for
    copied_from: Path | None = None  # where an experiment's results are made

    def is_meant_by(self, word: str) -> bool:
        return self.name == word or self.name.startswith(f"{word}-")


def list_steps(data: Path, work: Path) -> list[Step]:
    multi30k, peers, model = data / "multi30k", work / "peers", work / "multi30k-en-de"
    training = ["--data", multi30k, "--peers", peers, "--work", work]
    tiny = ["--presets", "tiny", "--rounds", 3, "--steps", 30, "--out", RESULTS / "training-tiny"]
    small = ["--presets", "small", "--rounds", 2, "--steps", 20, "--out", RESULTS / "training-small"]
    fast = ["--sides", "headway", "nn.Transformer", "eole", "marian"]
    translating = ["--model", model / "best", "--text", multi30k / "train.en", "--title", "tiny (4+4 layers, d_model 128)"]
    judging = ["--source", multi30k / "test2016.en", "--references", multi30k / "test2016.de"]
    decoding = [*translating, *judging, "--rounds", 2, "--out", RESULTS / "decoding-tiny"]
    evaluation = ["--references", multi30k / "train.de", "--source", multi30k / "train.en"]
    last_translation = model.with_name(f"{model.name}-test2017.de")  # with which multi30k.sh ends
    return [
        Step("peers", 10, _bash("peers/install.sh", peers), peers / "installed", is_preparation=True),
        Step("training-tiny", 25, _python("training.py", *training, *tiny), RESULTS / "training-tiny.json", "peers"),
        Step("training-small", 16, _python("training.py", *training, *small, *fast), RESULTS / "training-small.json", "peers"),
        Step("multi30k-en-de", 65, _bash("multi30k.sh", multi30k, model), last_translation, is_preparation=True),
        Step("decoding-tiny", 35, _python("decoding.py", *decoding), RESULTS / "decoding-tiny.json", "multi30k-en-de"),
        Step("ablation", 2, _python("ablation.py"), RESULTS / "ablation.json"),
        Step("evaluation", 5, _python("evaluation.py", *evaluation), RESULTS / "evaluation.json"),
        *(_relative(name, data, work / "family") for name in MINUTES_OF_FAMILY),
        *(_experiment(name, multi30k, model / "best", work / "experiments") for name in MINUTES_OF_EXPERIMENTS),
        Step("scale", 15, _python("scale.py", "--work", work / "scale"), RESULTS / "scale.json", on_demand=True),
        Step("table", 0.1, _python("table.py"), RESULTS / "table.md"),
    ]


def _python(script: str, *words: object) -> list[str]:
    return ["python", f"{HERE}/{script}", *map(str, words)]


def _bash(script: str, *words: object) -> list[str]:
    return ["bash", f"{HERE}/{script}", *map(str, words)]


def _relative(name: str, data: Path, work: Path) -> Step:
    """Of the family. Those that are to be trained take hours together."""
    command = _python("family.py", name, "--data", data, "--work", work)
    on_demand = name not in ("cache", "imported")
    return Step(f"family-{name}", MINUTES_OF_FAMILY[name], command, RESULTS / "family.json", on_demand=on_demand)


def _experiment(name: str, multi30k: Path, model: Path, out: Path) -> Step:
    """Heads are looked at in the hour's model; layers alone need no text."""
    test = ["--test", multi30k / "test2016", "--from", "en", "--to", "de"]
    corpora = ["--train", multi30k / "train", "--valid", multi30k / "val", *test, *MODEL, "--max-minutes", MODEL_MINUTES]
    words = {"complexity": ["--max-minutes", MODEL_MINUTES], "heads": ["--model", model, *test]}.get(name, corpora)
    command = ["headway", "experiment", name, *map(str, words), "--out", str(out)]
    minutes, kept = MINUTES_OF_EXPERIMENTS[name], RESULTS / "experiments" / name
    needs = "multi30k-en-de" if name == "heads" else ""
    return Step(f"experiment-{name}", minutes, command, kept, needs, copied_from=out / name)


def main() -> None:
    options = parse()
    steps = choose(list_steps(options.data, options.work), options.only)
    tell(steps)
    options.work.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    for number, step in enumerate(steps, start=1):
        print(f"\n[{number}/{len(steps)}] {step.name}", flush=True)
        if step.needs in failed:
            print(f"Not tried: {step.needs} failed.", flush=True)
            failed.append(step.name)
        elif not run(step):
            failed.append(step.name)
    if failed:
        again = shlex.quote(" ".join(failed))
        sys.exit(f"\nFailed: {', '.join(failed)}. What they said stands above; ONLY={again} tries them again.")
    print(f"\nAll done: {RESULTS / 'table.md'}")


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory with multi30k in it")
    parser.add_argument("--work", type=Path, default=Path("runs/benchmarks"), help="where toolkits and models are put")
    parser.add_argument("--only", nargs="*", default=[], help="steps, by name or the beginning of it")
    options = parser.parse_args(words)
    needed = [f"{part}.{side}" for part in ("train", "val", "test2016", "test2017") for side in ("en", "de")]
    missing = [name for name in needed if not (options.data / "multi30k" / name).exists()]
    if missing:
        parser.error(f"{options.data / 'multi30k'} lacks {', '.join(missing)}")
    known = list_steps(options.data, options.work)
    for word in options.only:
        if not any(step.is_meant_by(word) for step in known):
            parser.error(f"there is no step {word}; there are {', '.join(step.name for step in known)}")
    return options


def choose(steps: Sequence[Step], only: Sequence[str]) -> list[Step]:
    """Those that are asked for, what they need and is not there yet, and the table at the end."""
    asked = {step.name for step in steps if any(step.is_meant_by(word) for word in only)}
    wanted = asked or {step.name for step in steps if not step.on_demand and not step.is_preparation}
    wanted = wanted | {step.needs for step in steps if step.name in wanted} | {"table"}
    return [
        step
        for step in steps
        if step.name in wanted and (step.name in asked or not step.is_preparation or not step.results.exists())
    ]


def tell(steps: Sequence[Step]) -> None:
    for step in steps:
        print(f"{duration(60 * step.minutes):>12}  {step.name}")
    seconds = 60 * sum(step.minutes for step in steps)
    print(f"{duration(seconds):>12}  in all: until {datetime.now() + timedelta(seconds=seconds):%a %H:%M}", flush=True)


def run(step: Step) -> bool:
    """Whether it came through and left what it should."""
    print(f"$ {shlex.join(step.command)}", flush=True)
    begun = time.monotonic()
    own = Path(sys.executable).parent  # where `python` and `headway` are those that run this
    environment = {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(step.command, env=environment, check=False)
    came_through = done.returncode == 0
    if came_through and step.copied_from:
        copy_results(step.copied_from, step.results)
    came_through = came_through and step.results.exists()
    print(f"{step.name} {'took' if came_through else 'FAILED after'} {duration(time.monotonic() - begun)}", flush=True)
    return came_through


def copy_results(made: Path, kept: Path) -> None:
    """What an experiment has found, without its models."""
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for pattern in KEPT:
        for path in made.glob(pattern):
            shutil.copy2(path, kept)


if __name__ == "__main__":
    main()
