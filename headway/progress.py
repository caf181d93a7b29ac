"""What a person sees while work goes on: a live line on a terminal, plain lines elsewhere. All of it on standard error."""

import sys
import time
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

FIRST_LINE, NEXT_LINES = 2.0, 15.0  # seconds of silence that a person who reads a log accepts


class Display:
    """`say` writes a line that stays; `update` shows how far a piece of work is, with the time left."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._console = Console(file=stream or sys.stderr, highlight=False, markup=False, emoji=False)
        self._console.soft_wrap = not self._console.is_terminal  # a log keeps its lines, a terminal breaks them between words
        self._live: Progress | None = None
        self._task: TaskID | None = None
        self._work = ""
        self._begun = self._spoken = 0.0
        self._done_at_begin = 0

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def say(self, text: str = "") -> None:
        self._console.print(text)

    def update(self, work: str, done: int, total: int | None, detail: str = "") -> None:
        now = time.monotonic()
        if work != self._work:
            self.close()
            self._work, self._begun, self._spoken, self._done_at_begin = work, now, now - NEXT_LINES + FIRST_LINE, done
            if total is None and done == 0 and not self._console.is_terminal:  # nobody knows how long: say at least what
                self.say(f"{work} …")
        left = self._time_left(now, done, total)
        if self._console.is_terminal:
            self._draw(work, done, total, left, detail)
        elif now - self._spoken >= NEXT_LINES:
            self._spoken = now
            self.say("  ".join(part for part in (work, f"{done:,}/{total:,}" if total else f"{done:,}", detail, left) if part))

    def close(self) -> None:
        """End the live line; the next `update` begins a new one."""
        if self._live:
            self._live.stop()
        self._live, self._task, self._work = None, None, ""

    def _draw(self, work: str, done: int, total: int | None, left: str, detail: str) -> None:
        bar = 20 if self._console.width >= 90 else 8
        if self._live is None or self._task is None:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar),
                TextColumn("{task.fields[told]}", markup=False),
            )
            self._live = Progress(*columns, console=self._console, transient=True, refresh_per_second=4)
            self._live.start()
            self._task = self._live.add_task(work, total=total, told="")
        told = f"{done:,}/{total:,}" if total else f"{done:,}"
        for part in [left, *detail.split("  ")]:  # on a narrow terminal, what comes last is left out
            if part and len(work) + bar + len(told) + len(part) + 4 <= self._console.width:
                told += f"  {part}"
        self._live.update(self._task, completed=done, total=total, told=told)

    def _time_left(self, now: float, done: int, total: int | None) -> str:
        if not total or done <= self._done_at_begin:
            return ""
        return f"{duration((now - self._begun) / (done - self._done_at_begin) * (total - done))} left"


def duration(seconds: float) -> str:
    """As people say it: 45 s, 12 min, 3 h 20 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
