"""What the breakdowns have in common: words wanted, words found, and shares of them for each system."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Seed = TypeVar("Seed")  # one seed's translations, or what was made of them


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


def mean_over_seeds(seeds: Sequence[Seed], value: Callable[[Seed], float | None]) -> float | None:
    """None where no seed has anything to count.

    That is mostly so for all seeds or for none. Only rare words, counted in the reference that is nearest to each translation,
    may be there for one seed and not for another: then the mean is of those seeds for which they are.
    """
    given = [found for found in map(value, seeds) if found is not None]
    return sum(given) / len(given) if given else None


def keep_common(streams: Iterable[Iterable[str]]) -> Counter[str]:
    """What all of them have, as often as all have it."""
    first, *rest = (Counter(stream) for stream in streams)
    for other in rest:
        first &= other
    return first
