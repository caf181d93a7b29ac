"""Sentences of like length together, so that little is spent on padding."""

from collections.abc import Iterator, Sequence

PARTS = 4  # that a small job is cut into, for several cores; a fixed number, since rounding depends on the batch
LEAST = 128  # tokens of such a part


def size_batches(lengths: Sequence[int], tokens: int) -> int:
    """Tokens of a batch: as asked, or fewer, so that a job of few sentences keeps more than one core busy."""
    return min(tokens, max(LEAST, -(-sum(length + 1 for length in lengths) // PARTS)))


def batches_by_length(lengths: Sequence[int], tokens: int, *, alike: bool = False) -> Iterator[list[int]]:
    """Places of sequences of like length, longest first (so that memory is asked for once), at most `tokens` with padding.

    `alike` ends a batch that is half full where the next sequence is shorter: most batches then have one length.
    """
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        full = bool(batch) and (len(batch) + 1) * (lengths[batch[0]] + 1) > tokens
        shorter = alike and bool(batch) and lengths[place] < lengths[batch[-1]]
        if full or (shorter and 2 * len(batch) * (lengths[batch[0]] + 1) > tokens):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
