"""Section 3.5: what tells positions apart. Each scheme is called with the first position and a
length, and gives vectors that broadcast to [length, d_model]; `RelativeBias` goes into the attention instead."""

import math

import torch
import torch.nn.functional as F
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


class RelativeBias(nn.Module):
    """T5's: a number for each head and distance, added to the scores of attention. H heads, T that ask, S that are asked.

    Short distances have a number each, longer ones share theirs in ranges that grow with the logarithm, and from
    `max_distance` on all share the last. `both_ways`: what comes later has numbers of its own; else it is never seen.
    """

    def __init__(self, *, n_heads: int, buckets: int, max_distance: int, both_ways: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(buckets, n_heads))
        self.max_distance, self.both_ways = max_distance, both_ways

    def forward(self, start: int, length: int) -> Tensor:
        """Of positions from `start` on, to all from 0 to the last of them: [1, H, T, S]"""
        positions = torch.arange(start + length, device=self.weight.device)
        ahead = positions[None, :] - positions[start:, None]  # [T, S]
        return F.embedding(self._bucket(ahead), self.weight).permute(2, 0, 1)[None]

    def _bucket(self, ahead: Tensor) -> Tensor:
        buckets, first = len(self.weight), torch.zeros_like(ahead)
        if self.both_ways:
            buckets //= 2
            first = buckets * (ahead > 0)
            distance = ahead.abs()
        else:
            distance = (-ahead).clamp(min=0)
        exact = buckets // 2
        growth = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.max_distance / exact)
        far = (exact + (growth * (buckets - exact)).long()).clamp(max=buckets - 1)
        return first + torch.where(distance < exact, distance, far)
