"""How a translation is searched for: what both engines are told. Nothing here needs torch."""

from dataclasses import dataclass
from typing import Literal

Penalty = Literal["paper", "power"]


@dataclass(frozen=True)
class Sampling:
    """Draw instead of search: from the `top_k` likeliest tokens (0: all), of these from the fewest that hold `top_p`."""

    top_k: int = 0
    top_p: float = 1.0
    temperature: float = 1.0
    seed: int | None = None  # another each time


@dataclass(frozen=True)
class Options:
    """`alpha` is the exponent of the length penalty; a beam of one is greedy."""

    beam: int = 5
    penalty: Penalty = "paper"
    alpha: float = 0.6
    patience: float = 1.0
    nbest: int = 1
    min_length: int = 0
    no_repeat_ngram: int = 0
    sampling: Sampling | None = None

    @property
    def finished(self) -> int:
        """Hypotheses that must have ended before the search of a sentence ends (Kasai et al., 2022)."""
        return max(1, int(self.beam * self.patience + 0.5))

    @property
    def seed(self) -> int | None:
        return self.sampling.seed if self.sampling else None

    @property
    def bans(self) -> bool:
        """Whether tokens are banned on the way: the search then sees other probabilities than the model's own."""
        return self.min_length > 0 or self.no_repeat_ngram > 0
