"""R-Drop's fused loss against the written-out one, and what a model learns from it."""

import numpy as np
import pytest
import torch

from headway.config import ModelSettings
from headway.data.batching import Batch, collate
from headway.models.build import build
from headway.models.presets import build_architecture
from headway.training.loss import ROWS, Loss, judged_states, label_smoothed_cross_entropy
from headway.training.r_drop import RDropLoss, fused_r_drop, r_drop


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("strength", [0.0, 5.0])
@pytest.mark.parametrize("tokens", [1, ROWS["cpu"] // 2, ROWS["cpu"] + 5])
def test_two_ways_to_the_same_loss_and_gradients(tokens: int, strength: float, smoothing: float):
    torch.manual_seed(0)
    hidden = torch.randn(2 * tokens, 12, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(37, 12, dtype=torch.float64, requires_grad=True)
    target = torch.randint(37, (tokens,))
    fused, slow = (
        fused_r_drop(hidden, weight, target, smoothing, strength),
        r_drop(hidden @ weight.t(), target, smoothing, strength),
    )
    torch.testing.assert_close(fused, slow)
    grads = [torch.autograd.grad(whole / 3, (hidden, weight)) for whole, _ in (fused, slow)]
    torch.testing.assert_close(*grads)


def test_it_is_the_papers_formula_by_torchs_own_divergence():
    """Equations 2 to 4 of Wu et al., of which ours is half."""
    torch.manual_seed(0)
    logits, target = torch.randn(6, 5), torch.tensor([4, 0, 2])
    first, second = logits.log_softmax(dim=-1).chunk(2)
    likelihood = -(first.gather(1, target[:, None]) + second.gather(1, target[:, None])).sum()
    one, other = (
        torch.nn.functional.kl_div(b, a, reduction="sum", log_target=True) for a, b in ((first, second), (second, first))
    )
    whole, cross_entropy = r_drop(logits, target, 0.0, 3.0)
    torch.testing.assert_close(2 * whole, likelihood + 3.0 * (one + other) / 2)
    torch.testing.assert_close(2 * cross_entropy, likelihood)


def test_large_logits_do_not_overflow():
    hidden, weight = torch.tensor([[200.0], [-200.0]], requires_grad=True), torch.tensor([[1.0], [-1.0]])
    whole, _ = fused_r_drop(hidden, weight, torch.tensor([0]), 0.0, 1.0)
    whole.backward()
    assert whole.item() == pytest.approx(200 + 200) and torch.isfinite(hidden.grad).all()


def test_in_bf16_it_is_nearly_the_same():
    target, found = torch.randint(50, (40,)), {}
    for narrow in (False, True):
        torch.manual_seed(2)
        hidden, weight = torch.randn(80, 16, requires_grad=True), torch.randn(50, 16, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            loss, _ = fused_r_drop(hidden.bfloat16() if narrow else hidden, weight, target, 0.1, 2.0)
        loss.backward()
        found[narrow] = loss.detach(), hidden.grad, weight.grad
    assert all(tensor.dtype == torch.float32 for tensor in found[True])
    assert found[True][0] == pytest.approx(float(found[False][0]), rel=2e-3)
    for wide, slim in zip(found[False][1:], found[True][1:], strict=True):
        assert not torch.equal(wide, slim)
        torch.testing.assert_close(slim, wide, rtol=0, atol=0.03 * float(wide.abs().max()))


@pytest.fixture
def batch() -> Batch:
    random = np.random.default_rng(1)
    sentences = [[random.integers(4, 50, random.integers(3, 9)).tolist() for _ in range(6)] for _ in range(2)]
    return collate(*sentences, pad=0, bos=1, eos=2)


def make_loss(kind: type[Loss] = RDropLoss, *, dropout: float, **settings) -> Loss:
    shape = ModelSettings(n_layers=1, d_model=16, d_ff=32, n_heads=2, dropout=dropout)
    return kind(
        build(build_architecture(shape, source_vocab=50, target_vocab=50, shared=True)), smoothing=0.1, **settings
    ).train()


def test_without_dropout_two_readings_are_one(batch: Batch):
    plain, twice = make_loss(Loss, dropout=0.0), make_loss(dropout=0.0, strength=5.0)
    one, two = plain(batch), twice(batch)
    torch.testing.assert_close(one, two)
    one.backward()
    two.backward()
    for ours, theirs in zip(plain.parameters(), twice.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


def test_a_models_value_is_the_cross_entropy_of_two_readings_and_its_gradient_that_of_the_whole(batch: Batch):
    loss = make_loss(dropout=0.3, strength=5.0)
    torch.manual_seed(4)
    found = loss(batch)
    ours = torch.autograd.grad(found, list(loss.parameters()))
    torch.manual_seed(4)
    rows = tuple(np.concatenate([rows, rows]) for rows in batch.inputs)
    hidden, target = judged_states(loss.model, Batch(rows, np.concatenate([batch.target] * 2), 2 * batch.judged))
    logits = loss.model.output.logits(hidden)
    assert not torch.allclose(*logits.chunk(2))  # the two readings differ
    torch.testing.assert_close(found, label_smoothed_cross_entropy(logits, target, 0.1) / 2)
    whole, _ = r_drop(logits, target[: len(target) // 2], 0.1, 5.0)
    theirs = torch.autograd.grad(whole, list(loss.parameters()))
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
