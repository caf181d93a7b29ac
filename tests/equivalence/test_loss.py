"""The fused loss, the written-out one, and torch's."""

import pytest
import torch
import torch.nn.functional as F

from headway.training.loss import ROWS, fused_loss, label_smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("tokens", [1, ROWS["cpu"], 2 * ROWS["cpu"] + 5])
def test_three_ways_to_the_same_loss_and_gradients(tokens, smoothing):
    torch.manual_seed(0)
    hidden = torch.randn(tokens, 12, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(37, 12, dtype=torch.float64, requires_grad=True)
    target = torch.randint(37, (tokens,))
    fused = fused_loss(hidden, weight, target, smoothing)
    theirs = F.cross_entropy(hidden @ weight.t(), target, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(fused, theirs)
    torch.testing.assert_close(label_smoothed_cross_entropy(hidden @ weight.t(), target, smoothing), theirs)
    for ours, reference in zip(
        torch.autograd.grad(fused / 3, (hidden, weight)), torch.autograd.grad(theirs / 3, (hidden, weight)), strict=True
    ):
        torch.testing.assert_close(ours, reference)


def test_large_logits_do_not_overflow():
    hidden, weight = torch.full((2, 1), 200.0, requires_grad=True), torch.tensor([[1.0], [-1.0]])
    loss = fused_loss(hidden, weight, torch.tensor([0, 1]), 0.0)
    assert loss.item() == pytest.approx(400.0)


@pytest.mark.parametrize("smoothing", [0.1, 0.2])
def test_the_loss_is_least_where_the_target_has_1_minus_smoothing_and_its_share_of_it(smoothing):
    """Section 5.4: a surer model loses, so it learns to stay unsure; the gradient there is zero."""
    vocab, target = 20, torch.tensor([3])
    of_target = 1 - smoothing + smoothing / vocab
    p = torch.full((1, vocab), smoothing / vocab, dtype=torch.float64)
    p[0, 3] = of_target
    logits = p.log().requires_grad_()
    least = label_smoothed_cross_entropy(logits, target, smoothing)
    (grad,) = torch.autograd.grad(least, logits)
    torch.testing.assert_close(grad, torch.zeros_like(grad))
    for other in (of_target - 0.05, of_target + 0.05):
        moved = torch.full_like(p, (1 - other) / (vocab - 1))
        moved[0, 3] = other
        assert label_smoothed_cross_entropy(moved.log(), target, smoothing) > least


def test_in_bf16_it_is_nearly_the_same():
    """Where autocast asks for narrow products: the loss within a thousandth, gradients within 3 % of the largest."""
    torch.manual_seed(1)
    target = torch.randint(50, (40,))
    found = {}
    for narrow in (False, True):
        torch.manual_seed(2)
        hidden, weight = torch.randn(40, 16, requires_grad=True), torch.randn(50, 16, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            loss = fused_loss(hidden.bfloat16() if narrow else hidden, weight, target, 0.1)
        loss.backward()
        found[narrow] = loss.detach(), hidden.grad, weight.grad
    assert all(tensor.dtype == torch.float32 for tensor in found[True])
    assert found[True][0] == pytest.approx(float(found[False][0]), rel=1e-3)
    for wide, slim in zip(found[False][1:], found[True][1:], strict=True):
        assert not torch.equal(wide, slim)
        torch.testing.assert_close(slim, wide, rtol=0, atol=0.03 * float(wide.abs().max()))
