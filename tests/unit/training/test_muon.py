"""Muon against what it approximates: the momentum's directions, found by a singular value decomposition."""

import pytest
import torch
from small_models import learn_from_noise

from headway.config import ModelSettings
from headway.models.build import build
from headway.models.model import Model
from headway.models.presets import build_architecture
from headway.nn import products
from headway.training.group import Group
from headway.training.loss import Loss
from headway.training.muon import AS_ADAM, MOMENTUM, Muon, find_matrices, orthogonalise
from headway.training.optimizer import build_optimizers
from headway.training.replicas import Replicas


def make_model(**settings) -> Model:
    size = {"n_layers": 2, "n_decoder_layers": 1, "d_model": 16, "d_ff": 24, "n_heads": 2, "dropout": 0.0, **settings}
    return build(build_architecture(ModelSettings(**size), source_vocab=50, target_vocab=50, shared=True))


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4)])
def test_directions_stay_and_their_lengths_become_one(shape: tuple[int, int]):
    torch.manual_seed(0)
    given = torch.randn(5, *shape) @ torch.diag(torch.logspace(0, -2, shape[1]))
    found = orthogonalise(given)
    for before, after in zip(given, found, strict=True):
        u, s, vh = torch.linalg.svd(before, full_matrices=False)
        lengths = u.T @ after @ vh.T
        assert torch.allclose(lengths, torch.diag(lengths.diagonal()), atol=1e-3)
        strong = lengths.diagonal()[s > 0.05 * s[0]]
        assert strong.min() > 0.6 and strong.max() < 1.3


def test_no_gradient_is_no_step():
    assert not orthogonalise(torch.zeros(2, 3, 4)).any()


def test_all_linear_maps_of_the_layers_and_nothing_else():
    model = make_model()
    found = find_matrices(model)
    names = {name for name, parameter in model.named_parameters() if parameter in found}
    wanted = {name for name, p in model.named_parameters() if p.ndim == 2 and ("encoder" in name or "decoder" in name)}
    assert names == wanted and len(names) == 2 * 4 + 6
    muon, adam = build_optimizers(model, "muon", Group())
    theirs = [parameter for one in (muon, adam) for group in one.param_groups for parameter in group["params"]]
    assert len(theirs) == len(set(theirs)) == len(list(model.parameters()))


@pytest.mark.parametrize("wide", [{}, {"d_k": 4, "d_v": 6}])
def test_each_head_has_matrices_of_its_own(wide: dict[str, int]):
    """What one head is told does not change what another one learns."""
    model = make_model(**wide)
    attention = model.layers[0].attention
    weight, rows = attention.input.weight, [attention.d_k] * 4 + [attention.d_v] * 2
    assert find_matrices(model)[weight] == rows
    before = weight.detach().clone()
    torch.manual_seed(1)
    weight.grad = torch.zeros_like(weight)
    told = slice(rows[0], rows[0] + rows[1])  # the second head's queries
    weight.grad[told] = torch.randn(rows[1], 16)
    muon = Muon({weight: rows}, Group())
    muon.param_groups[0]["lr"] = 0.5
    muon.step()
    moved = weight.detach() - before
    assert not moved[: rows[0]].any() and not moved[told.stop :].any()
    wanted = -0.5 * AS_ADAM * 16**0.5 * orthogonalise(weight.grad[None, told])[0]
    assert torch.allclose(moved[told], wanted, atol=1e-5)


def test_momentum_looks_ahead():
    weight = torch.nn.Parameter(torch.zeros(3, 3))
    muon = Muon({weight: [3]}, Group())
    muon.param_groups[0]["lr"] = 1.0
    torch.manual_seed(2)
    first, second = torch.randn(2, 3, 3)
    for gradient in (first, second):
        weight.grad, before = gradient, weight.detach().clone()
        muon.step()
    momentum = MOMENTUM * (1 - MOMENTUM) * first + (1 - MOMENTUM) * second
    ahead = (1 - MOMENTUM) * second + MOMENTUM * momentum
    assert torch.allclose(weight.detach() - before, -AS_ADAM * 3**0.5 * orthogonalise(ahead[None])[0], atol=1e-5)


def test_a_learner_goes_on_with_the_same_bits():
    whole, halves = (Replicas(Loss(make_model(), smoothing=0.0), Group(), optimizer="muon") for _ in range(2))
    halves.restore(whole.weights(), {}, {}, 0)
    learn_from_noise(whole, range(6))
    learn_from_noise(halves, range(3))
    saved = [{name: tensor.clone() for name, tensor in part.items()} for part in (halves.weights(), halves.moments())]
    assert len(saved[1]) == 2 * len(saved[0]) - len(find_matrices(halves.model))
    learn_from_noise(halves, range(50, 60))
    halves.restore(*saved, {}, 3)
    learn_from_noise(halves, range(3, 6))
    assert all(torch.equal(halves.weights()[name], tensor) for name, tensor in whole.weights().items())


def test_its_products_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "has_wide_products", lambda: True)
    norm, wide = torch.linalg.matrix_norm, []

    def look(*given: torch.Tensor, **how: bool) -> torch.Tensor:
        wide.append(products.are_wide())
        return norm(*given, **how)

    monkeypatch.setattr(torch.linalg, "matrix_norm", look)
    orthogonalise(torch.ones(1, 2, 2))
    assert wide == [True] and not products.are_wide()
