"""The sides that are measured: how each is started, and what its own log says of tokens and time.

Every side prints a report every ten updates. What they have in common is `Report`: real target tokens so far, eos counted and
padding not, and seconds so far. A speed is the difference of two reports, so loading and the first updates are not in it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from string import Template
from typing import NamedTuple

from headway.cores import count_cores
from headway.models.presets import PRESETS

from .corpus import SOURCE, TARGET, Corpus

HERE = Path(__file__).parent
CORES = count_cores()
REPORT_EVERY, WARMUP = 10, 10  # updates
BATCH_TOKENS = 4096  # real target tokens of an update, for all
TAIL = 8  # lines of a log that are shown when a side fails


class Report(NamedTuple):
    """What a side has done since it began, or since any fixed moment before its first report."""

    step: int
    tokens: float
    seconds: float


class Speed(NamedTuple):
    tokens_per_second: float
    tokens_per_update: float


@dataclass(frozen=True)
class Task:
    """One run of one side: `work` is its own directory, `shared` one that all its runs have in common."""

    preset: str
    steps: int
    corpus: Corpus
    python: Path
    work: Path
    shared: Path

    def fill(self, template: str, batch: int) -> Path:
        """A toolkit's settings file for this task."""
        text = Template((HERE / template).read_text(encoding="utf-8")).substitute(
            vars(PRESETS[self.preset]),
            work=self.work,
            cut=self.corpus.cut,
            steps=self.steps,
            batch=batch,
            report_every=REPORT_EVERY,
        )
        path = self.work / template
        path.write_text(text, encoding="utf-8")
        return path


@dataclass(frozen=True)
class Side:
    name: str
    package: str  # whose version counts
    environment: str | None  # directory of its virtual environment; None: the one that runs the benchmark
    threads: int | None  # OMP_NUM_THREADS; None: it chooses by itself
    command: Callable[[Task], list[str | Path]]
    read: Callable[[Task], Iterator[Report]]
    keep: Callable[[Task], None] = lambda _: None  # saves for its next run what need not be done twice

    def find_python(self, peers: Path) -> Path | None:
        """The interpreter that runs it; None where it is not installed."""
        python = peers.absolute() / self.environment / "bin" / "python" if self.environment else Path(sys.executable)
        return python if python.exists() else None

    def find_version(self, python: Path) -> str:
        code = f"import importlib.metadata as m; print(m.version({self.package!r}))"
        return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()

    def measure(self, task: Task) -> Speed:
        """Run it to its end in an empty directory, which is gone afterwards."""
        task.work.mkdir(parents=True)
        try:
            variables = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
            if self.threads:
                variables["OMP_NUM_THREADS"] = str(self.threads)
            command = self.command(task)
            with (task.work / "log").open("w") as log:
                done = subprocess.run(command, cwd=task.work, env=variables, stdout=log, stderr=subprocess.STDOUT)
            reports = [report for report in self.read(task) if report.step >= WARMUP]
            if done.returncode or len(reports) < 2 or reports[-1].step < task.steps:
                raise SideFailed(f"exit code {done.returncode}, {len(reports)} reports", task.work / "log")
            self.keep(task)
            steps, tokens, seconds = (last - first for first, last in zip(reports[0], reports[-1], strict=True))
            return Speed(tokens / seconds, tokens / steps)
        finally:
            shutil.rmtree(task.work, ignore_errors=True)


class SideFailed(Exception):
    def __init__(self, what: str, log: Path) -> None:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        super().__init__("\n".join([what, *lines[-TAIL:]]))


def _start_headway(task: Task) -> list[str | Path]:
    """The command as a user types it. The update after the last measured one is for the validation that ends every run."""
    if (task.shared / "data").exists():  # text that an earlier round has prepared
        shutil.copytree(task.shared / "data", task.work / "run" / "data")
    words = f"""
        -m headway train --from {SOURCE} --to {TARGET} --preset {task.preset} --vocab-size 8000 --batch-tokens {BATCH_TOKENS}
        --optimizer adam --dropout 0.3 --label-smoothing 0.1
        --max-steps {task.steps + 1} --valid-every {task.steps + 1} --valid-sentences 1
        --patience 0 --average 1"""
    few = task.corpus.cut / "few"
    paths = ["--train", task.corpus.raw / "train", "--valid", few, "--test", few, "--out", task.work / "run"]
    return [task.python, *words.split(), *paths]


def _keep_headway(task: Task) -> None:
    if not (task.shared / "data").exists():
        shutil.copytree(task.work / "run" / "data", task.shared / "data")


def _read_headway(task: Task) -> Iterator[Report]:
    """`tokens` are target tokens so far, eos counted, padding not."""
    path = task.work / "run" / "metrics.jsonl"
    for record in map(json.loads, path.read_text().splitlines() if path.exists() else []):
        if record["step"] <= task.steps:
            yield Report(record["step"], record["tokens"], record["seconds"])


