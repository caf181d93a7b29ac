"""How many floating-point operations a model's matrix products take: a product of [m, k] and [k, n] takes 2 m n k."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.config import Architecture


@dataclass(frozen=True)
class Lengths:
    """What of a corpus the count depends on: tokens, end marks included, padding not, and the sums of their products."""

    source: float
    target: float
    source_source: float
    target_target: float
    source_target: float

    @classmethod
    def of(cls, source: NDArray[np.integer], target: NDArray[np.integer]) -> "Lengths":
        """Lengths of sentences, pair by pair."""
        s, t = source.astype(np.float64), target.astype(np.float64)
        return cls(*(float(total) for total in (s.sum(), t.sum(), s @ s, t @ t, s @ t)))


def forward_flops(a: Architecture, lengths: Lengths) -> float:
    """Of reading the sources, and of predicting each token of the targets."""
    queries, values = a.d_model * a.n_heads * a.d_k, a.d_model * a.n_heads * a.d_v  # sizes of W^Q or W^K, of W^V or W^O
    attention, feed_forward = 2 * queries + 2 * values, 2 * a.d_model * a.d_ff
    encoder = lengths.source * a.n_layers * (attention + feed_forward)
    memory = lengths.source * a.n_decoder_layers * (queries + values)
    decoder = lengths.target * a.n_decoder_layers * (attention + queries + values + feed_forward)
    output = lengths.target * a.d_model * a.target_vocab
    scores = a.n_layers * lengths.source_source + a.n_decoder_layers * (lengths.target_target + lengths.source_target)
    return 2 * (encoder + memory + decoder + output + scores * a.n_heads * (a.d_k + a.d_v))


def training_flops(a: Architecture, lengths: Lengths) -> float:
    """The backward pass takes two products for each of the forward pass: one for the weights, one for what came in."""
    return 3 * forward_flops(a, lengths)
