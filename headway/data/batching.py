"""Which pairs are computed together, and in which order: fixed by seed and epoch, and by nothing else.

Shape letters: B batch, S source, T target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.data.store import Lengths, Segment

Indices = NDArray[np.integer[Any]]
Sentence = Sequence[int] | NDArray[np.integer[Any]]
POOL = 100_000  # pairs sorted together: wide enough for little padding, narrow enough that neighbours change each epoch
IGNORED = -1  # a target that is not asked for
SOURCE_ROOM = 2  # padded source tokens of a pass, at most so many times its budget of target tokens


def epoch_batches(
    source_sizes: Lengths,
    target_sizes: Lengths,
    segments: Sequence[Segment],
    *,
    batch_tokens: int,
    accumulate: int,
    seed: int,
    epoch: int,
) -> list[list[Indices]]:
    """The updates of an epoch, each a list of `accumulate` passes (fewer in the last update), each an array of pairs.

    Sizes are positions, marks included. A pass holds at most batch_tokens / accumulate real target tokens; a longer pair is
    a pass alone.
    All passes are views of one array, the epoch's order: 4 bytes a pair.
    """
    random = np.random.default_rng([seed, epoch])
    order = _draw(segments, random)
    random.shuffle(order)
    budget = batch_tokens // accumulate
    passes: list[Indices] = []
    for start in range(0, len(order), POOL):
        pool = order[start : start + POOL]
        # lexsort is stable: pairs of equal lengths stay in their random order.
        pool[:] = pool[np.lexsort((source_sizes[pool], target_sizes[pool]))]
        passes.extend(_cut(pool, source_sizes[pool], target_sizes[pool], budget))
    shuffled = [passes[i] for i in random.permutation(len(passes))]
    return [shuffled[i : i + accumulate] for i in range(0, len(shuffled), accumulate)]


def _draw(segments: Sequence[Segment], random: np.random.Generator) -> Indices:
    """Each corpus as often as its weight says: the whole part of it surely, the rest as a fresh random share."""
    drawn = []
    kind = np.int32 if all(end <= 2**31 for _, end, _ in segments) else np.int64
    for start, end, weight in segments:
        pairs = np.arange(start, end, dtype=kind)
        whole, share = divmod(weight, 1)
        drawn.extend([pairs] * int(whole))
        if share and len(pairs):
            drawn.append(random.choice(pairs, max(1, round(share * len(pairs))), replace=False))
    return np.concatenate(drawn) if drawn else np.empty(0, kind)


def _cut(pairs: Indices, source: Lengths, target: Lengths, budget: int) -> Iterator[Indices]:
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
    """What a model reads and what it should say, padded to rectangles."""

    inputs: tuple[NDArray[Any], ...]  # of a translator: the source with eos [B, S]; bos and the target [B, T]
    target: NDArray[np.int64]  # [B, T] what should follow, IGNORED where nobody asks
    judged: int  # targets that are not ignored


def collate(
    sources: Sequence[Sentence], targets: Sequence[Sentence], *, pad: int, bos: int, eos: int, source_pad: int | None = None
) -> Batch:
    """The source and its end; the target, shifted by one place; the target and its end.

    `source_pad`: what fills up the sources, where they have a vocabulary of their own.
    """
    source, source_lengths = pad_rows(sources, pad if source_pad is None else source_pad, room=1)
    target, target_lengths = pad_rows(targets, IGNORED, room=1)
    read = np.roll(np.where(target == IGNORED, pad, target), 1, axis=1)
    read[:, 0] = bos
    rows = np.arange(len(source))
    source[rows, source_lengths] = eos
    target[rows, target_lengths] = eos
    return Batch((source, read), target, int(target_lengths.sum()) + len(rows))


def pad_rows(sentences: Sequence[Sentence], pad: int, *, room: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sentences as rows, with room for marks at the end, and their lengths. A loop over a hundred rows takes twice as long."""
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    rows = np.full((len(sentences), lengths.max() + room), pad, np.int64)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = np.concatenate(sentences)
    return rows, lengths
