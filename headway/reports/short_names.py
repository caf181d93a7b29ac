"""What systems and runs are called: the ends of their paths, as short as tells them apart."""

from collections.abc import Sequence
from pathlib import Path

OF_A_RUN = ("best", "last")  # what every run has: the run's own name says more


def shorten(paths: Sequence[Path]) -> list[str]:
    """`a/best` and `b/best` for models of two runs, `output.de` for a file."""
    places = [(path.resolve() if ".." in path.parts else path.absolute()).parts for path in paths]
    return ["/".join(_end(place, [other for other in places if other != place])) for place in places]


def _end(place: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    depth = 2 if place[-1] in OF_A_RUN else 1
    while depth < len(place) and any(other[-depth:] == place[-depth:] for other in others):
        depth += 1
    return place[-depth:]
