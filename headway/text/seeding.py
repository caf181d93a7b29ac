"""SentencePiece draws from one generator a thread, which only a fresh thread seeds anew."""

import threading
from collections.abc import Callable
from typing import TypeVar

import sentencepiece

T = TypeVar("T")
_seeding = threading.Lock()


def in_fresh_thread(seed: int, work: Callable[[], T]) -> T:
    """Run `work` with SentencePiece's generator seeded: the seed is the process's, and takes hold in a new thread only."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    with _seeding:
        sentencepiece.set_random_generator_seed(seed % 2**31)  # 2**32 - 1 would mean "random"
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
    if errors:
        raise errors[0]
    return results[0]
