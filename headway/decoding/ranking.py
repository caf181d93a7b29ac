"""Finished outputs and the order among them."""

from collections.abc import Iterable
from dataclasses import dataclass

from headway.decoding.options import Penalty


@dataclass(frozen=True)
class Hypothesis:
    """A finished output, without the tokens that begin and end it.

    `log_probability` counts the end. It is None where the search did not come to know it: the output was cut off at its
    limit, or drawn, or begun for it, or tokens were banned on the way; then the pair has to be scored.
    """

    tokens: list[int]
    log_probability: float | None


@dataclass(frozen=True)
class Ranked:
    tokens: list[int]
    score: float


def length_penalty(n: float, alpha: float, penalty: Penalty = "paper") -> float:
    """lp(Y) of n tokens, the end counted: "paper" is Wu et al. (2016), equation 14, which section 6.1 uses with alpha = 0.6;
    "power" is n^alpha, what most toolkits call by that name.
    """
    return ((5 + n) / 6) ** alpha if penalty == "paper" else n**alpha


def rank(hypotheses: Iterable[Hypothesis], *, alpha: float, penalty: Penalty) -> list[Ranked]:
    """By log-probability over length penalty, best first."""
    ranked = []
    for found in hypotheses:
        assert found.log_probability is not None
        score = found.log_probability / length_penalty(len(found.tokens) + 1, alpha, penalty)
        ranked.append(Ranked(found.tokens, score))
    return sorted(ranked, key=lambda one: -one.score)
