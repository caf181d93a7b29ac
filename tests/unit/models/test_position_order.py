"""The same model with d_model in another order."""

import torch
from small_models import PLAIN

from headway.architectures import Architecture
from headway.models.build import build
from headway.models.position_order import to_halves, to_turns
from headway.models.weights import get_weights, set_weights
from headway.nn.positions import sinusoids


def test_a_model_in_the_other_order_computes_the_same_with_the_other_table():
    shape = {**PLAIN, "positions": "learned", "max_positions": 9, "tie": "none", "output_bias": True}
    architecture = Architecture(source_vocab=11, target_vocab=13, **shape)
    model, other = build(architecture, seed=1).eval(), build(architecture, seed=2).eval()
    weights = get_weights(model) | {"positions.weight": sinusoids(torch.arange(9), architecture.d_model)}
    set_weights(model, weights)
    halves = to_halves(weights, architecture.d_model)
    set_weights(other, halves)
    angles = torch.arange(9)[:, None] * 10_000 ** (-torch.arange(0, architecture.d_model, 2) / architecture.d_model)
    torch.testing.assert_close(halves["positions.weight"], torch.cat([angles.sin(), angles.cos()], dim=1))
    source, target = torch.tensor([[3, 4, 5]]), torch.tensor([[6, 7]])
    torch.testing.assert_close(other(source, target), model(source, target))
    back = to_turns(halves, architecture.d_model)
    assert all(torch.equal(back[name], tensor) for name, tensor in weights.items())
