"""How many floating-point operations a model's matrix products take: a product of [m, k] and [k, n] takes 2 m n k."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.architectures import (
    AnyArchitecture,
    Architecture,
    BertArchitecture,
    GptArchitecture,
    T5Architecture,
    VitArchitecture,
)


@dataclass(frozen=True)
class Lengths:
    """What of a corpus the count depends on: tokens, end marks included, padding not, and the sums of their products."""

    source: float
    target: float
    source_source: float
    target_target: float
    source_target: float
    judged: float  # predictions: all tokens of a target, but few of a text with gaps

    @classmethod
    def of(
        cls, source: NDArray[np.integer], target: NDArray[np.integer], judged: NDArray[np.integer] | None = None
    ) -> "Lengths":
        """Lengths of sentences, pair by pair."""
        s, t = source.astype(np.float64), target.astype(np.float64)
        predictions = t.sum() if judged is None else judged.sum()
        return cls(*(float(total) for total in (s.sum(), t.sum(), s @ s, t @ t, s @ t, predictions)))


def forward_flops(a: AnyArchitecture, lengths: Lengths) -> float:
    """Of reading the sources, and of predicting each token of the targets."""
    if isinstance(a, Architecture):
        return _of_two_stacks(a, lengths, d_v=a.d_v, vocab=a.target_vocab, factors=2)
    if isinstance(a, T5Architecture):
        return _of_two_stacks(a, lengths, d_v=a.d_k, vocab=a.vocab, factors=3 if a.gated else 2)
    return _of_one_stack(a, lengths, a.classes if isinstance(a, VitArchitecture) else getattr(a, "classes", 0) or a.vocab)


def _of_one_stack(a: BertArchitecture | GptArchitecture | VitArchitecture, lengths: Lengths, vocab: int) -> float:
    layers = lengths.target * a.n_layers * (4 * a.d_model**2 + 2 * a.d_model * a.d_ff)
    return 2 * (layers + a.n_layers * lengths.target_target * 2 * a.d_model + lengths.judged * a.d_model * vocab)


def _of_two_stacks(a: Architecture | T5Architecture, lengths: Lengths, *, d_v: int, vocab: int, factors: int) -> float:
    """`factors` are the matrices of a feed-forward network."""
    queries, values = a.d_model * a.n_heads * a.d_k, a.d_model * a.n_heads * d_v  # sizes of W^Q or W^K, of W^V or W^O
    attention, feed_forward = 2 * queries + 2 * values, factors * a.d_model * a.d_ff
    encoder = lengths.source * a.n_layers * (attention + feed_forward)
    memory = lengths.source * a.n_decoder_layers * (queries + values)
    decoder = lengths.target * a.n_decoder_layers * (attention + queries + values + feed_forward)
    output = lengths.target * a.d_model * vocab
    scores = a.n_layers * lengths.source_source + a.n_decoder_layers * (lengths.target_target + lengths.source_target)
    return 2 * (encoder + memory + decoder + output + scores * a.n_heads * (a.d_k + d_v))


def training_flops(a: AnyArchitecture, lengths: Lengths) -> float:
    """The backward pass takes two products for each of the forward pass: one for the weights, one for what came in."""
    return 3 * forward_flops(a, lengths)
