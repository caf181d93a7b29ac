"""Section 3.5: what tells positions apart. Each scheme is called with the first position and a
length, and gives vectors that broadcast to [length, d_model]."""

import math

import torch
from torch import Tensor, nn


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same: [..., d_model]"""
    even = torch.arange(0, d_model, 2, dtype=torch.float64, device=positions.device)
    angles = positions.to(torch.float64)[..., None] * torch.exp(even * (-math.log(10_000.0) / d_model))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :d_model].to(torch.float32)


class SinusoidalPositions(nn.Module):
    """The paper's: computed for any length, so that there is no longest sentence."""

    table: Tensor

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.register_buffer("table", sinusoids(torch.arange(256), d_model), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        end = start + length
        if end <= len(self.table):
            return self.table[start:end]
        return sinusoids(torch.arange(start, end, device=self.table.device), self.d_model)


class LearnedPositions(nn.Module):
    """Table 3, row E. Positions past the table's end take its last row: worse than a seen one, better than a crash."""

    def __init__(self, *, d_model: int, max_positions: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_positions, d_model))

    def forward(self, start: int, length: int) -> Tensor:
        rows = torch.arange(start, start + length, device=self.weight.device)
        return self.weight[rows.clamp(max=len(self.weight) - 1)]


class NoPositions(nn.Module):
    """For those who want to see what positions are good for: without them, the encoder reads a bag of words."""

    zero: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("zero", torch.zeros(1, 1), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        return self.zero
