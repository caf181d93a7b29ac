"""Section 3.3: the position-wise feed-forward network."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from headway.nn.dropout import Dropout

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "gelu-tanh": partial(nn.GELU, approximate="tanh"),
    "swish": nn.SiLU,
}


class FeedForward(nn.Module):
    """Equation 2, max(0, x W1 + b1) W2 + b2, at each position alone; the activation is a part that may be another.

    `dropout` is that of what the activation gives.
    """

    def __init__(
        self, *, d_model: int, d_ff: int, activation: Callable[[Tensor], Tensor], bias: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff, bias=bias)
        self.outer = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.dropout(self.activation(self.inner(x))))


class GatedFeedForward(nn.Module):
    """(activation(x W0) * x W1) W2 (Shazeer, 2020): how much of each inner number passes is computed, too."""

    def __init__(self, *, d_model: int, d_ff: int, activation: Callable[[Tensor], Tensor], bias: bool = True) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=bias)
        self.inner = nn.Linear(d_model, d_ff, bias=bias)
        self.outer = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.activation(self.gate(x)) * self.inner(x))
