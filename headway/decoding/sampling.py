"""Drawing tokens instead of searching for the best: temperature, the k likeliest, the nucleus (Holtzman et al., 2020).

Each sentence has a generator of its own, seeded by the request and by a key of the sentence: what is drawn does not depend on
the batch that it happens to be in.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from headway.decoding.options import Sampling


class Sampler:
    """A `Pick` of the search. `keys` tell its sentences apart."""

    def __init__(self, sampling: Sampling, keys: Sequence[tuple[int, ...]]) -> None:
        self.sampling = sampling
        seeds = [None if sampling.seed is None else (sampling.seed, *key) for key in keys]
        self._generators = [np.random.default_rng(seed) for seed in seeds]

    def __call__(self, log_probabilities: Tensor, sentences: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """One draw of each row [N, V]: a single number of the sentence's generator, looked up in the distribution's sum."""
        values, tokens = truncate(log_probabilities / self.sampling.temperature, self.sampling.top_k, self.sampling.top_p)
        sums = values.softmax(dim=-1).cumsum(dim=-1)
        draws = [self._generators[row].random() for row in sentences.tolist()]
        wanted = torch.tensor(draws, device=sums.device, dtype=sums.dtype)[:, None] * sums[:, -1:]
        places = torch.searchsorted(sums, wanted, right=True).clamp(max=sums.shape[1] - 1)
        chosen = tokens.gather(1, places)
        return log_probabilities.gather(1, chosen).squeeze(1), chosen.squeeze(1)


def truncate(values: Tensor, top_k: int, top_p: float) -> tuple[Tensor, Tensor]:
    """The values that may be drawn from, largest first, and their places in the rows; -inf for what lies outside the nucleus.

    The nucleus is the fewest of the likeliest whose probabilities reach `top_p`.
    """
    best, places = values.topk(min(top_k or values.shape[1], values.shape[1]))
    if top_p < 1:
        probabilities = best.softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities
        best = best.masked_fill(before >= top_p, -torch.inf)
    return best, places
