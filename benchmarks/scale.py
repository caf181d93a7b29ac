"""What training on millions of pairs takes: memory of each process, time of each stage, time to the first updates.

    python benchmarks/scale.py [--pairs 10000000] [--work DIR] [--out benchmarks/results/scale.json]

Generates the pairs, trains on them for three updates with the real command, and watches its process and each that it starts.
Memory is what was resident at most (RSS); its anonymous part is told too, since the rest, mapped files, can be dropped.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

WORDS, CHUNK = 50_000, 100_000  # words of a language; pairs written at once
SHORTEST, LONGEST = 5, 25  # words of a sentence
SWAPPED = 0.3  # of neighbouring words stand the other way round in the translation
LETTERS = "aaaabcdeeeeefghiiijklmnooopqrstuuvwxyz", "aaaabcdeeeeeeefghiiiklmnoprsttuvwzäöüß"
OPTIONS = (
    *("--from", "en", "--to", "de", "--preset", "tiny", "--vocab-size", "8000"),
    *("--held-out", "1000", "--max-steps", "3", "--valid-every", "3", "--valid-sentences", "1"),
)
MEMORY_LIMIT, TIME_LIMIT = 1500, 60  # MB of each process; seconds to the first update
POLL = 0.05  # seconds


@dataclass(frozen=True)
class Language:
    """Made-up words end to end, each with a space behind it, as bytes."""

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def invent(cls, letters: str, random: np.random.Generator) -> "Language":
        sizes = random.integers(2, 10, WORDS)
        drawn = "".join(random.choice(list(letters), sizes.sum()))
        words = [f"{drawn[end - size : end]} ".encode() for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
        lengths = np.array([len(word) for word in words])
        return cls(np.frombuffer(b"".join(words), np.uint8), np.cumsum(lengths) - lengths, lengths)

    def write(self, words: NDArray[np.int64], last: NDArray[np.int64]) -> bytes:
        """Sentences of word numbers, a line each; `last` are the places of their last words."""
        lengths = self.lengths[words]
        ends = np.cumsum(lengths)
        text = self.text[np.arange(ends[-1]) + np.repeat(self.starts[words] - ends + lengths, lengths)]
        text[ends[last] - 1] = ord("\n")
        return text.tobytes()


def generate(stem: Path, pairs: int) -> None:
    """Words drawn by Zipf's law; the target says the same word for word, but for some neighbours that change places."""
    random = np.random.default_rng(1)
    source, target = (Language.invent(letters, random) for letters in LETTERS)
    with stem.with_suffix(".en").open("wb") as sources, stem.with_suffix(".de").open("wb") as targets:
        for start in range(0, pairs, CHUNK):
            lengths = random.integers(SHORTEST, LONGEST + 1, min(CHUNK, pairs - start))
            last = np.cumsum(lengths) - 1
            words = (WORDS ** random.random(lengths.sum())).astype(np.int64) - 1  # rank r about as often as 1 / r
            sources.write(source.write(words, last))
            sentence = np.repeat(np.arange(len(lengths)), lengths)
            left = 2 * np.flatnonzero(random.random(len(words) // 2) < SWAPPED)
            left = left[sentence[left] == sentence[left + 1]]
            words[left], words[left + 1] = words[left + 1], words[left]
            targets.write(target.write(words, last))


@dataclass
class Process:
    """A process of the run, with the most memory that it was seen to hold, in MB."""

    command: str
    rss: float = 0.0
    anonymous: float = 0.0


# What is reached when a file of the run appears, or when a line of its log begins so.
FILES = {
    "files checked": ".data.new",
    "vocabulary learned": ".data.new/tokenizer",
    "store there": "data",
    "first updates done": "metrics.jsonl",  # and a validation: later than the first update
}
LINES = {"text gathered": "Learning the vocabulary"}
STAGES = {
    "start, check files": "files checked",
    "read, split, gather text": "text gathered",
    "learn the vocabulary": "vocabulary learned",
    "tokenise": "store there",
    "store to first updates": "first updates done",
}


class Watch:
    """A run from outside: the memory of its processes, and when it reached what."""

    def __init__(self, command: list[str], out: Path) -> None:
        self.processes: dict[int, Process] = {}
        self._moments = {"": time.monotonic()}
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        reader = threading.Thread(target=self._read, args=(run.stderr,))
        reader.start()
        while run.poll() is None:
            self._look(run.pid, out)
            time.sleep(POLL)
        reader.join()
        if run.returncode:
            sys.exit(f"The training ended with code {run.returncode}.")

    @property
    def seconds(self) -> dict[str, float]:
        """Of each stage, in their order."""
        ends = [self._moments[moment] for moment in ("", *STAGES.values())]
        return {stage: round(end - begin, 1) for stage, begin, end in zip(STAGES, ends, ends[1:], strict=False)}

    def _look(self, root: int, out: Path) -> None:
        for pid in _tree(root):
            try:
                status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
                rss, anonymous = (int(status[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon"))
                words = Path(f"/proc/{pid}/cmdline").read_text().strip("\0").split("\0")
                command = " ".join(words[words.index("-m") + 1 :][:2]) if "-m" in words else ""
            except (OSError, KeyError):  # it has just ended
                continue
            known = self.processes.setdefault(pid, Process(command))
            known.rss, known.anonymous = max(known.rss, rss), max(known.anonymous, anonymous)
        for moment, path in FILES.items():
            if (out / path).exists():
                self._moments.setdefault(moment, time.monotonic())

    def _read(self, log: IO[str]) -> None:
        for line in log:
            print(line, end="", file=sys.stderr, flush=True)
            for moment, beginning in LINES.items():
                if line.startswith(beginning):
                    self._moments.setdefault(moment, time.monotonic())


def _tree(root: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def measure(work: Path, pairs: int) -> dict[str, Any]:
    begun = time.monotonic()
    generate(work / "corpus", pairs)
    print(f"{pairs:,} pairs generated in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    stem, out = work / "corpus", work / "run"
    shutil.rmtree(out, ignore_errors=True)
    watch = Watch([sys.executable, "-m", "headway", "train", "--train", str(stem), "--out", str(out), *OPTIONS], out)
    updates = json.loads((out / "metrics.jsonl").read_text().splitlines()[0])
    return {
        "pairs": pairs,
        "options": " ".join(OPTIONS),
        "corpus_mb": _size(work.glob("corpus.*")),
        "store_mb": _size((out / "data" / "train").iterdir()),
        "seconds": watch.seconds,
        "seconds_of_training_in_these": updates["seconds"],
        "processes": [
            {"command": process.command, "rss_mb": round(process.rss), "anonymous_mb": round(process.anonymous)}
            for process in watch.processes.values()
        ],
    }


def _size(paths: Iterable[Path]) -> int:
    return round(sum(path.stat().st_size for path in paths) / 2**20)


def show(result: dict[str, Any]) -> None:
    print(f"{result['pairs']:,} pairs, {result['corpus_mb']:,} MB of text, {result['store_mb']:,} MB of tokens")
    for stage, seconds in result["seconds"].items():
        print(f"{seconds:9,.1f} s  {stage}")
    for process in result["processes"]:
        print(f"{process['rss_mb']:9,} MB, {process['anonymous_mb']:,} of them anonymous  {process['command'][:60]}")


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--work", type=Path, help="directory for the corpus and the run, which stay; else a temporary one")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "scale.json")
    return parser.parse_args(words)


def main() -> None:
    from machine import describe_run  # beside this script; who imports it for `generate` may stand elsewhere

    options = parse()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        result = measure(work, options.pairs) | describe_run(WORK=options.work)
    show(result)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    most = max(process["rss_mb"] for process in result["processes"])
    if most > MEMORY_LIMIT or result["seconds"]["store to first updates"] > TIME_LIMIT:
        sys.exit(f"Over the limit of {MEMORY_LIMIT:,} MB a process, or of {TIME_LIMIT} s from the store to the first updates.")


if __name__ == "__main__":
    main()
