"""Gradient checkpointing against keeping everything, with dropouts; and the learner's own clipping against torch's."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from headway.config import ModelSettings
from headway.data.batching import Batch, collate
from headway.models.build import build
from headway.models.presets import build_architecture
from headway.training.group import Group
from headway.training.loss import Loss
from headway.training.recompute import recompute_layers
from headway.training.replicas import Replicas


@pytest.fixture
def batch() -> Batch:
    random = np.random.default_rng(1)
    sentences = [[random.integers(4, 50, random.integers(3, 9)).tolist() for _ in range(6)] for _ in range(2)]
    return collate(*sentences, pad=0, bos=1, eos=2)


def make_loss(*, recompute: bool = False) -> Loss:
    sizes = {"preset": "tiny", "n_layers": 2, "d_model": 16, "d_ff": 32, "n_heads": 2}
    settings = ModelSettings(**sizes, dropout=0.3, attention_dropout=0.1, activation_dropout=0.1, word_dropout=0.1)
    model = build(build_architecture(settings, source_vocab=50, target_vocab=50, shared=True))
    if recompute:
        recompute_layers(model)
    return Loss(model, smoothing=0.1)


def gradients(loss: Loss, batch: Batch) -> list[Tensor]:
    torch.manual_seed(3)
    loss.train()
    loss(batch).backward()
    return [parameter.grad for parameter in loss.parameters()]


def test_computing_layers_again_changes_no_gradient(batch: Batch):
    kept, again = gradients(make_loss(), batch), gradients(make_loss(recompute=True), batch)
    assert all(torch.equal(one, other) for one, other in zip(kept, again, strict=True))


def test_it_keeps_less(batch: Batch):
    """Bytes that autograd holds between the forward and the backward pass."""

    def held(loss: Loss) -> int:
        tensors: dict[int, int] = {}

        def keep(tensor: Tensor) -> Tensor:
            tensors[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            loss.train()(batch)
        return sum(tensors.values())

    assert held(make_loss(recompute=True)) < 0.7 * held(make_loss())


@pytest.mark.parametrize("clip", [0.0, 0.5, 1e6])
def test_clipping_is_torchs(batch: Batch, clip: float):
    plain, own = make_loss(), make_loss()
    expected = gradients(plain, batch)
    norm = nn.utils.clip_grad_norm_(plain.parameters(), clip or torch.inf)
    replicas = Replicas(own, Group())
    replicas.begin()
    replicas.begin_last_pass()
    found = gradients(own, batch)
    assert replicas.finish(clip) == pytest.approx(float(norm), rel=1e-5)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-7)
