"""An attention RNN whose training has no loop over time in Python (after Bahdanau et al., 2015, and Wu et al., 2016).

The decoder's first LSTM reads the target alone, so that all its states are there at once, and with them all of the additive
attention; the second LSTM reads state and context. Nothing that attention finds flows back into the first: that is what a
loop over time would buy, at several times the cost.
B sentences, N rows (hypotheses, as many for each sentence), S source, T target.
"""

from dataclasses import dataclass, replace

import torch
from rival import Drawn, Rival, Shape
from torch import Tensor, nn

from headway.nn.dropout import Dropout
from headway.nn.positions import NoPositions

Memory = tuple[Tensor, Tensor]  # an LSTM's hidden state and cell, [1, N, width] each


class Lstm(Drawn):
    """One layer, one direction. On a processor torch computes a padded batch of it in one piece, a packed one step by step."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, width, batch_first=True)

    @torch.no_grad()
    def draw(self) -> None:
        """Each gate's own matrix; what a cell holds is kept at first (Jozefowicz et al., 2015)."""
        weights: dict[str, Tensor] = dict(self.lstm.named_parameters())
        for gate in weights["weight_ih_l0"].chunk(4):
            nn.init.xavier_uniform_(gate)
        for gate in weights["weight_hh_l0"].chunk(4):
            nn.init.orthogonal_(gate)
        for bias in ("bias_ih_l0", "bias_hh_l0"):
            nn.init.zeros_(weights[bias])
        nn.init.ones_(weights["bias_ih_l0"].chunk(4)[1])

    def forward(self, x: Tensor, start: Memory | None = None) -> tuple[Tensor, Memory]:
        states, memory = self.lstm(x, start)
        return states, memory


class BothWays(nn.Module):
    """A layer of the encoder: half its width reads forwards, half backwards, each sentence from its own end."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.forwards, self.backwards = Lstm(inputs, width // 2), Lstm(inputs, width // 2)

    def forward(self, x: Tensor, turned: Tensor) -> Tensor:
        """`turned` [B, S]: of each place the one that it changes with; padding stays where it is."""
        ahead, _ = self.forwards(x)
        back, _ = self.backwards(_turn(x, turned))
        return torch.cat([ahead, _turn(back, turned)], dim=-1)


def _turn(x: Tensor, turned: Tensor) -> Tensor:
    return x.gather(1, turned[:, :, None].expand_as(x))


class RecurrentEncoder(nn.Module):
    """Two layers, the second beside a residual connection."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.first = BothWays(shape.d_model, shape.width)
        self.second = BothWays(shape.width, shape.width)
        self.norm = nn.LayerNorm(shape.width)
        self.dropout = Dropout(shape.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """[B, S, d_model] and [B, 1, 1, S] -> [B, S, width]"""
        places = torch.arange(x.shape[1], device=x.device)[None]
        lengths = mask[:, 0, 0].sum(dim=-1, keepdim=True)
        turned = torch.where(places < lengths, lengths - 1 - places, places)
        x = self.dropout(self.first(x, turned))
        states: Tensor = self.norm(self.dropout.add(x, self.second(x, turned)))
        return states


@dataclass(frozen=True)
class RecurrentCache:
    memory: Tensor  # [B, S, width]
    keys: Tensor  # [B, S, attention]: the memory as attention compares it
    mask: Tensor  # [B, 1, 1, S]
    first: Memory
    second: Memory
    length: int = 0  # positions read

    def select(self, rows: Tensor, sentences: Tensor | None) -> "RecurrentCache":
        first, second = (
            (hidden.index_select(1, rows), cell.index_select(1, rows)) for hidden, cell in (self.first, self.second)
        )
        new = replace(self, first=first, second=second)
        if sentences is None:
            return new
        memory, keys, mask = (one.index_select(0, sentences) for one in (self.memory, self.keys, self.mask))
        return replace(new, memory=memory, keys=keys, mask=mask)


class RecurrentDecoder(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d, w = shape.d_model, shape.width
        self.begin = nn.Linear(w, w)
        self.first = Lstm(d, w)
        self.ask, self.answer, self.weigh = nn.Linear(w, d), nn.Linear(w, d, bias=False), nn.Linear(d, 1, bias=False)
        self.second = Lstm(2 * w, w)
        self.project, self.norm = nn.Linear(2 * w, d), nn.LayerNorm(d)
        self.dropout = Dropout(shape.dropout)

    def start(self, memory: Tensor, mask: Tensor) -> RecurrentCache:
        """The first state comes from the mean of what was read."""
        real = mask[:, 0, 0, :, None].to(memory.dtype)
        mean = (memory * real).sum(dim=1) / real.sum(dim=1)
        hidden = torch.tanh(self.begin(mean))[None]
        nothing = torch.zeros_like(hidden)
        return RecurrentCache(memory, self.answer(memory), mask, (hidden, nothing), (nothing, nothing))

    def forward(self, x: Tensor, cache: RecurrentCache) -> tuple[Tensor, RecurrentCache]:
        """[N, T, d_model] -> the same"""
        x, first = self.first(x, cache.first)
        x = self.dropout(x)
        context = self.attend(x, cache)
        y, second = self.second(torch.cat([x, context], dim=-1), cache.second)
        y = self.dropout.add(x, y)
        states = self.dropout(self.norm(self.project(torch.cat([y, context], dim=-1))))
        return states, replace(cache, first=first, second=second, length=cache.length + x.shape[1])

    def attend(self, x: Tensor, cache: RecurrentCache) -> Tensor:
        """v^T tanh(W x + U memory), all steps at once; hypotheses of one sentence ask side by side: [N, T, width]"""
        asked = self.ask(x).view(len(cache.keys), -1, cache.keys.shape[-1])
        scores = self.weigh(torch.tanh(asked[:, :, None] + cache.keys[:, None])).squeeze(-1)  # [B, N / B * T, S]
        weights = scores.masked_fill(~cache.mask[:, 0], -torch.inf).softmax(dim=-1)
        return torch.bmm(weights, cache.memory).view_as(x)


def build_recurrent(shape: Shape) -> Rival:
    return Rival(shape, encoder=RecurrentEncoder(shape), decoder=RecurrentDecoder(shape), positions=NoPositions())
