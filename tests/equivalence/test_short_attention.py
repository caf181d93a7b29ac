"""Attention for short sequences or with dropped weights against equation 1 as it is written: outputs and gradients."""

import pytest
import torch

from headway.nn import products
from headway.nn.attention import attention, fast_attention
from headway.nn.dropout import Dropout
from headway.nn.masks import causal_mask, padding_mask
from headway.nn.short_attention import LONGEST, LONGEST_WIDE, short_attention

B, H, T, S, D_K, D_V = 3, 2, 5, 7, 4, 6
TOKENS = torch.tensor([[5] * S, [5] * 3 + [0] * (S - 3), [0] * S])  # the last sentence may attend to nothing


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("mask", [None, causal_mask(T, S - T), padding_mask(TOKENS, pad=0)], ids=["none", "causal", "padding"])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("dropped", [False, True])
def test_it_is_equation_1_with_its_gradient(mask: torch.Tensor | None, scale: float | None, biased: bool, dropped: bool):
    torch.manual_seed(1)
    shapes = ((B, H, T, D_K), (B, H, S, D_K), (B, H, S, D_V), *([(1, H, T, S)] if biased else []))
    ours = [torch.randn(shape).transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for shape in shapes]
    theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
    keep = Dropout(0.4).draw((B, H, T, S), ours[0]) if dropped else None
    found = short_attention(*ours[:3], mask=mask, bias=ours[3] if biased else None, scale=scale, keep=keep)
    expected, _ = attention(*theirs[:3], mask=mask, bias=theirs[3] if biased else None, scale=scale, keep=keep)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(found)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad.nan_to_num(0.0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("wide", "length", "short"), [
    (False, LONGEST, True), (False, LONGEST + 1, False), (True, LONGEST_WIDE, True), (True, LONGEST_WIDE + 1, False),
])  # fmt: skip
def test_it_is_taken_for_short_sequences_that_are_learned_from(
    wide: bool, length: int, short: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(products, "has_wide_products", lambda: wide)
    query, key, value = (torch.randn(1, 1, length, 4, requires_grad=True) for _ in range(3))
    with products.wide_products():
        assert ("ShortAttention" in type(fast_attention(query, key, value).grad_fn).__name__) == short
    with torch.no_grad():
        torch.testing.assert_close(fast_attention(query, key, value), attention(query, key, value)[0])


def test_with_dropped_weights_it_is_taken_for_any_length_and_its_gradient_is_right():
    query, key, value = (torch.randn(1, 2, LONGEST + 1, 2, dtype=torch.float64, requires_grad=True) for _ in range(3))
    keep = Dropout(0.4).draw((1, 2, 3, LONGEST + 1), query)
    found = fast_attention(query[:, :, :3], key, value, keep=keep)
    assert "ShortAttention" in type(found.grad_fn).__name__
    torch.testing.assert_close(found, attention(query[:, :, :3], key, value, keep=keep)[0])
    with torch.no_grad():
        torch.testing.assert_close(fast_attention(query[:, :, :3], key, value, keep=keep), found)
    few = [tensor.detach()[:, :, :3].clone().requires_grad_() for tensor in (query, key, value)]
    assert torch.autograd.gradcheck(lambda *inputs: fast_attention(*inputs, keep=keep[..., :3].contiguous()), few)
