"""Equation 1 for learning from short sequences on a processor, or with dropped weights, and its gradient written out.

Torch's kernel takes sentences and heads one by one, which is dear where each is a few dozen positions long. Here they stand in
one batch of small products, and what can be done in place is. B batch, H heads, T positions that ask, S that are asked.
"""

import math
from typing import Any

import torch
from torch import Tensor

LONGEST = 64  # positions; from about there on the kernel is as fast, and it holds less
LONGEST_WIDE = 256  # where products are wide: the kernel's are many small ones, which it asks for one by one
_NEVER = -1e30  # added to a score that does not count; finite, so that a row without any other stays a number


def find_longest(dtype: torch.dtype, *, wide: bool) -> int:
    """Positions that may be asked here. Only products of fp32 can be wide."""
    return LONGEST_WIDE if wide and dtype == torch.float32 else LONGEST


def short_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float | None,
    keep: Tensor | None = None,
) -> Tensor:
    """Shapes as in `attention`, but the bias is one for all of the batch; a row that may attend to nothing gives zeros."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return _ShortAttention.apply(query, key, value, mask, bias, scale, keep)


class _ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        scale: float,
        keep: Tensor | None,
    ) -> Tensor:
        heads = query.shape[:2]
        query, key, value = (x.reshape(-1, *x.shape[2:]) for x in (query, key, value))  # [B * H, positions, width]
        weights = torch.bmm(query, key.transpose(1, 2)).mul_(scale)  # [B * H, T, S]
        if bias is not None:
            weights.unflatten(0, heads).add_(bias)
        if mask is not None:
            never = torch.zeros(mask.shape, dtype=weights.dtype, device=mask.device).masked_fill_(~mask, _NEVER)
            weights.unflatten(0, heads).add_(never)
        weights = weights.softmax(dim=-1)
        if mask is not None:
            weights.unflatten(0, heads).mul_(mask)
        kept = weights if keep is None else weights * keep.view_as(weights)
        ctx.heads, ctx.scale, ctx.biased = heads, scale, bias is not None
        ctx.save_for_backward(query, key, value, weights, kept)
        return torch.bmm(kept, value).unflatten(0, heads)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None, Tensor | None, None, None]:
        query, key, value, weights, kept = ctx.saved_tensors
        output = grads[0].reshape(-1, *grads[0].shape[2:])
        of_value = torch.bmm(kept.transpose(1, 2), output)
        of_scores = torch.bmm(output, value.transpose(1, 2)).mul_(kept)
        of_scores.addcmul_(weights, of_scores.sum(dim=-1, keepdim=True), value=-1)  # the softmax's gradient
        of_bias = of_scores.unflatten(0, ctx.heads).sum(dim=0, keepdim=True) if ctx.biased else None
        of_scores.mul_(ctx.scale)
        of_query, of_key = torch.bmm(of_scores, key), torch.bmm(of_scores.transpose(1, 2), query)
        of_query, of_key, of_value = (x.unflatten(0, ctx.heads) for x in (of_query, of_key, of_value))
        return of_query, of_key, of_value, None, of_bias, None, None
