"""Sentences of like length together, so that little is spent on padding."""

from collections.abc import Iterator, Sequence


def batches_by_length(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Places of sequences of like length, longest first (so that memory is asked for once), at most `tokens` with padding."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 1) > tokens:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
