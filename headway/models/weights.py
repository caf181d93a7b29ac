"""A model's weights by name, each once: a matrix shared by several parts carries its first name."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from headway.errors import BundleError


def get_weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@torch.no_grad()
def set_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights into a model that has exactly these, or name all that differ."""
    own = get_weights(model)
    wrong = [f"{name} is missing" for name in own.keys() - weights.keys()]
    wrong += [f"{name} is not part of the model" for name in weights.keys() - own.keys()]
    wrong += [
        f"{name} is {list(weights[name].shape)}, the model has {list(tensor.shape)}"
        for name, tensor in own.items()
        if name in weights and weights[name].shape != tensor.shape
    ]
    if wrong:
        problem = f"The weights do not fit the architecture: {'; '.join(sorted(wrong))}."
        raise BundleError(problem, "They belong to another model.")
    for name, tensor in own.items():
        tensor.copy_(weights[name])


def average_weights(many: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several checkpoints' weights (section 6.1)."""
    return {name: torch.stack([weights[name] for weights in many]).mean(dim=0) for name in many[0]}
