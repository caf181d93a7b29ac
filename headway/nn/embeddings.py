"""Section 3.4: embeddings, scaled, and the output projection that may share their matrix."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Embedding(nn.Module):
    """Pieces to vectors, times sqrt(d_model): the matrix is small enough to be the output projection too, and the vectors
    are as large as the positions that are added to them.
    """

    def __init__(self, *, vocab: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab, d_model))
        self.scale = math.sqrt(d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        """[B, S] -> [B, S, d_model]"""
        return F.embedding(tokens, self.weight) * self.scale

    def logits(self, x: Tensor) -> Tensor:
        """The same matrix as the linear map before the softmax: [..., d_model] -> [..., V]"""
        return F.linear(x, self.weight)
