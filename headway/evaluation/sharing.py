"""Counting on all cores: each process counts some sentences.

The others are fresh Pythons that are told what to do by JSON: that needs nothing of the program that asks, neither a guarded
main module, as spawned processes do, nor that it has no threads, as forked ones do. They end with the counting, also where it
is broken off.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from typing import BinaryIO

from headway.cores import count_cores
from headway.evaluation.statistics import METRICS, OnProgress, Rows, count

WORTH_IT = 80_000  # characters for each process: about two seconds of work, where starting it takes half a second
# It looks for modules where this process does, in the same order: that finds this Headway, and nothing before Python's own.
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from headway.evaluation.sharing import main; main()"


def count_on_all_cores(
    outputs: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    lowercase: bool,
    on_progress: OnProgress | None = None,
) -> list[Rows]:
    """What `count` gives, sooner. Where another process cannot be started, or fails, this one counts its sentences."""
    total = len(references[0])
    work = sum(len(text) for output in outputs for text in output)
    processes = max(1, min(count_cores(), work // WORTH_IT, total)) if sys.executable else 1
    ends = [total * place // processes for place in range(processes + 1)]

    def share(streams: Sequence[Sequence[str]], place: int) -> list[list[str]]:
        return [list(stream[ends[place] : ends[place + 1]]) for stream in streams]

    def tell(work: str, done: int, of: int | None) -> None:
        if on_progress:
            on_progress(work, done * total // max(1, of or 0), total)  # the others are about as far

    with ExitStack() as stack:
        others = []
        for place in range(1, processes):
            others.append(_Other(share(outputs, place), share(references, place), lowercase))
            stack.callback(others[-1].end)
        parts = [count(share(outputs, 0), share(references, 0), lowercase, tell), *(other.answer() for other in others)]
    return [{name: [row for part in parts for row in part[number][name]] for name in METRICS} for number in range(len(outputs))]


class _Other:
    """Another process and its share. It reads from a file and writes to one, so that neither waits for the other."""

    def __init__(self, outputs: list[list[str]], references: list[list[str]], lowercase: bool) -> None:
        self._share = outputs, references, lowercase
        self._process: subprocess.Popen[bytes] | None = None
        self._said: BinaryIO | None = None
        try:
            self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `end`)
            with tempfile.TemporaryFile() as request:
                request.write(json.dumps(self._share).encode())
                request.seek(0)
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _PROGRAM, *map(os.path.abspath, sys.path)],
                    stdin=request,
                    stdout=self._said,
                    stderr=subprocess.DEVNULL,
                )
        except OSError:  # no more processes, no room for a file: `answer` does without
            pass

    def answer(self) -> list[Rows]:
        if self._process and self._said and self._process.wait() == 0:
            self._said.seek(0)
            try:
                answer: list[Rows] = json.load(self._said)
                return answer
            except ValueError:  # something else wrote to its standard output
                pass
        return count(*self._share)

    def end(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._said:
            self._said.close()


def main() -> None:
    """The other process: a share on standard input, its counts on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process ends the others
    print(json.dumps(count(*json.load(sys.stdin.buffer))))
