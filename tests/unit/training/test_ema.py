"""The moving average of the weights against its definition, and a learner that goes on with it."""

import pytest
import torch
from small_models import learn_from_noise

from headway.config import ModelSettings
from headway.models.build import build
from headway.models.presets import build_architecture
from headway.models.weights import get_weights
from headway.training.ema import MovingAverage
from headway.training.group import Group
from headway.training.loss import Loss
from headway.training.replicas import Replicas


@pytest.mark.parametrize("decay", [0.3, 0.99])
def test_it_forgets_its_youth_and_then_decays_as_asked(decay: float):
    weights = [torch.ones(3), torch.ones(2, 2)]
    average, wanted = MovingAverage(weights, decay), 1.0
    for update in range(1, 8):
        for weight in weights:
            weight.fill_(update**2)
        average.update()
        d = min(decay, (1 + update) / (10 + update))
        wanted = d * wanted + (1 - d) * update**2
        assert [tensor.unique().item() for tensor in average.tensors] == pytest.approx([wanted] * 2)


def make_learner(ema: float) -> Replicas:
    settings = ModelSettings(n_layers=1, d_model=8, d_ff=8, n_heads=2)
    model = build(build_architecture(settings, source_vocab=20, target_vocab=20, shared=True))
    return Replicas(Loss(model, smoothing=0.0), Group(), ema)


def test_a_learner_goes_on_with_the_same_bits_and_is_judged_by_its_average():
    whole, halves = make_learner(0.9), make_learner(0.9)
    learn_from_noise(whole, range(6))
    learn_from_noise(halves, range(3))
    saved = [
        {name: tensor.clone() for name, tensor in part.items()}
        for part in (halves.weights(), halves.moments(), halves.average())
    ]
    learn_from_noise(halves, range(50, 60))
    halves.restore(*saved, 3)
    learn_from_noise(halves, range(3, 6))
    for name, tensor in whole.average().items():
        assert torch.equal(halves.average()[name], tensor)
        assert not torch.equal(whole.weights()[name], tensor)
    judged = whole.whole_model(whole.judged_weights())
    assert all(torch.equal(tensor, whole.average()[name]) for name, tensor in get_weights(judged).items())


def test_set_back_to_the_beginning_the_average_is_what_the_weights_are():
    learner = make_learner(0.9)
    first = {name: tensor.clone() for name, tensor in learner.weights().items()}
    learn_from_noise(learner, range(3))
    learner.restore(first, {}, {}, 0)
    assert all(torch.equal(learner.average()[name], tensor) for name, tensor in first.items())


def test_without_it_nothing_is_held_and_the_model_is_judged_itself():
    learner = make_learner(0.0)
    assert learner.average() == {} and learner.whole_model(learner.judged_weights()) is learner.model
