"""BLEU of several systems by the length of the sentence, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from headway.evaluation.evaluate import evaluate
from headway.evaluation.evaluation import System


@dataclass(frozen=True)
class Bucket:
    """Sentences of more than `low` and at most `high` words."""

    low: int
    high: int
    sentences: int
    mean_words: float
    bleu: list[float]  # of each system
    intervals: list[tuple[float, float] | None]

    def describe(self, system: int) -> dict[str, Any]:
        """One system's figure, for `results.json`."""
        interval = self.intervals[system]
        return {
            "words": f"{self.low + 1} to {self.high}",
            "mean_words": round(self.mean_words, 1),
            "sentences": self.sentences,
            "bleu": round(self.bleu[system], 2),
            "interval": interval and [round(end, 2) for end in interval],
        }


def judge_by_length(
    systems: Sequence[System], references: Sequence[str], lengths: Sequence[int], ends: Sequence[int]
) -> list[Bucket]:
    """Buckets that end at these lengths, and one for what is longer. None is empty."""
    buckets = []
    for low, high in pairwise([0, *ends, max(max(lengths), ends[-1] + 1)]):
        chosen = [at for at, words in enumerate(lengths) if low < words <= high]
        if chosen:
            some = [System(one.name, [[output[at] for at in chosen] for output in one.outputs]) for one in systems]
            results = evaluate(some, [[references[at] for at in chosen]]).results
            mean = sum(lengths[at] for at in chosen) / len(chosen)
            bleu, intervals = [one.mean["bleu"] for one in results], [one.interval["bleu"] for one in results]
            buckets.append(Bucket(low, high, len(chosen), mean, bleu, intervals))
    return buckets
