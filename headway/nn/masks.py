"""Who may attend to whom (section 3.2.3). True: may attend. Shapes broadcast to [B, H, T, S].

B batch, T positions that ask, S positions that are asked.
"""

import torch
from torch import Tensor


def padding_mask(tokens: Tensor, pad: int) -> Tensor:
    """Nobody attends to padding: [B, S] -> [B, 1, 1, S]."""
    return (tokens != pad)[:, None, None, :]


def causal_mask(length: int, past: int = 0, device: torch.device | None = None) -> Tensor:
    """Position i sees only positions up to i, so that a prediction depends on earlier outputs alone: [1, 1, T, past + T].

    `past` positions were computed before and stand in a cache; all of them may be seen.
    """
    return torch.ones(length, past + length, dtype=torch.bool, device=device).tril(past)[None, None]
