"""Which part of an update is computed where: an update is the same whatever the number of processes, only its cuts differ."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.data.batching import Indices


def divide(passes: Sequence[Indices], parts: int, cost_of: Callable[[Indices], NDArray[Any]]) -> list[Indices]:
    """Cut the pairs of an update into `parts` of about equal cost, pairs of like length together; a part may be empty.

    Each pass is cut alone where the parts can be dealt out so; else all pairs are sorted first.
    """
    if parts % len(passes):
        pairs = np.concatenate(passes)
        passes = [pairs[np.argsort(cost_of(pairs), kind="stable")]]
    each = parts // len(passes)
    divided: list[Indices] = []
    for pairs in passes:
        cost = cost_of(pairs)
        ends = np.cumsum(cost)
        divided.extend(np.split(pairs, np.searchsorted(ends - cost / 2, ends[-1] * np.arange(1, each) / each)))
    return divided
