"""Products by the library that training asks against those by torch's own choice."""

import numpy as np
import pytest
import torch
from torch import Tensor

from headway.config import ModelSettings
from headway.data.batching import collate
from headway.models.build import build
from headway.models.presets import build_architecture
from headway.nn.products import has_wide_products, wide_products
from headway.training.loss import Loss


def compute_gradients() -> list[Tensor]:
    random = np.random.default_rng(1)
    sentences = [[random.integers(4, 300, random.integers(3, 20)).tolist() for _ in range(40)] for _ in range(2)]
    settings = ModelSettings(preset="tiny", dropout=0.0)
    model = build(build_architecture(settings, source_vocab=300, target_vocab=300, shared=True))
    Loss(model, smoothing=0.1)(collate(*sentences, pad=0, bos=1, eos=2)).backward()
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


@pytest.mark.skipif(not has_wide_products(), reason="this processor's products are of one width")
def test_gradients_are_those_of_narrow_products() -> None:
    narrow = compute_gradients()
    with wide_products():
        wide = compute_gradients()
    for one, other in zip(narrow, wide, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * float(one.abs().max()))