def _start_plain(task: Task, *more: str) -> list[str | Path]:
    words = f"--preset {task.preset} --steps {task.steps} --batch-tokens {BATCH_TOKENS}"
    return [task.python, HERE / "plain.py", task.corpus.cut, *words.split(), *more]


def _start_plain_with_less_dropout(task: Task) -> list[str | Path]:
    return _start_plain(task, "--paper-dropout")


def _read_plain(task: Task) -> Iterator[Report]:
    for line in _log(task):
        if line.startswith("{"):
            record = json.loads(line)
            yield Report(record["step"], record["tokens"], record["seconds"])


def _start_eole(task: Task) -> list[str | Path]:
    """Its batch_size is padded tokens of the longer side, bos and eos counted: 5,100 of them hold about 4,096 real ones."""
    settings = task.fill("eole.yaml", batch=5100)
    return [task.python.parent / "eole", "train", "--config", settings]


def _read_eole(task: Task) -> Iterator[Report]:
    """`bsz: source/target/sentences` are means of a batch since the last report; target counts eos and no padding."""
    tokens = 0.0
    pattern = re.compile(rf"\[{TIME} INFO\] Step (\d+)/.*bsz: *\d+/ *(\d+)/")
    for line in _log(task):
        if found := pattern.match(line):
            tokens += REPORT_EVERY * int(found[3])
            yield Report(int(found[2]), tokens, _seconds(found[1]))


def _start_marian(task: Task) -> list[str | Path]:
    """Its mini-batch-words are source words over all threads, a little fewer here than target words."""
    p, cut = PRESETS[task.preset], task.corpus.cut
    words = f"""
        -m pymarian train --type transformer --enc-depth {p.n_layers} --dec-depth {p.n_layers} --transformer-heads {p.n_heads}
        --dim-emb {p.d_model} --transformer-dim-ffn {p.d_ff} --tied-embeddings-all
        --transformer-preprocess n --transformer-postprocess da --transformer-postprocess-top n
        --transformer-dropout 0.3 --label-smoothing 0.1 --clip-norm 1
        --learn-rate 0.003 --lr-warmup 600 --optimizer-params 0.9 0.98 1e-09 --seed 1
        --mini-batch-words 3970 --mini-batch 1000 --maxi-batch 1000 --max-length 256 --shuffle-in-ram
        --cpu-threads {CORES} --sync-sgd --workspace 4000
        --disp-freq {REPORT_EVERY} --after-batches {task.steps}"""
    sets = ["--train-sets", cut / f"train.{SOURCE}", cut / f"train.{TARGET}"]
    vocabularies = ["--vocabs", cut / "marian.yml", cut / "marian.yml"]
    return [task.python, *words.split(), *sets, *vocabularies, "--model", task.work / "model.npz"]


def _read_marian(task: Task) -> Iterator[Report]:
    """`after` is target labels so far, eos counted, padding not; `Time` is since the last report."""
    seconds = 0.0
    pattern = re.compile(r".* Up\. ([\d,]+) .* after ([\d,]+) : Time ([\d.]+)s")
    for line in _log(task):
        if found := pattern.match(line):
            seconds += float(found[3])
            yield Report(_number(found[1]), _number(found[2]), seconds)


def _start_joeynmt(task: Task) -> list[str | Path]:
    """Its batch_size is padded tokens of the longer side, and it does not sort by length: 10,100 hold about 4,096 real ones."""
    settings = task.fill("joeynmt.yaml", batch=10_100)
    return [task.python, "-m", "joeynmt", "train", settings, "--skip-test"]


def _read_joeynmt(task: Task) -> Iterator[Report]:
    """`Tokens per Sec` is of real target tokens, eos counted, since the last report or the beginning of the epoch."""
    tokens, last = 0.0, None
    pattern = re.compile(rf"{TIME} - .* Step: +(\d+),.* Tokens per Sec: +(\d+),")
    for line in _log(task):
        if found := pattern.match(line):
            now = _seconds(found[1])
            tokens += int(found[3]) * (now - last) if last else 0  # all that came before the first report is loading
            last = now
            yield Report(int(found[2]), tokens, now)


TIME = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})"  # as Python's logging writes it


def _seconds(time: str) -> float:
    return datetime.strptime(time, "%Y-%m-%d %H:%M:%S,%f").timestamp()


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _log(task: Task) -> list[str]:
    return (task.work / "log").read_text(encoding="utf-8", errors="replace").splitlines()


SIDES = [
    Side("headway", "headway", None, None, _start_headway, _read_headway, _keep_headway),
    Side("nn.Transformer", "torch", None, CORES, _start_plain, _read_plain),
    Side("nn.Transformer, less dropout", "torch", None, CORES, _start_plain_with_less_dropout, _read_plain),
    Side("eole", "eole", "eole", CORES, _start_eole, _read_eole),
    Side("marian", "pymarian", "marian", 1, _start_marian, _read_marian),  # its own threads, each with one of OpenMP
    Side("joeynmt", "joeynmt", "joeynmt", CORES, _start_joeynmt, _read_joeynmt),
]
