"""Products by the library that training asks, on whatever processor this is, against those of twice the precision."""

import numpy as np
import torch
from torch import Tensor

from headway.config import ModelSettings
from headway.data.batching import collate
from headway.models.build import build
from headway.models.presets import build_architecture
from headway.nn.products import wide_products
from headway.training.loss import Loss


def compute_gradients(dtype: torch.dtype) -> list[Tensor]:
    random = np.random.default_rng(1)
    sentences = [[random.integers(4, 300, random.integers(3, 20)).tolist() for _ in range(40)] for _ in range(2)]
    settings = ModelSettings(preset="tiny", dropout=0.0)
    model = build(build_architecture(settings, source_vocab=300, target_vocab=300, shared=True)).to(dtype)
    Loss(model, smoothing=0.1)(collate(*sentences, pad=0, bos=1, eos=2)).backward()
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


def test_gradients_are_those_of_exact_products() -> None:
    exact = compute_gradients(torch.float64)
    with wide_products():
        found = compute_gradients(torch.float32)
    for one, other in zip(exact, found, strict=True):
        torch.testing.assert_close(other.double(), one, rtol=1e-4, atol=1e-4 * float(one.abs().max()))
