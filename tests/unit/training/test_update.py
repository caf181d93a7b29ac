"""The gradient of an update."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from headway.config import TrainingSettings
from headway.nn import products
from headway.training.group import Group
from headway.training.update import compute_gradient


def test_it_is_computed_with_wide_products_there_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "has_wide_products", lambda: True)
    weight, wide = torch.ones(1, requires_grad=True), []

    def look(*_: object) -> None:
        wide.append(products.are_wide())

    def loss(batch: None) -> torch.Tensor:
        look()
        return (weight * 3).sum()

    weight.register_hook(look)
    learner = SimpleNamespace(
        model=torch.nn.Identity(),
        loss=loss,
        begin=lambda: None,
        begin_last_pass=lambda: None,
        finish=lambda clip: float(weight.grad),
    )
    sizes = SimpleNamespace(read=np.array([2]), written=np.array([2]), judged=np.array([2]))
    gradient = compute_gradient(
        learner,  # type: ignore[arg-type]
        Group(),
        TrainingSettings(batch_tokens=8, accumulate=1),
        None,  # type: ignore[arg-type]
        SimpleNamespace(collate=lambda *_: None),  # type: ignore[arg-type]
        sizes,  # type: ignore[arg-type]
        [np.array([0])],
        step=0,
        splits=1,
        stopping=False,
    )
    assert (gradient.loss, gradient.norm) == (3.0, 1.5)
    assert wide == [True, True] and not products.are_wide()
