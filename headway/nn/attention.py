"""Section 3.2: scaled dot-product attention and multi-head attention.

B batch, H heads, T positions that ask, S positions that are asked. d_k and d_v are free of d_model / H (table 3, rows A and B).
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import torch.nn.functional as F
from torch import Tensor, nn

from headway.nn.cache import KeyValue
from headway.nn.dropout import Dropout
from headway.nn.products import are_wide
from headway.nn.short_attention import find_longest, short_attention


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    keep: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Equation 1, softmax(Q K^T / sqrt(d_k)) V, and the weights. A row that may attend to nothing gives zeros.

    query [B, H, T, d_k], key [B, H, S, d_k], value [B, H, S, d_v] -> output [B, H, T, d_v], weights [B, H, T, S]
    `keep` [B, H, T, S] is what dropout multiplies the weights by; those that are handed out are the softmax's.
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale
    if bias is not None:
        scores = scores + bias
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1).masked_fill(~mask, 0.0)
    return (weights if keep is None else weights * keep) @ value, weights


def fast_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    keep: Tensor | None = None,
) -> Tensor:
    """The twin of `attention` that hands out no weights: torch's kernel, or for learning from short sequences our own.

    Our own also where weights are dropped, for torch's kernel takes no mask from us.
    """
    short = query.device.type == "cpu" and key.shape[2] <= find_longest(query.dtype, wide=are_wide())
    if query.requires_grad and (short or keep is not None) and (bias is None or len(bias) == 1):
        return short_attention(query, key, value, mask=mask, bias=bias, scale=scale, keep=keep)
    if keep is not None:
        return equation_1(query, key, value, mask=mask, bias=bias, scale=scale, keep=keep)
    if bias is not None:
        mask = bias if mask is None else bias.masked_fill(~mask, -math.inf)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


class Kernel(Protocol):
    """How an attention is computed: all of equation 1 but the weights, which no model needs."""

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Tensor | None,
        bias: Tensor | None,
        scale: float | None,
        keep: Tensor | None = None,
    ) -> Tensor: ...


def equation_1(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float | None,
    keep: Tensor | None = None,
) -> Tensor:
    """`attention` as a kernel: the written-out formula, which holds all weights."""
    return attention(query, key, value, mask=mask, bias=bias, scale=scale, keep=keep)[0]


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: H attentions side by side, each on its own projections of queries, keys and values.

    W^Q, W^K and W^V of all heads stand in one matrix, so that self-attention is one product; `d_model` is also the width of
    the memory. `kernel` is a part like any other: `record_attention` puts the written-out formula in its place for a while.
    `dropout` is that of the weights, after the softmax.
    """

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        d_k: int,
        d_v: int,
        bias: bool = True,
        scale: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.n_heads, self.d_k, self.d_v, self.scale = n_heads, d_k, d_v, scale
        self.kernel: Kernel = fast_attention
        self.dropout = Dropout(dropout)
        self.input = nn.Linear(d_model, n_heads * (d_k + d_k + d_v), bias=bias)
        self.output = nn.Linear(n_heads * d_v, d_model, bias=bias)

    @classmethod
    def of_width(cls, d_model: int, n_heads: int) -> "MultiHeadAttention":
        """As wide inside as outside: d_k = d_v = d_model / H."""
        return cls(d_model=d_model, n_heads=n_heads, d_k=d_model // n_heads, d_v=d_model // n_heads)

    def project(self, x: Tensor) -> tuple[Tensor, KeyValue]:
        """Queries, keys and values of the same positions, for self-attention."""
        width = self.n_heads * self.d_k
        query, key, value = self.input(x).split([width, width, self.n_heads * self.d_v], dim=-1)
        return self._heads(query), KeyValue(self._heads(key), self._heads(value))

    def project_query(self, x: Tensor) -> Tensor:
        width = self.n_heads * self.d_k
        return self._heads(F.linear(x, self.input.weight[:width], self._bias(slice(None, width))))

    def project_memory(self, memory: Tensor) -> KeyValue:
        """Keys and values of the encoder's output: once for each sentence, not once for each step."""
        width = self.n_heads * self.d_k
        key, value = F.linear(memory, self.input.weight[width:], self._bias(slice(width, None))).split(
            [width, self.n_heads * self.d_v], dim=-1
        )
        return KeyValue(self._heads(key), self._heads(value))

    def attend(self, query: Tensor, memory: KeyValue, mask: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        """Every head's attention, concatenated and projected by W^O: [B, T, d_model]."""
        key, value = memory.key, memory.value
        keep = self.dropout.draw((*query.shape[:3], key.shape[2]), query)
        heads = self.kernel(query, key, value, mask=mask, bias=bias, scale=self.scale, keep=keep)  # [B, H, T, d_v]
        return self.output(heads.transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        """[B, T, H * D] -> [B, H, T, D]"""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def _bias(self, part: slice) -> Tensor | None:
        return None if self.input.bias is None else self.input.bias[part]


@contextmanager
def record_attention(module: nn.Module) -> Iterator[dict[str, Tensor]]:
    """While the block runs, every attention inside `module` keeps the weights [B, H, T, S] of its last call, by its name.

    Calls of other threads are not kept.
    """
    weights: dict[str, Tensor] = {}
    here = threading.get_ident()

    def recorder(name: str, before: Kernel) -> Kernel:
        def kernel(
            query: Tensor,
            key: Tensor,
            value: Tensor,
            *,
            mask: Tensor | None,
            bias: Tensor | None,
            scale: float | None,
            keep: Tensor | None = None,
        ) -> Tensor:
            if threading.get_ident() != here:
                return before(query, key, value, mask=mask, bias=bias, scale=scale, keep=keep)
            output, weights[name] = attention(query, key, value, mask=mask, bias=bias, scale=scale, keep=keep)
            return output

        return kernel

    found = [(name, part, part.kernel) for name, part in module.named_modules() if isinstance(part, MultiHeadAttention)]
    try:
        for name, part, before in found:
            part.kernel = recorder(name, before)
        yield weights
    finally:
        for _, part, kernel in found:
            part.kernel = kernel
