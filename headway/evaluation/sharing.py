"""Counting on all cores: each process counts some sentences.

The others are started as `python -m headway.evaluation.sharing` and told what to do by JSON: that needs nothing of the program
that asks, neither a guarded main module, as spawned processes do, nor that it has no threads, as forked ones do.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from headway.cores import count_cores
from headway.evaluation.metrics import Metric
from headway.evaluation.statistics import METRICS, OnProgress, Rows, count

WORTH_IT = 500  # sentences for each process: about a second of work, where starting it takes a third


def count_on_all_cores(
    outputs: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    lowercase: bool,
    on_progress: OnProgress | None = None,
) -> list[Rows]:
    """What `count` gives, sooner."""
    total = len(references[0])
    processes = max(1, min(count_cores(), total * len(outputs) // WORTH_IT)) if sys.executable else 1
    ends = [total * place // processes for place in range(processes + 1)]

    def share(streams: Sequence[Sequence[str]], place: int) -> list[list[str]]:
        return [list(stream[ends[place] : ends[place + 1]]) for stream in streams]

    def tell(work: str, done: int, of: int | None) -> None:
        if on_progress:
            on_progress(work, done * total // max(1, of or 0), total)  # the others are about as far

    with ThreadPoolExecutor(processes) as threads:
        others: list[Future[list[Rows]]] = [
            threads.submit(_count_elsewhere, share(outputs, place), share(references, place), lowercase)
            for place in range(1, processes)
        ]
        parts = [count(share(outputs, 0), share(references, 0), lowercase, tell), *(other.result() for other in others)]
    return [{name: [row for part in parts for row in part[number][name]] for name in METRICS} for number in range(len(outputs))]


def _count_elsewhere(outputs: list[list[str]], references: list[list[str]], lowercase: bool) -> list[Rows]:
    """In another process; in this one if that fails, for whatever reason."""
    request = json.dumps([outputs, references, lowercase])
    command = [sys.executable, "-P", "-m", "headway.evaluation.sharing"]  # -P: no module of the current directory
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, input=request.encode(), capture_output=True, check=False, env=environment)
    if done.returncode:
        return count(outputs, references, lowercase)
    answer: list[dict[Metric, list[list[float]]]] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    print(json.dumps(count(*json.load(sys.stdin.buffer))))
