"""Section 5.4, dropout: `nn.Dropout` with cheaper masks.

On a processor the masks of `nn.Dropout` are dear: one draw for each number. Here each 64-bit draw of torch's own generator
decides on four numbers, 16 bits each: seeded, saved and restored like everything of torch's (benchmarks/ablation.py).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zeroes a share p of the numbers in training and scales the others up, so that their mean stays."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.dropped = round(p * 2**16)  # of the 65,536 values that 16 bits can have

    def forward(self, x: Tensor) -> Tensor:
        keep = self.draw(x.shape, x)
        return x if keep is None else x * keep

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + Dropout(y), in one go over the memory."""
        keep = self.draw(x.shape, x)
        return x + y if keep is None else torch.addcmul(x, y.to(x.dtype), keep)

    def draw(self, shape: Sequence[int], like: Tensor) -> Tensor | None:
        """What numbers of this shape are multiplied by, of the type that `like` has; None where nothing is dropped."""
        if not self.training or not self.dropped:
            return None
        keep = torch.empty(shape, dtype=like.dtype, device=like.device)
        draws = torch.randint(-(2**63), 2**63 - 1, ((keep.numel() + 3) // 4,), device=like.device)
        torch.ge(draws.view(torch.int16)[: keep.numel()].view(shape), self.dropped - 2**15, out=keep)  # no detour over bytes
        return keep.mul_(2**16 / (2**16 - self.dropped))
