"""How good translations are by the length of the sentence."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from headway.evaluation.breakdowns.counting import mean_over_seeds
from headway.evaluation.breakdowns.words import cut_words, is_mostly_unspaced
from headway.evaluation.evaluation import Breakdown, Bucket
from headway.evaluation.formulas import compute_chrf
from headway.evaluation.statistics import Statistics

ROUND = [5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000]
BUCKETS = 5


def break_by_length(references: Sequence[Sequence[str]], systems: Sequence[Sequence[Statistics]]) -> Breakdown | None:
    """chrF of the sentences of each length. None where all are of about one length."""
    lengths = np.array([len(cut_words(text)) for text in references[0]])
    edges = choose_edges(lengths)
    if not edges:
        return None
    unit = "characters" if is_mostly_unspaced(references[0]) else "words"
    buckets = []
    for low, high in pairwise([0, *edges, None]):
        chosen = (lengths >= (low or 0)) & (lengths < (high or np.inf))
        values = [mean_over_seeds(seeds, partial(score_chosen, chosen=chosen)) for seeds in systems]
        name = f"under {high}" if not low else f"{low} and more" if high is None else f"{low}–{high - 1}"
        buckets.append(Bucket(f"{name} {unit}", int(chosen.sum()), values))
    which = "the reference" if len(references) == 1 else "the first reference"
    told = "; this script sets no spaces, so characters are counted" if unit == "characters" else ""
    return Breakdown(
        name="length",
        title="By length",
        story=f"chrF of the sentences whose {which.removeprefix('the ')} has so many {unit}{told}.",
        figure="chrF",
        counted="sentences",
        higher_is_better=True,
        buckets=buckets,
    )


def score_chosen(seed: Statistics, chosen: np.ndarray) -> float:
    """chrF of some sentences."""
    return float(compute_chrf(seed.counts["chrf"][chosen].sum(axis=0, keepdims=True))[0])


def choose_edges(lengths: np.ndarray) -> list[int]:
    """Round numbers near to what divides the sentences into equal parts; none of the parts is empty."""
    edges: list[int] = []
    for part in range(1, BUCKETS):
        goal = float(np.quantile(lengths, part / BUCKETS))
        edge = min(ROUND, key=lambda number: abs(number - goal))
        if edge not in edges and (lengths < edge).sum() > (lengths < (edges[-1] if edges else 0)).sum():
            edges.append(edge)
    while edges and not (lengths >= edges[-1]).any():
        edges.pop()
    return edges
