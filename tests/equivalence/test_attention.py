"""The written-out formula and torch's kernel."""

import pytest
import torch

from headway.nn.attention import attention, fast_attention

SHAPES = [(2, 3, 5, 7, 4, 6), (1, 1, 1, 9, 8, 8), (3, 2, 4, 1, 5, 5)]  # B, H, T, S, d_k, d_v


@pytest.mark.parametrize("with_mask", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_fast_attention_is_equation_1(shape, with_mask, with_bias, scale):
    b, h, t, s, d_k, d_v = shape
    torch.manual_seed(0)
    query, key, value = torch.randn(b, h, t, d_k), torch.randn(b, h, s, d_k), torch.randn(b, h, s, d_v)
    inputs = [tensor.requires_grad_() for tensor in (query, key, value)]
    mask = torch.rand(b, 1, t, s) < 0.5 if with_mask else None
    if mask is not None:
        mask[0, :, 0] = False  # a row that may attend to nothing
    bias = torch.randn(1, h, t, s) if with_bias else None
    slow, _ = attention(*inputs, mask=mask, bias=bias, scale=scale)
    slow_grads = torch.autograd.grad(slow.square().sum(), inputs)
    fast = fast_attention(*inputs, mask=mask, bias=bias, scale=scale)
    fast_grads = torch.autograd.grad(fast.square().sum(), inputs)
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-4)
    for fast_grad, slow_grad in zip(fast_grads, slow_grads, strict=True):
        torch.testing.assert_close(fast_grad, slow_grad, atol=1e-4, rtol=1e-3)
