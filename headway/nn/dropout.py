"""Section 5.4, residual dropout: `nn.Dropout` with cheaper masks.

On a processor the masks of `nn.Dropout` are dear: one draw for each number. Here each 64-bit draw of torch's own generator
decides on four numbers, 16 bits each: seeded, saved and restored like everything of torch's (benchmarks/ablation.py).
"""

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zeroes a share p of the numbers in training and scales the others up, so that their mean stays."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.dropped = round(p * 2**16)  # of the 65,536 values that 16 bits can have

    def forward(self, x: Tensor) -> Tensor:
        return x * self._mask(x) if self._drops() else x

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + Dropout(y), in one go over the memory."""
        return torch.addcmul(x, y.to(x.dtype), self._mask(x)) if self._drops() else x + y

    def _drops(self) -> bool:
        return self.training and self.dropped > 0

    def _mask(self, x: Tensor) -> Tensor:
        draws = torch.randint(-(2**63), 2**63 - 1, ((x.numel() + 3) // 4,), device=x.device)
        keep = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        torch.ge(draws.view(torch.int16)[: x.numel()].view(x.shape), self.dropped - 2**15, out=keep)  # no detour over bytes
        return keep.mul_(2**16 / (2**16 - self.dropped))
