"""How far a job is, for a person who waits for it."""

import threading
import time

from headway.jobs.blocks import Block
from headway.jobs.tasks import Task
from headway.progress import Display


class Pace:
    """Lines done, lines a second, lines in all: counted ones, or else estimated by the bytes that were read."""

    def __init__(self, tasks: list[Task], display: Display | None) -> None:
        self._display = display
        self._counted = [task.lines for task in tasks if task.lines is not None]
        sizes = [path.stat().st_size for task in tasks for path in task.inputs]
        self._bytes = sum(sizes) if all(task.can_go_on() for task in tasks) else 0
        self._lines = self._skipped = self._read_before = 0
        self._estimate: int | None = None
        self._inside: dict[int, int] = {}  # lines done of blocks that are not
        self._lock = threading.Lock()
        self._begun = time.monotonic()

    def skip(self, lines: int) -> None:
        """Lines that were done before."""
        self._lines += lines
        self._skipped += lines

    def end_task(self, task: Task) -> None:
        self._read_before += sum(path.stat().st_size for path in task.inputs)

    def begin(self, block: Block) -> None:
        """Tell how much there is to do while the first block is being done."""
        self._estimate = self._total(self._lines + len(block.lines), block)
        if self._estimate:
            self._show()

    def look_into(self, block: Block, done: int) -> None:
        """Some lines of a block are done, in whichever thread."""
        with self._lock:
            self._inside[id(block)] = done
            self._show()

    def advance(self, block: Block) -> None:
        with self._lock:
            self._inside.pop(id(block), None)
            self._lines += len(block.lines)
            self._estimate = self._total(self._lines, block)
            self._show()

    def _total(self, lines: int, block: Block) -> int | None:
        if self._counted:
            return sum(self._counted)
        read = self._read_before + block.position
        return round(lines * max(self._bytes / read, 1)) if self._bytes and read else None

    def _show(self) -> None:
        lines = self._lines + sum(self._inside.values())
        done = lines - self._skipped
        speed = done / max(time.monotonic() - self._begun, 1e-9)
        if self._display:
            self._display.update("Translating", lines, self._estimate, f"{speed:,.0f} lines/s" if done else "")
