"""BLEU, chrF and TER from counts that are added up already, for many resampled test sets at once.

The last digit is that of sacreBLEU's own functions, which a test holds beside these: the same operations in the same order, and
logarithms and powers from Python's `math`, since numpy's differ in the last place on some processors.
"""

import math

import numpy as np

from headway.evaluation.metrics import Metric

ORDERS, CHRF_ORDERS = 4, 6
BETA_SQUARED = 4  # chrF2: recall counts twice as much as precision
LOG_OF_ZERO = -9999999999.0  # what sacreBLEU takes for it


def compute(metric: Metric, counts: np.ndarray) -> np.ndarray:
    """A score for each row of counts."""
    return {"bleu": compute_bleu, "chrf": compute_chrf, "ter": compute_ter}[metric](counts)


def compute_bleu(counts: np.ndarray, *, smooth: bool = True) -> np.ndarray:
    """`counts` [N, 10]: words of the translation, of the reference, then right n-grams and all n-grams for n = 1 to 4."""
    right, total = counts[:, 2 : 2 + ORDERS], counts[:, 2 + ORDERS :]
    halvings = np.cumsum(right == 0, axis=1) if smooth else np.full_like(right, np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        precisions = np.where(right > 0, 100.0 * right / total, 100.0 / (2.0**halvings * total))
    precisions[total == 0] = 0.0
    scores = np.zeros(len(counts))
    for row in np.flatnonzero(right.any(axis=1)):
        length, wanted = counts[row, 0], counts[row, 1]
        brevity = 1.0 if length >= wanted else math.exp(1 - wanted / length)
        logs = sum([math.log(p) if p else LOG_OF_ZERO for p in precisions[row].tolist()])
        scores[row] = brevity * math.exp(logs / ORDERS)
    return scores


def compute_chrf(counts: np.ndarray) -> np.ndarray:
    """`counts` [N, 18]: for n = 1 to 6 the character n-grams of the translation, of the reference, of both."""
    precision, recall, orders = np.zeros(len(counts)), np.zeros(len(counts)), np.zeros(len(counts))
    with np.errstate(divide="ignore", invalid="ignore"):
        for order in range(CHRF_ORDERS):
            translated, wanted, both = counts[:, 3 * order : 3 * order + 3].T
            counted = (translated > 0) & (wanted > 0)
            precision += np.where(counted, both / translated, 0.0)
            recall += np.where(counted, both / wanted, 0.0)
            orders += counted
        precision, recall = (np.where(orders > 0, part / orders, 0.0) for part in (precision, recall))
        score = (1 + BETA_SQUARED) * precision * recall / (BETA_SQUARED * precision + recall)
    return np.where(precision + recall > 0, 100 * score, 0.0)


def compute_ter(counts: np.ndarray) -> np.ndarray:
    """`counts` [N, 2]: edits, and the mean length of the references. Words where none belong are all wrong."""
    edits, length = counts.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return 100 * np.where(length > 0, edits / length, np.where(edits > 0, 1.0, 0.0))
