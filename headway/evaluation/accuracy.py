"""How many translations are exactly right, by what makes them hard."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Accuracy:
    right: int
    total: int

    @property
    def percent(self) -> float:
        return 100 * self.right / self.total if self.total else 0.0


def accuracy_by_label(right: Sequence[bool], labels: Sequence[Collection[str]]) -> dict[str, Accuracy]:
    """For each label, the sentences that have it: a sentence may have several, or none."""
    total, good = Counter[str](), Counter[str]()
    for is_right, names in zip(right, labels, strict=True):
        total.update(names)
        good.update(names if is_right else ())
    return {name: Accuracy(good[name], count) for name, count in total.items()}
