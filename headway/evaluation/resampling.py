"""Test sets and trainings as they might have been: sentences drawn from those there are, seeds too, and scores of each draw.

The draws of sentences are those of sacreBLEU, from its seed: 12345, or what the environment variable SACREBLEU_SEED says
(`none` for another each time). It knows no seeds of training; those are drawn from the same number, for each system anew.
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


def draw_seeds(seeds: int, draws: int, system: int) -> np.ndarray:
    """Weights [draws, seeds]: each draw is the mean of some of a system's seeds, drawn as sentences are.

    One less is drawn than there are: means of `n` drawn from `n` stray too little, by a factor of sqrt((n - 1) / n), which is
    much where `n` is two or three, and means of `n - 1` as much as they should (McCarthy and Snowden, 1985; Rao and Wu, 1988).
    """
    if seeds == 1:
        return np.ones((draws, 1))
    generator = np.random.default_rng(np.random.SeedSequence(read_seed(), spawn_key=(system,)))
    return generator.multinomial(seeds - 1, np.full(seeds, 1 / seeds), size=draws) / (seeds - 1)


def average_seeds(scores: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """What each draw of sentences scored, of each seed [draws], as one figure a draw."""
    return (np.stack(scores, axis=1) * weights).sum(axis=1)


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
    return np.random.default_rng(read_seed())


def read_seed() -> int | None:
    """None is another one each time."""
    word = os.environ.get("SACREBLEU_SEED", "12345")
    if word.lower() == "none":
        return None
    if not word.isdecimal():
        raise RequestError(f"SACREBLEU_SEED is {word!r}.", "It must be a whole number, or none; without it, it is 12345.")
    return int(word)
