"""One position table in two orders: the paper has sines and cosines in turn, others all sines first, then all cosines.

Whoever makes the table itself cannot be given another: it is the weights whose d_model is put in its order, and back.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

_WRITE_THE_STREAM = ("attention.output", "feed_forward.outer", "norm")  # d_model is what comes out; else what goes in


def to_halves(weights: Mapping[str, Tensor], d_model: int) -> dict[str, Tensor]:
    """Weights by our names: d_model from the paper's order to even places first, then odd ones."""
    return _reorder(weights, _halves(d_model))


def to_turns(weights: Mapping[str, Tensor], d_model: int) -> dict[str, Tensor]:
    """The way back."""
    return _reorder(weights, _halves(d_model).argsort())


def _halves(d_model: int) -> Tensor:
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])


def _reorder(weights: Mapping[str, Tensor], order: Tensor) -> dict[str, Tensor]:
    reordered = {}
    for name, tensor in weights.items():
        part, kind = name.rsplit(".", 1)
        if part.endswith(_WRITE_THE_STREAM):
            reordered[name] = tensor[order]
        else:
            reordered[name] = tensor[:, order] if kind == "weight" else tensor
    return reordered
