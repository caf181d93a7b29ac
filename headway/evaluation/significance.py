"""Whether a difference between two systems is more than chance: paired bootstrap and approximate randomisation, as sacreBLEU
has them, with its draws and its way to count, so that the p-values are its own; and for seeds, which it does not know, ours."""

from collections.abc import Sequence

import numpy as np

from headway.evaluation.formulas import compute
from headway.evaluation.metrics import Metric
from headway.evaluation.resampling import OnDraw, add_up, draw_swaps
from headway.evaluation.statistics import Statistics

TRIALS = 10  # of randomisation, for each draw of the bootstrap: 10,000 to 1,000

# sacreBLEU counts what is larger than the difference found, not what is as large. Where two systems differ in k sentences only,
# and all in one direction, 2 of 2^k swaps are as large, and its p-value is too small by that: from 8 on by less than 0.01.
FEWEST_DIFFERENT = 8


def count_different(first: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> int:
    """Sentences that count otherwise in two systems, on the average of their seeds."""
    means = [sum(seeds[1:], start=seeds[0]) / len(seeds) for seeds in (first, other)]
    return int((means[0] != means[1]).any(axis=1).sum())


def find_bootstrap_p(difference: float, differences: np.ndarray) -> float:
    """Paired bootstrap (Koehn, 2004): how often a draw strays as far from the mean of the draws as the systems are apart."""
    sizes = np.abs(differences)
    return _share(sizes - sizes.mean(), abs(difference))


def find_seeds_p(difference: float, differences: np.ndarray) -> float:
    """Paired bootstrap where draws have other seeds too: how often a draw strays so far from the mean, to either side.

    sacreBLEU takes sizes first, which makes it one test to one side: at p < 0.05 it finds a tenth of all equals different.
    Beside randomisation that does no harm; here the bootstrap stands alone.
    """
    return _share(np.abs(differences - differences.mean()), abs(difference))


def randomise(
    first: Statistics, others: Sequence[Statistics], trials: int, on_draw: OnDraw | None = None
) -> list[dict[Metric, float]]:
    """Approximate randomisation (Riezler and Maxwell, 2005) of each system with the first: p-values of each metric.

    If the two were alike, it would not matter who wrote which translation: they are swapped at random, sentence by sentence,
    and what counts is how often that makes a larger difference than there is.
    """
    names = list(first.counts)
    gains = [first.counts[name] - other.counts[name] for other in others for name in names]
    kept = iter(add_up(draw_swaps(len(gains[0]), trials), gains, trials, on_draw))
    found: list[dict[Metric, float]] = []
    for other in others:
        values: dict[Metric, float] = {}
        for name in names:
            own, its = first.counts[name].sum(axis=0), other.counts[name].sum(axis=0)
            one = next(kept) + its
            apart = compute(name, one) - compute(name, own + its - one)
            values[name] = _share(np.abs(apart), abs(first.scores[name] - other.scores[name]))
        found.append(values)
    return found


def _share(values: np.ndarray, difference: float) -> float:
    """Of no difference, all draws are as large. sacreBLEU finds it highly significant where no draw is larger either."""
    return (int((values > difference).sum()) + 1) / (len(values) + 1) if difference else 1.0
