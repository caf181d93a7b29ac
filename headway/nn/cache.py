"""What decoding keeps from step to step, so that each new token costs one position and not the whole prefix.

A cache is an argument: it is passed in and a new one is handed back. B batch, H heads, T target, S source, D head dimension.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class KeyValue:
    """Keys and values of all heads, projected."""

    key: Tensor  # [B, H, S, d_k]
    value: Tensor  # [B, H, S, d_v]

    def append(self, new: "KeyValue") -> "KeyValue":
        return KeyValue(torch.cat([self.key, new.key], dim=2), torch.cat([self.value, new.value], dim=2))

    def select(self, rows: Tensor) -> "KeyValue":
        return KeyValue(self.key.index_select(0, rows), self.value.index_select(0, rows))


@dataclass(frozen=True)
class LayerCache:
    """One decoder layer's: the target's past, none before the first token, and the memory, which never changes."""

    past: KeyValue | None
    memory: KeyValue

    def select(self, rows: Tensor) -> "LayerCache":
        return LayerCache(self.past and self.past.select(rows), self.memory.select(rows))


@dataclass(frozen=True)
class DecoderCache:
    layers: tuple[LayerCache, ...]
    memory_mask: Tensor | None  # [B, 1, 1, S]

    @property
    def length(self) -> int:
        """Target positions computed so far."""
        past = self.layers[0].past
        return 0 if past is None else past.key.shape[2]

    def select(self, rows: Tensor) -> "DecoderCache":
        """Keep, reorder or repeat rows of the batch."""
        mask = None if self.memory_mask is None else self.memory_mask.index_select(0, rows)
        return DecoderCache(tuple(layer.select(rows) for layer in self.layers), mask)
