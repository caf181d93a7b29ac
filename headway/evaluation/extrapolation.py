"""How good a model of more text would be, from the scores of models of three parts of it, each twice the one before.

What is said of the curve is little: each doubling of the text gains about KEPT times what the doubling before it gained. Were
that factor 1, the score would be a straight line over the logarithm of the size, which promises too much, for gains shrink;
were it always the same and less than 1, a power law that levels off. It is neither known nor always the same: each doubling
draws its own, around KEPT, and all draws that fit the scores have their say. Gains are counted in the logarithm of what is
missing to 100, so that no forecast is above that.
"""

from dataclasses import dataclass

import numpy as np

from headway.evaluation.resampling import estimate_interval, read_seed

KEPT = 0.83  # of the gain of one doubling, by the next: assumed
VARIES = 0.3  # standard deviation of that factor's logarithm, so that 95 % are from 0.46 to 1.5: assumed
LUCK = 0.5  # points: standard deviation of a score over seeds, which draw other parts of the corpus too
BEST = 99.9  # what is above it counts as this: of a perfect score nothing is missing, and nobody knows how nearly
FACTORS = np.linspace(-6, 6, 61)  # looked at for the first factor, in standard deviations
TIMES = 4  # draws of the curve for each draw of the sentences


@dataclass(frozen=True)
class Extrapolation:
    """Of twice the text of the last part, and of twice that again; each with 95 %."""

    score: float
    interval: tuple[float, float]
    gain: float  # of the doubling after that, in points
    gain_interval: tuple[float, float]


def extrapolate(drawn: np.ndarray, luck: float = LUCK) -> Extrapolation:
    """`drawn` [draws, 3]: scores of the three models on test sets as they might have been, the same for all of them.

    The interval holds the luck of sentences, as far as the draws have it, of seeds, that of the model to come included, and
    what is not known of the curve.
    """
    random = np.random.default_rng(read_seed())
    scores = np.clip(np.repeat(drawn, TIMES, axis=0), 0.0, BEST)
    curve = _draw_curves(_stretch(scores), (100.0 - scores) / luck, random)
    whole, doubled = _shrink(curve[:, 0]), _shrink(curve[:, 1])
    tested = np.clip(whole + luck * random.standard_normal(len(whole)), 0.0, 100.0)
    return Extrapolation(
        score=float(np.median(whole)),
        interval=estimate_interval(tested),
        gain=float(np.median(doubled - whole)),
        gain_interval=estimate_interval(doubled - whole),
    )


def _stretch(scores: np.ndarray) -> np.ndarray:
    return -np.log(1.0 - scores / 100.0)


def _shrink(stretched: np.ndarray) -> np.ndarray:
    return 100.0 * (1.0 - np.exp(-stretched))


def _draw_curves(values: np.ndarray, precision: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """For each row of three values, which stray by 1 / `precision` from a curve, what such a curve may come to one and two
    doublings later: [rows, 2].

    A curve is a level, a mean gain, and a factor between the two gains. Given the factor it is a straight line through the
    three values, found by weighted least squares; how well the best line fits, and how usual the factor is, says how likely
    that is. Nothing is assumed of level and gain, but that more text does no harm.
    """
    factors = np.exp(np.log(KEPT) + VARIES * FACTORS)
    places = np.stack([0 * factors, 2 / (1 + factors), 0 * factors + 2], axis=1)  # [factors, 3], in mean gains
    weights = precision**2
    total = weights.sum(axis=1, keepdims=True)
    middle, mean = weights @ places.T / total, (weights * values).sum(axis=1, keepdims=True) / total
    spread = weights @ (places**2).T - total * middle**2
    shared = (weights * values) @ places.T - total * middle * mean
    misfit = (weights * (values - mean) ** 2).sum(axis=1, keepdims=True) - shared**2 / spread
    likelihood = -(FACTORS**2) / 2 - misfit / 2 - np.log(spread) / 2
    chosen = (likelihood + random.gumbel(size=likelihood.shape)).argmax(axis=1)  # each as often as it is likely

    rows = np.arange(len(values))
    slope, strays = (shared / spread)[rows, chosen], spread[rows, chosen] ** -0.5
    gain = np.maximum(slope + strays * random.standard_normal(len(rows)), 0.0)
    level = mean[:, 0] - gain * middle[rows, chosen] + total[:, 0] ** -0.5 * random.standard_normal(len(rows))
    later = np.exp(np.log(KEPT) + VARIES * random.standard_normal((len(rows), 2)))
    last = 2 * gain * factors[chosen] / (1 + factors[chosen])
    first = last * later[:, 0]
    known = np.maximum(level + 2 * gain, 0.0)
    return np.stack([known + first, known + first + first * later[:, 1]], axis=1)
