"""Section 3.3: the position-wise feed-forward network."""

from collections.abc import Callable

from torch import Tensor, nn


class FeedForward(nn.Module):
    """Equation 2, max(0, x W1 + b1) W2 + b2, at each position alone; the activation is a part that may be another."""

    def __init__(self, *, d_model: int, d_ff: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.activation(self.inner(x)))
