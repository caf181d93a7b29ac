"""What the breakdowns have in common: words wanted, words found, and shares of them for each system."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headway.evaluation.evaluation import System

Value = Callable[[Sequence[str]], float | None]  # of one seed's translations


@dataclass
class Tally:
    found: int = 0
    wanted: int = 0

    @property
    def percent(self) -> float | None:
        return 100 * self.found / self.wanted if self.wanted else None

    def add(self, wanted: Counter[str], there: Counter[str]) -> None:
        """Each word counts as often as it is wanted, at most."""
        self.wanted += wanted.total()
        self.found += (wanted & there).total()


def mean_over_seeds(system: System, value: Value) -> float | None:
    return mean([value(output) for output in system.outputs])


def mean(values: Iterable[float | None]) -> float | None:
    """None where there was nothing to count; that is so for all seeds or for none."""
    given = [value for value in values if value is not None]
    return sum(given) / len(given) if given else None


def keep_common(streams: Iterable[Iterable[str]]) -> Counter[str]:
    """What all of them have, as often as all have it."""
    first, *rest = (Counter(stream) for stream in streams)
    for other in rest:
        first &= other
    return first
