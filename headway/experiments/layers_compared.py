"""The layers of the paper's table 1, each as small as it can be made: [B, n, d] to [B, n, d], and one decoding step.

A step takes one position and what the layer kept of those before it, and hands back that position's output and what it keeps
now. It gives what the whole gives in its last row, after which nothing stands.
B batch, H heads, n positions, w reach of a neighbourhood, D head dimension.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.nn.attention import Kernel, MultiHeadAttention, equation_1, fast_attention
from headway.nn.cache import KeyValue

HEAD_WIDTH = 64  # as in the paper's models; a layer that is narrower has one head
REACH = 16  # positions to each side: the neighbourhood r is 33
KERNEL = 3  # positions that a convolution sees: k

State = TypeVar("State")


class Layer(Protocol):
    """What is measured in training."""

    def __call__(self, x: Tensor) -> Tensor: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...


class DecodingLayer(Layer, Protocol[State]):
    """What is measured in a decoding step too."""

    def start(self, x: Tensor) -> State:
        """What is kept of the positions of x [B, n, d]."""
        ...

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """x [B, 1, d] is the position after those."""
        ...


class SelfAttention(nn.Module):
    """Headway's, with the kernel that is asked for. Its step appends to the cache as the decoder's does."""

    def __init__(self, d: int, kernel: Kernel = fast_attention) -> None:
        super().__init__()
        self.attention = MultiHeadAttention.of_width(d, max(1, d // HEAD_WIDTH))
        self.attention.kernel = kernel

    def forward(self, x: Tensor) -> Tensor:
        return self.attention.attend(*self.attention.project(x))

    def start(self, x: Tensor) -> KeyValue:
        return self.attention.project(x)[1]

    def step(self, x: Tensor, past: KeyValue) -> tuple[Tensor, KeyValue]:
        query, own = self.attention.project(x)
        past = past.append(own)
        return self.attention.attend(query, past), past


class AttentionAlone(nn.Module):
    """Self-attention without W^Q, W^K, W^V and W^O: what the paper's n² d counts. The others are another n d²."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.n_heads = max(1, d // HEAD_WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        return fast_attention(heads, heads, heads).transpose(1, 2).flatten(2)


class RestrictedSelfAttention(nn.Module):
    """Section 4: each position attends to those at most `reach` away, so that the price is r n d.

    Positions stand in blocks of w = `reach`; a block asks itself and the blocks beside it, and a mask cuts that to the band.
    """

    def __init__(self, d: int, reach: int = REACH) -> None:
        super().__init__()
        self.attention = MultiHeadAttention.of_width(d, max(1, d // HEAD_WIDTH))
        self.attention.kernel = partial(_attend_near, reach=reach)
        self.reach = reach

    def forward(self, x: Tensor) -> Tensor:
        return self.attention.attend(*self.attention.project(x))

    def start(self, x: Tensor) -> KeyValue:
        return self._newest(self.attention.project(x)[1])

    def step(self, x: Tensor, past: KeyValue) -> tuple[Tensor, KeyValue]:
        query, own = self.attention.project(x)
        past = past.append(own)
        heads = fast_attention(query, past.key, past.value, scale=self.attention.scale)
        return self.attention.output(heads.transpose(1, 2).flatten(2)), self._newest(past)

    def _newest(self, past: KeyValue) -> KeyValue:
        return KeyValue(past.key[:, :, -self.reach :], past.value[:, :, -self.reach :])


def _attend_near(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float | None,
    reach: int,
    keep: Tensor | None = None,
) -> Tensor:
    """The kernel of a restricted attention: each position asks those at most `reach` away. It knows no other mask."""
    assert mask is None and bias is None and keep is None
    (size, heads, length, _), w = query.shape, reach
    blocks = math.ceil(length / w)
    fill = blocks * w - length

    def beside(x: Tensor) -> Tensor:  # [B, H, n, D] -> [B * H, blocks, 3 w, D]
        return F.pad(x, (0, 0, w, w + fill)).flatten(0, 1).unfold(1, 3 * w, w).transpose(2, 3)

    asking = F.pad(query, (0, 0, 0, fill)).flatten(0, 1).unflatten(1, (blocks, w))  # [B * H, blocks, w, D]
    near = fast_attention(asking, beside(key), beside(value), mask=_band(blocks, w, length), scale=scale)
    return near.flatten(1, 2)[:, :length].unflatten(0, (size, heads))


def _band(blocks: int, w: int, length: int) -> Tensor:
    """Who of the block and its neighbours is at most w away, and there at all: [1, blocks, w, 3 w]"""
    asking = torch.arange(blocks * w).view(blocks, w, 1)
    asked = torch.arange(blocks)[:, None, None] * w - w + torch.arange(3 * w)
    return (((asking - asked).abs() <= w) & (asked >= 0) & (asked < length))[None]


class Recurrent(nn.Module):
    """An LSTM, which the Transformer was to replace: torch's, in one call for all positions, as fast as it comes."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(d, d, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0]

    def start(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.lstm(x)[1]

    def step(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        return self.lstm(x, state)


class Convolution(nn.Module):
    """Each output from its position and the k - 1 before it. Separable: by dimension first, then one matrix, k n d + n d²."""

    def __init__(self, d: int, *, separable: bool = False) -> None:
        super().__init__()
        self.mix: nn.Module
        if separable:
            self.mix = nn.Sequential(nn.Conv1d(d, d, KERNEL, groups=d), nn.Conv1d(d, d, 1))
        else:
            self.mix = nn.Conv1d(d, d, KERNEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.mix(F.pad(x, (0, 0, KERNEL - 1, 0)).transpose(1, 2)).transpose(1, 2)

    def start(self, x: Tensor) -> Tensor:
        return F.pad(x, (0, 0, KERNEL - 1, 0))[:, 1 - KERNEL :]

    def step(self, x: Tensor, window: Tensor) -> tuple[Tensor, Tensor]:
        window = torch.cat([window, x], dim=1)
        return self.mix(window.transpose(1, 2)).transpose(1, 2), window[:, 1:]


class OneHead(nn.Module):
    """Section 3.2.1: one head whose queries and keys are compared by a dot product."""

    def __init__(self, d: int, kernel: Kernel = fast_attention) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.kernel = kernel

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (part[:, None] for part in (self.query(x), self.key(x), x))  # [B, 1, n, d]
        return self.kernel(query, key, value, mask=None, bias=None, scale=None)[:, 0]


class AdditiveHead(nn.Module):
    """Section 3.2.1: the same head, but a network with one hidden layer compares: v · tanh(W q + U k) (Bahdanau et al.)"""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.score = nn.Linear(d, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.tanh(self.query(x)[:, :, None] + self.key(x)[:, None])  # [B, n, n, d]: d numbers for each pair
        return self.score(hidden).squeeze(-1).softmax(dim=-1) @ x


# By the names that tables and pictures have for them.
DECODING: dict[str, Callable[[int], DecodingLayer[Any]]] = {
    "self-attention": SelfAttention,
    "restricted self-attention": RestrictedSelfAttention,
    "recurrent": Recurrent,
    "convolution": Convolution,
    "separable convolution": partial(Convolution, separable=True),
}
TRAINING: dict[str, Callable[[int], Layer]] = {
    **DECODING,
    "self-attention, written out": partial(SelfAttention, kernel=equation_1),
    "attention alone": AttentionAlone,
}
COMPARING: dict[str, Callable[[int], Layer]] = {
    "additive": AdditiveHead,
    "dot-product, written out": partial(OneHead, kernel=equation_1),
    "dot-product": OneHead,
}
