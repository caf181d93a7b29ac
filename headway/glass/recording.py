"""What every part of a model was called with and gave, in one real forward pass."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from headway.nn.attention import record_attention


@dataclass(frozen=True)
class Call:
    inputs: tuple[Any, ...]
    output: Any


@dataclass(frozen=True)
class Calls:
    """By part, in their order: an embedding that both languages share is called twice."""

    of: dict[nn.Module, list[Call]]
    attention: dict[nn.Module, Tensor]  # [1, H, T, S]

    def first(self, part: nn.Module) -> Call:
        return self.of[part][0]

    def last(self, part: nn.Module) -> Call:
        return self.of[part][-1]


@contextmanager
def record_calls(model: nn.Module) -> Iterator[Calls]:
    """While the block runs, this thread's calls of every part are kept, and the weights of every attention's last one."""
    here = threading.get_ident()
    calls = Calls({}, {})

    def keep(part: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        if threading.get_ident() == here:
            calls.of.setdefault(part, []).append(Call(inputs, output))

    hooks = [part.register_forward_hook(keep) for part in model.modules()]
    try:
        with record_attention(model) as weights:
            yield calls
    finally:
        for hook in hooks:
            hook.remove()
    parts = dict(model.named_modules())
    calls.attention.update({parts[name]: found for name, found in weights.items()})


def to_numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()
