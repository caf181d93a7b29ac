"""Test sets as they might have been: sentences drawn from the one there is, and scores of each draw.

The draws are those of sacreBLEU, from its seed: 12345, or what the environment variable SACREBLEU_SEED says (`none` for another
each time).
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from headway.errors import RequestError

DRAWS = 1000
AT_ONCE = 2**22  # numbers that a block of draws holds
EVEN = 32  # rows that a block is a multiple of: numpy makes 32 random bits at once, and a block must waste none

OnDraw = Callable[[int, int], None]  # draws made, draws in all


def draw_sentences(sentences: int, draws: int) -> Iterator[np.ndarray]:
    """Blocks [some draws, sentences]: how often a draw of as many sentences has each one."""
    generator = _start()
    for rows in _divide(sentences, draws):
        places = generator.choice(sentences, size=(rows, sentences), replace=True)
        places += sentences * np.arange(rows)[:, None]
        yield np.bincount(places.ravel(), minlength=rows * sentences).reshape(rows, sentences).astype(np.float64)


def draw_swaps(sentences: int, trials: int) -> Iterator[np.ndarray]:
    """Blocks [some trials, sentences]: 1 where two systems keep their translation of a sentence, 0 where they swap."""
    generator = _start()
    for rows in _divide(sentences, trials):
        yield generator.integers(2, size=(rows, sentences), dtype=np.bool_).astype(np.float64)


def resample(parts: Sequence[np.ndarray], draws: int, on_draw: OnDraw | None = None) -> list[np.ndarray]:
    """For each table of counts [sentences, K] the sums that draws of sentences have: [draws, K]. All have the same draws."""
    return add_up(draw_sentences(len(parts[0]), draws), parts, draws, on_draw)


def add_up(
    blocks: Iterator[np.ndarray], parts: Sequence[np.ndarray], total: int, on_draw: OnDraw | None = None
) -> list[np.ndarray]:
    """The tables side by side, so that each block of draws is one matrix product."""
    counts = np.concatenate(parts, axis=1)
    sums: list[np.ndarray] = []
    done = 0
    for block in blocks:
        sums.append(block @ counts)
        done += len(block)
        if on_draw:
            on_draw(done, total)
    return np.split(np.concatenate(sums), np.cumsum([part.shape[1] for part in parts])[:-1], axis=1)


def estimate_interval(scores: np.ndarray) -> tuple[float, float]:
    """What 95 % of the draws lie between: a fortieth is left out at each end."""
    ordered = np.sort(scores)
    out = len(ordered) // 40
    return float(ordered[out]), float(ordered[len(ordered) - out - 1])


def _divide(sentences: int, draws: int) -> Iterator[int]:
    rows = max(EVEN, AT_ONCE // sentences // EVEN * EVEN)
    for start in range(0, draws, rows):
        yield min(rows, draws - start)


def _start() -> Any:
    word = os.environ.get("SACREBLEU_SEED", "12345")
    if word.lower() == "none":
        return np.random.default_rng()
    if not word.isdecimal():
        raise RequestError(f"SACREBLEU_SEED is {word!r}.", "It must be a whole number, or none; without it, it is 12345.")
    return np.random.default_rng(int(word))
