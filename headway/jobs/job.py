"""A job from its first block to its last: what is read goes through the work and is written in order."""

import hashlib
import os
import signal
import stat
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import IO, Any, TextIO

from headway import __version__
from headway.amounts import amount
from headway.bundle import MANIFEST
from headway.errors import Interrupted
from headway.jobs.blocks import Block, read_blocks, read_pipe
from headway.jobs.journal import Part
from headway.jobs.local import Items, OnBlock, Output, Work, read_ahead
from headway.jobs.pace import Pace
from headway.jobs.streams import PipeLines, pack
from headway.jobs.tasks import Task
from headway.progress import Display

STDOUT = 1  # the descriptor
AHEAD = 2  # blocks that are being translated at a time


def run_tasks(tasks: list[Task], work: Work, request: dict[str, Any], size: int, display: Display | None = None) -> None:
    """Write the tasks' files one after the other, and go on where the same request was interrupted."""
    with display or Display() as display, _term_interrupts():
        pace, work, parts = Pace(tasks, display), _warning_once(work, display), []
        for task in tasks:
            assert task.output
            if task.output.exists() and not task.output.is_file():  # a device or a pipe, which nothing can be renamed to
                with task.output.open("wb") as stream:
                    _write_stream(task, work, stream, pace, size)
            else:
                with Part(task.output, {**request, **_describe_input(task)}, keep=task.can_go_on()) as part:
                    _fill(part, task, work, pace, display, size)
                parts.append(part)
            pace.end_task(task)
        for part in parts:
            part.forget()


def print_task(task: Task, work: Work, stream: TextIO, size: int) -> None:
    """Write a task's translation to standard output, each block as soon as it is there."""
    with Display() as display:
        pace = Pace([task], None if stream.isatty() else display)  # on a screen the translations show how far it is
        _write_stream(task, _warning_once(work, display), stream.buffer, pace, size)


def describe_request(models: Sequence[Path], options: dict[str, Any], size: int) -> dict[str, Any]:
    """All that the output depends on, but for the input."""
    digests = [hashlib.sha256((model / MANIFEST).read_bytes()).hexdigest() for model in models]
    return {"headway": __version__, "models": digests, "options": options, "block": size}


def _describe_input(task: Task) -> dict[str, Any]:
    facts = [(path, path.stat()) for path in task.inputs]
    files = [[str(path.absolute()), fact.st_size, fact.st_mtime_ns] for path, fact in facts]
    return {"input": files, "blocks": [task.blocks.start, task.blocks.stop]}


def _fill(part: Part, task: Task, work: Work, pace: Pace, display: Display, size: int) -> None:
    assert task.output
    if part.starts_anew:
        display.say(f"{task.output} had been begun for another request: starting anew.")
    if part.finished:
        display.say(f"{task.output} is done already.")
    elif part.blocks:
        display.say(f"Going on after {amount(part.lines, 'line')}.")
    pace.skip(part.lines)
    if part.finished:
        return
    try:
        with closing(_translate(task, work, pace, size, part.blocks)) as outputs:
            for output in outputs:
                part.write(pack(output.text, task.output), len(output.block.lines))
                pace.advance(output.block)
        if not part.blocks and (nothing := pack(b"", task.output)):  # a packed file of no text is not an empty file
            part.write(nothing, 0)
        part.finish()
    except KeyboardInterrupt:
        remedy = "The same command goes on from there." if task.can_go_on() else ""
        raise Interrupted(f"Interrupted after {amount(part.lines, 'line')} of {task.output}.", remedy) from None


def _write_stream(task: Task, work: Work, stream: IO[bytes], pace: Pace, size: int) -> None:
    with closing(_translate(task, work, pace, size)) as outputs:
        for output in outputs:
            stream.write(output.text)
            stream.flush()
            pace.advance(output.block)


def _translate(task: Task, work: Work, pace: Pace, size: int, done: int = 0) -> Items[Output]:
    """The blocks of a task but for those that are done."""
    with closing(_read(task, size, done)) as blocks:
        for first in blocks:
            pace.begin(first)
            ahead = AHEAD if task.can_go_on() else 1  # of a pipe, somebody may wait for each line
            yield from work(chain([first], blocks), ahead=ahead, on_progress=pace.look_into)


def _read(task: Task, size: int, done: int) -> Items[Block]:
    if not task.inputs:
        nobody_waits = task.output is not None or stat.S_ISREG(os.fstat(STDOUT).st_mode)
        return read_pipe(PipeLines(sys.stdin.buffer), size, whole=nobody_waits)
    blocks = read_blocks(task.inputs, size, task.blocks[done:])
    return read_ahead(blocks) if task.can_go_on() else blocks  # a thread that waits for a pipe could not be ended


def _warning_once(work: Work, display: Display) -> Work:
    """The same work; its first warning is said."""
    said = False

    def warn(blocks: Iterable[Block], *, ahead: int, on_progress: OnBlock) -> Iterator[Output]:
        nonlocal said
        for output in work(blocks, ahead=ahead, on_progress=on_progress):
            if output.warning and not said:
                display.say(output.warning)
                said = True
            yield output

    return warn


@contextmanager
def _term_interrupts() -> Iterator[None]:
    """A polite request to end is taken as Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # signals reach no other
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
