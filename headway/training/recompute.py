"""Gradient checkpointing (Chen et al., 2016): a layer keeps only its input, and computes the rest anew in the backward pass.

Torch restores its generators for the second time, and dropout draws from those, so that the gradient is the same.
"""

from functools import partial

from torch.utils.checkpoint import checkpoint

from headway.models.model import Model


def recompute_layers(model: Model) -> None:
    for layer in model.layers:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)  # type: ignore[method-assign]
