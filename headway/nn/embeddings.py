"""Section 3.4: embeddings, scaled, and the output projection that may share their matrix."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.nn.dropout import Dropout


class Embedding(nn.Module):
    """Pieces to vectors, times sqrt(d_model): the matrix is small enough to be the output projection too, and the vectors
    are as large as the positions that are added to them. (The paper's relatives take the vectors as they are, a scale of 1.)

    `dropout` is a share of the pieces that training hides, whole vectors of them: only the position is left of such a piece.
    """

    def __init__(self, *, vocab: int, d_model: int, scale: float | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab, d_model))
        self.scale = math.sqrt(d_model) if scale is None else scale
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """[B, S] -> [B, S, d_model]"""
        vectors = F.embedding(tokens, self.weight) * self.scale
        keep = self.dropout.draw((*tokens.shape, 1), vectors)
        return vectors if keep is None else vectors * keep


class Output(nn.Module):
    """The linear map before the softmax. Its matrix may be an embedding's, and is then one parameter with it."""

    def __init__(self, weight: nn.Parameter, *, bias: bool = False) -> None:
        super().__init__()
        self.weight = weight
        self.bias = nn.Parameter(torch.zeros(len(weight))) if bias else None

    def logits(self, x: Tensor) -> Tensor:
        """[..., d_model] -> [..., V]"""
        return F.linear(x, self.weight, self.bias)


class Scale(nn.Module):
    """x times a number: what T5 does to its last states, since its embeddings, which are its output matrix too, are large."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x * self.by
