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
    """One decoder layer's: the target's past, none before the first token, and the memory, which never changes.

    The past has a row for each hypothesis, the memory one for each sentence: the hypotheses of a beam share it. A decoder
    without an encoder has no memory.
    """

    past: KeyValue | None
    memory: KeyValue | None

    def select(self, rows: Tensor, sentences: Tensor | None) -> "LayerCache":
        memory = self.memory
        if memory is not None and sentences is not None:
            memory = memory.select(sentences)
        return LayerCache(self.past and self.past.select(rows), memory)


@dataclass(frozen=True)
class DecoderCache:
    layers: tuple[LayerCache, ...]
    memory_mask: Tensor | None  # [B, 1, 1, S]

    @property
    def length(self) -> int:
        """Target positions computed so far."""
        past = self.layers[0].past
        return 0 if past is None else past.key.shape[2]

    def select(self, rows: Tensor, sentences: Tensor | None) -> "DecoderCache":
        """Keep, reorder or repeat hypotheses; of the sentences, keep these, or all."""
        mask = self.memory_mask
        if mask is not None and sentences is not None:
            mask = mask.index_select(0, sentences)
        return DecoderCache(tuple(layer.select(rows, sentences) for layer in self.layers), mask)
