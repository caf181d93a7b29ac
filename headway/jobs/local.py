"""The blocks of a job on this machine."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from headway.jobs.blocks import Block
from headway.jobs.render import Render, join_lines

if TYPE_CHECKING:
    from headway.translator import Translator

T = TypeVar("T")
Items = Generator[T, None, None]


@dataclass(frozen=True)
class Output:
    """A block, its translation as it is to be written, and what a person should know about it."""

    block: Block
    text: bytes
    warning: str


OnBlock = Callable[[Block, int], None]  # lines of a block that are done so far


class Work(Protocol):
    """Blocks to their translations, in order; up to `ahead` blocks are read before the first is handed back."""

    def __call__(self, blocks: Iterable[Block], *, ahead: int, on_progress: OnBlock) -> Iterator[Output]: ...


class _Stopped(Exception):
    """Nobody waits for the block any more."""


def make_local_work(translator: "Translator", options: dict[str, Any], render: Render) -> Work:
    """Blocks overlap: while the last batches of one are translated, the next is cut into pieces, so that no core waits."""

    def work(blocks: Iterable[Block], *, ahead: int, on_progress: OnBlock) -> Iterator[Output]:
        stopped = threading.Event()

        def translate(block: Block) -> Output:
            def show(done: int, total: int) -> None:
                if stopped.is_set():
                    raise _Stopped
                on_progress(block, done)

            found = translator.translate(block.lines, first=block.first, on_progress=show, **options)
            return Output(block, join_lines(found, render), translator.warn(block.lines))

        pool = ThreadPoolExecutor(ahead)
        waiting = deque[Future[Output]]()
        try:
            for block in blocks:
                waiting.append(pool.submit(translate, block))
                if len(waiting) == ahead:
                    yield waiting.popleft().result()
            yield from (coming.result() for coming in waiting)
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)

    return work


def read_ahead(items: Items[T]) -> Items[T]:
    """The same items; the next one is read in a thread while the one before it is being worked on.

    Who does not read to the end closes it: left to the garbage collector, the thread might be waited for by any other.
    """
    end = object()
    with closing(items), ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item  # type: ignore[misc]  # it is not the end
