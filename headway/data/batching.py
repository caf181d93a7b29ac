"""Which pairs are computed together, and in which order: fixed by seed and epoch, and by nothing else.

Shape letters: B batch, S source, T target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.data.store import Ids, Segment

Indices = NDArray[np.int64]
Sentence = Sequence[int] | Ids
POOL = 100_000  # pairs sorted together: wide enough for little padding, narrow enough that neighbours change each epoch
SOURCE_ROOM = 2  # padded source tokens of a pass, at most so many times its budget of target tokens


def epoch_batches(
    source_lengths: NDArray[np.int64],
    target_lengths: NDArray[np.int64],
    segments: Sequence[Segment],
    *,
    batch_tokens: int,
    accumulate: int,
    seed: int,
    epoch: int,
) -> list[list[Indices]]:
    """The updates of an epoch, each a list of `accumulate` passes (fewer in the last update), each an array of pairs.

    A pass holds at most batch_tokens / accumulate real target tokens, eos included; a longer pair is a pass alone.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(_draw(segments, random))
    budget = batch_tokens // accumulate
    passes: list[Indices] = []
    for start in range(0, len(order), POOL):
        pool = order[start : start + POOL]
        # lexsort is stable: pairs of equal lengths stay in their random order.
        pool = pool[np.lexsort((source_lengths[pool], target_lengths[pool]))]
        passes.extend(_cut(pool, source_lengths[pool] + 1, target_lengths[pool] + 1, budget))
    shuffled = [passes[i] for i in random.permutation(len(passes))]
    return [shuffled[i : i + accumulate] for i in range(0, len(shuffled), accumulate)]


def _draw(segments: Sequence[Segment], random: np.random.Generator) -> Indices:
    """Each corpus as often as its weight says: the whole part of it surely, the rest as a fresh random share."""
    drawn = []
    for start, end, weight in segments:
        pairs = np.arange(start, end)
        whole, share = divmod(weight, 1)
        drawn.extend([pairs] * int(whole))
        if share and len(pairs):
            drawn.append(random.choice(pairs, max(1, round(share * len(pairs))), replace=False))
    return np.concatenate(drawn) if drawn else np.empty(0, np.int64)


def _cut(pairs: Indices, source: NDArray[np.int64], target: NDArray[np.int64], budget: int) -> Iterator[Indices]:
    """Cut sorted pairs into passes, each as long as both budgets allow."""
    target_end = np.cumsum(target)
    start = 0
    while start < len(pairs):
        spent = target_end[start] - target[start]
        end = int(np.searchsorted(target_end, spent + budget, "right"))
        padded = np.maximum.accumulate(source[start:end]) * np.arange(1, end - start + 1)  # grows, so it can be searched
        end = start + max(1, int(np.searchsorted(padded, SOURCE_ROOM * budget, "right")))
        yield pairs[start:end]
        start = end


@dataclass(frozen=True)
class Batch:
    """What the model reads and what it should say, padded to rectangles."""

    source: NDArray[np.int64]  # [B, S] ending in eos
    target_in: NDArray[np.int64]  # [B, T] bos and the target
    target_out: NDArray[np.int64]  # [B, T] the target and eos
    target_tokens: int  # real ones, eos included, padding not


def collate(sources: Sequence[Sentence], targets: Sequence[Sentence], *, pad: int, bos: int, eos: int) -> Batch:
    rows = len(sources)
    target_tokens = sum(map(len, targets)) + rows
    source = np.full((rows, max(map(len, sources)) + 1), pad, np.int64)
    target_in = np.full((rows, max(map(len, targets)) + 1), pad, np.int64)
    target_out = target_in.copy()
    target_in[:, 0] = bos
    for row, (source_ids, target_ids) in enumerate(zip(sources, targets, strict=True)):
        source[row, : len(source_ids)] = source_ids
        source[row, len(source_ids)] = eos
        target_in[row, 1 : len(target_ids) + 1] = target_ids
        target_out[row, : len(target_ids)] = target_ids
        target_out[row, len(target_ids)] = eos
    return Batch(source, target_in, target_out, target_tokens)
