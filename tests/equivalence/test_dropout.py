"""Cheap masks against `nn.Dropout`: the same share, the same mean, independent from number to number."""

import pytest
import torch
from torch import nn

from headway.nn.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_the_same_distribution_as_nn_dropout(p):
    torch.manual_seed(0)
    x = torch.ones(200_001)
    for drop in (Dropout(p), nn.Dropout(p)):
        y = drop(x)
        kept = y != 0
        assert kept.float().mean().item() == pytest.approx(1 - p, abs=0.005)
        assert y.mean().item() == pytest.approx(1.0, abs=0.01)
        assert y[kept].unique().tolist() == pytest.approx([1 / (1 - p)], rel=1e-4)
        for distance in (1, 2, 3, 4, 8):  # neighbours share a 64-bit draw, and still know nothing of each other
            both = (kept[distance:] & kept[:-distance]).float().mean().item()
            assert both == pytest.approx((1 - p) ** 2, abs=0.007)


def test_off_outside_training_and_at_zero():
    x = torch.randn(3, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_gradient_has_the_same_mask_and_torchs_seed_decides():
    x = torch.ones(4, 7, requires_grad=True)
    drop = Dropout(0.5)
    torch.manual_seed(5)
    y = drop(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    torch.manual_seed(5)
    assert torch.equal(drop(x), y)


def test_adding_what_was_dropped_is_dropping_and_adding():
    dropout = Dropout(0.3).train()
    x, y = torch.randn(7, 5), torch.randn(7, 5, requires_grad=True)
    torch.manual_seed(4)
    found = dropout.add(x, y)
    (ours,) = torch.autograd.grad(found.square().sum(), y)
    torch.manual_seed(4)
    expected = x + dropout(y)
    (theirs,) = torch.autograd.grad(expected.square().sum(), y)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(ours, theirs)
    assert torch.equal(dropout.eval().add(x, y), x + y)
