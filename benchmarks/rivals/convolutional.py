"""A small ConvS2S (Gehring et al., 2017): gated convolutions of three positions, and attention in each decoder layer.

Sums of two are scaled by sqrt(0.5), as there, so that they keep their variance. In place of the weight normalisation there are
layer norms before the convolutions, which learned much faster here; dot products are scaled by 1 / sqrt(d_model), since the
embeddings are as large as the Transformer's.
B sentences, N rows (hypotheses, as many for each sentence), S source, T target.
"""

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from rival import Drawn, Rival, Shape
from torch import Tensor, nn

from headway.nn.dropout import Dropout
from headway.nn.positions import SinusoidalPositions

KERNEL = 3
LAYERS = 4  # of the encoder and of the decoder
HALF = math.sqrt(0.5)


class GatedConvolution(Drawn):
    """Windows of x times a matrix, one half of the product the other's gate."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.dropout = Dropout(shape.dropout)
        self.linear = nn.Linear(KERNEL * shape.width, 2 * shape.width)

    @torch.no_grad()
    def draw(self) -> None:
        """So that the gated half has its input's variance (the paper's appendix)."""
        nn.init.normal_(self.linear.weight, std=math.sqrt(4 * (1 - self.dropout.p) / self.linear.in_features))

    def forward(self, x: Tensor) -> Tensor:
        """[N, T + KERNEL - 1, width] -> [N, T, width]"""
        x, length = self.dropout(x), x.shape[1] - KERNEL + 1
        return F.glu(self.linear(torch.cat([x[:, i : i + length] for i in range(KERNEL)], dim=-1)))


class ConvolutionalEncoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm, self.convolution = nn.LayerNorm(shape.width), GatedConvolution(shape)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """`real` [B, S, 1] is 0 at padding, which is what stands around a sentence."""
        around = F.pad(self.norm(x) * real, (0, 0, KERNEL // 2, KERNEL // 2))
        y: Tensor = (x + self.convolution(around)) * HALF
        return y


class ConvolutionalEncoder(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(shape.d_model, shape.width), nn.Linear(shape.width, shape.d_model)
        self.layers = nn.ModuleList(ConvolutionalEncoderLayer(shape) for _ in range(LAYERS))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """[B, S, d_model] and [B, 1, 1, S] -> what is compared and what is taken, side by side [B, S, 2 * d_model]"""
        real = mask[:, 0, 0, :, None].to(x.dtype)
        y = self.widen(x)
        for layer in self.layers:
            y = layer(y, real)
        keys = self.narrow(y)
        return torch.cat([keys, (keys + x) * HALF], dim=-1)


@dataclass(frozen=True)
class ConvolutionalCache:
    keys: Tensor  # [B, S, d_model]
    values: Tensor  # [B, S, d_model]
    mask: Tensor  # [B, 1, 1, S]
    past: tuple[Tensor, ...]  # of each layer its last inputs [N, KERNEL - 1, width]
    length: int = 0  # positions read

    def select(self, rows: Tensor, sentences: Tensor | None) -> "ConvolutionalCache":
        new = replace(self, past=tuple(one.index_select(0, rows) for one in self.past))
        if sentences is None:
            return new
        keys, values, mask = (one.index_select(0, sentences) for one in (self.keys, self.values, self.mask))
        return replace(new, keys=keys, values=values, mask=mask)


class ConvolutionalDecoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm, self.convolution = nn.LayerNorm(shape.width), GatedConvolution(shape)
        self.ask, self.take = nn.Linear(shape.width, shape.d_model), nn.Linear(shape.d_model, shape.width)

    def forward(self, x: Tensor, past: Tensor, embedded: Tensor, cache: ConvolutionalCache) -> tuple[Tensor, Tensor]:
        """x [N, T, width] after `past`, the target's embeddings [N, T, d_model] -> the new x, the new past"""
        window = torch.cat([past, self.norm(x)], dim=1)
        y = self.convolution(window)
        asked = (self.ask(y) + embedded) * HALF
        y = (y + self.take(_attend(asked, cache))) * HALF
        return (x + y) * HALF, window[:, -(KERNEL - 1) :]


def _attend(asked: Tensor, cache: ConvolutionalCache) -> Tensor:
    """[N, T, d_model] -> the same; hypotheses of one sentence ask side by side."""
    together = asked.view(len(cache.keys), -1, asked.shape[-1])
    scores = torch.bmm(together, cache.keys.transpose(1, 2)) / math.sqrt(asked.shape[-1])
    weights = scores.masked_fill(~cache.mask[:, 0], -torch.inf).softmax(dim=-1)
    return torch.bmm(weights, cache.values).view_as(asked)


class ConvolutionalDecoder(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.width = shape.width
        self.widen, self.narrow = nn.Linear(shape.d_model, shape.width), nn.Linear(shape.width, shape.d_model)
        self.layers = nn.ModuleList(ConvolutionalDecoderLayer(shape) for _ in range(LAYERS))
        self.norm, self.dropout = nn.LayerNorm(shape.d_model), Dropout(shape.dropout)

    def start(self, memory: Tensor, mask: Tensor) -> ConvolutionalCache:
        keys, values = memory.chunk(2, dim=-1)
        nothing = memory.new_zeros(len(memory), KERNEL - 1, self.width)
        return ConvolutionalCache(keys, values, mask, (nothing,) * len(self.layers))

    def forward(self, x: Tensor, cache: ConvolutionalCache) -> tuple[Tensor, ConvolutionalCache]:
        """[N, T, d_model] -> the same"""
        y, past = self.widen(x), []
        for layer, before in zip(self.layers, cache.past, strict=True):
            y, kept = layer(y, before, x, cache)
            past.append(kept)
        states = self.dropout(self.norm(self.narrow(y)))
        return states, replace(cache, past=tuple(past), length=cache.length + x.shape[1])


def build_convolutional(shape: Shape) -> Rival:
    positions = SinusoidalPositions(d_model=shape.d_model)
    return Rival(shape, encoder=ConvolutionalEncoder(shape), decoder=ConvolutionalDecoder(shape), positions=positions)
