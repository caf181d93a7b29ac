"""Pairs that would teach nothing or harm, dropped as pairs, each for one named reason."""

from dataclasses import dataclass
from typing import Literal

Reason = Literal["blank", "long", "ratio"]
SHORT = 10  # up to so many pieces, any ratio may be right: "Yes." can be a whole sentence in another language


def is_blank(source: str, target: str) -> bool:
    return not source.strip() or not target.strip()


@dataclass(frozen=True)
class LengthFilter:
    """Lengths are pieces; they may be any other unit if both limits are in it."""

    max_length: int
    max_ratio: float

    def reason_to_drop(self, source_length: int, target_length: int) -> Reason | None:
        shorter, longer = sorted((source_length, target_length))
        if longer > self.max_length:
            return "long"
        if longer > SHORT and longer > self.max_ratio * shorter:
            return "ratio"
        return None
