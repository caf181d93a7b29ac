"""The sentences that tell most: the best, the worst, and those in which two systems are farthest apart."""

from collections.abc import Sequence

import numpy as np

from headway.evaluation.evaluation import Sentence, System
from headway.evaluation.formulas import compute_chrf
from headway.evaluation.statistics import Statistics

SHOWN = 10


def find_extremes(
    systems: Sequence[System],
    first_seeds: Sequence[Statistics],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None,
) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """Best, worst, apart. By chrF of each sentence; of equals the longer one comes first, which says more, then the earlier.

    Sentences without a reference are left out, and none is both best and worst.
    """
    chrf = np.stack([compute_chrf(seed.counts["chrf"]) for seed in first_seeds])
    lengths = [max(len(text) for text in texts) for texts in zip(*references, strict=True)]
    usable = [at for at, texts in enumerate(zip(*references, strict=True)) if any(text.strip() for text in texts)]

    def choose(values: np.ndarray, most: int) -> list[Sentence]:
        """Those of the lowest values."""
        chosen = sorted(usable, key=lambda at: (values[at], -lengths[at], at))[: min(SHOWN, most)]
        return [_show(at, systems, chrf, references, sources) for at in chosen]

    apart = -np.abs(chrf[-1] - chrf[0])
    different = int(sum(apart[at] < 0 for at in usable))
    return choose(-chrf[0], (len(usable) + 1) // 2), choose(chrf[0], len(usable) // 2), choose(apart, different)


def _show(
    at: int, systems: Sequence[System], chrf: np.ndarray, references: Sequence[Sequence[str]], sources: Sequence[str] | None
) -> Sentence:
    return Sentence(
        number=at + 1,
        source=sources[at] if sources is not None else None,
        references=[stream[at] for stream in references],
        translations=[system.outputs[0][at] for system in systems],
        chrf=[float(value) for value in chrf[:, at]],
    )
