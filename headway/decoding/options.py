"""How a translation is searched for: what both engines are told. Nothing here needs torch."""

import math
from dataclasses import dataclass
from typing import Literal

from headway.errors import RequestError

Penalty = Literal["paper", "power"]


@dataclass(frozen=True)
class Sampling:
    """Draw instead of search: from the `top_k` likeliest tokens (0: all), of these from the fewest that hold `top_p`."""

    top_k: int = 0
    top_p: float = 1.0
    temperature: float = 1.0
    seed: int | None = None  # another each time


def choose_sampling(
    *,
    top_k: int | None = None,
    top_p: float | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    samples: int | None = None,
) -> Sampling | None:
    """How to draw, if anything asks for it: a `temperature` above 1 is wilder, below 1 tamer; the same `seed` draws the same
    again; of several `samples` each is drawn.
    """
    if top_k is None and top_p is None and temperature is None and seed is None and samples is None:
        return None
    p, heat = 1.0 if top_p is None else top_p, 1.0 if temperature is None else temperature
    if (top_k or 0) < 0 or not 0 < p <= 1 or not 0 < heat < math.inf or (seed or 0) < 0:
        given = {"top_k": top_k, "top_p": top_p, "temperature": temperature, "seed": seed}
        told = ", ".join(f"{name} {value}" for name, value in given.items() if value is not None)
        raise RequestError(
            f"Nothing can be drawn with {told}.",
            "top_k is 0 (all) or more, top_p above 0 and at most 1, temperature above 0, seed 0 or more; without any of them "
            "the likeliest is taken.",
        )
    return Sampling(top_k or 0, p, heat, seed)


@dataclass(frozen=True)
class Options:
    """`alpha` is the exponent of the length penalty; a beam of one is greedy."""

    beam: int = 5
    penalty: Penalty = "paper"
    alpha: float = 1.0
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
