"""How good translations are in each direction of a model that has several."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from headway.evaluation.breakdowns.counting import mean_over_seeds
from headway.evaluation.breakdowns.lengths import score_chosen
from headway.evaluation.evaluation import Breakdown, Bucket
from headway.evaluation.statistics import Statistics


def break_by_direction(directions: Sequence[str], systems: Sequence[Sequence[Statistics]]) -> Breakdown:
    """chrF of the sentences of each direction, in the order in which they come."""
    buckets = []
    for name in dict.fromkeys(directions):
        chosen = np.array([direction == name for direction in directions])
        values = [mean_over_seeds(seeds, partial(score_chosen, chosen=chosen)) for seeds in systems]
        buckets.append(Bucket(name, int(chosen.sum()), values))
    return Breakdown(
        name="direction",
        title="By direction",
        story="chrF of the sentences of each direction. Figures of different target languages cannot be compared.",
        figure="chrF",
        counted="sentences",
        higher_is_better=True,
        buckets=buckets,
    )
