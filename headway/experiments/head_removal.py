"""A translator whose heads can be taken out, and what it does without them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch

from headway.decoding.options import Options
from headway.engines.engine import AttentionWeights, Job
from headway.evaluation.metrics import bleu
from headway.experiments.head_patterns import Part
from headway.nn.attention import MultiHeadAttention
from headway.nn.layers import DecoderLayer, EncoderLayer
from headway.text.labels import label_pieces
from headway.translator import Translator

LONGEST = 60  # pieces of a side: longer pairs are not looked at
Pieces = list[int]


@dataclass(frozen=True)
class Head:
    part: Part
    layer: int  # from 1, as the number is
    number: int

    @property
    def name(self) -> str:
        return f"{self.part} {self.layer}.{self.number}"


@dataclass(frozen=True)
class Judgement:
    losses: np.ndarray  # of each sentence, summed over its pieces
    pieces: int
    bleu: float

    @property
    def loss(self) -> float:
        return float(self.losses.sum()) / self.pieces


class Bench:
    """A model, and pairs on which it is judged. Sentences are translated greedily: it is differences that count."""

    def __init__(self, translator: Translator, sources: Sequence[str], references: Sequence[str], sentences: int) -> None:
        self._engine, self._tokenizers = translator.engines.torch, translator.tokenizers
        encoded = zip(self._tokenizers.source.encode(sources), self._tokenizers.target.encode(references), strict=True)
        fitting = [at for at, pair in enumerate(encoded) if min(map(len, pair)) > 0 and max(map(len, pair)) <= LONGEST]
        chosen = fitting[:sentences]
        self._references = [references[at] for at in chosen]
        self._sources = self._tokenizers.source.encode([sources[at] for at in chosen])
        self._targets = self._tokenizers.target.encode(self._references)

    def __len__(self) -> int:
        return len(self._references)

    def list_heads(self) -> list[Head]:
        a = self._engine.model.architecture
        layers: list[tuple[Part, int]] = [
            ("encoder", a.n_layers),
            ("decoder", a.n_decoder_layers),
            ("cross", a.n_decoder_layers),
        ]
        return [
            Head(part, layer, number)
            for part, count in layers
            for layer in range(1, count + 1)
            for number in range(1, a.n_heads + 1)
        ]

    def judge(self, without: Sequence[Head]) -> Judgement:
        """The loss on the references, and BLEU of translations, while the heads are away."""
        with self._removed(without):
            scores = self._engine.score(self._sources, self._targets, self._engine.batch_tokens)
            job = Job(self._sources, [len(source) + 20 for source in self._sources], Options(beam=1))
            found: dict[int, Pieces] = {}
            for places, batch in self._engine.translate(job, self._engine.batch_tokens):
                found |= {place: list(best.tokens) for place, (best, *_) in zip(places, batch, strict=True)}
        texts = self._tokenizers.target.decode([found[place] for place in range(len(self))])
        losses = np.array([-sum(of_pieces) for of_pieces in scores])
        return Judgement(losses, sum(map(len, scores)), bleu(texts, [self._references]))

    def watch(self) -> Iterator[tuple[list[str], list[str], list[str], AttentionWeights]]:
        """Of each pair the pieces of the source, what the decoder reads and what it writes, and where all heads look."""
        reads, writes = self._tokenizers.source, self._tokenizers.target
        for source, target in zip(self._sources, self._targets, strict=True):
            yield (
                label_pieces(reads, [*source, reads.eos]),
                label_pieces(writes, [writes.bos, *target]),
                label_pieces(writes, [*target, writes.eos]),
                self._engine.attend(source, target),
            )

    @contextmanager
    def _removed(self, heads: Sequence[Head]) -> Iterator[None]:
        """Their columns of W^O are zero: whatever a head finds, nobody hears of it."""
        changed = [(attention.output.weight, attention.output.weight.detach().clone()) for attention in map(self._find, heads)]
        try:
            with torch.no_grad():
                for head, (weight, _) in zip(heads, changed, strict=True):
                    width = self._find(head).d_v
                    weight[:, (head.number - 1) * width : head.number * width] = 0.0
            yield
        finally:
            with torch.no_grad():
                for weight, before in reversed(changed):
                    weight.copy_(before)

    def _find(self, head: Head) -> MultiHeadAttention:
        model = self._engine.model
        if head.part == "encoder":
            return cast(EncoderLayer, model.encoder.layers[head.layer - 1]).attention
        layer = cast(DecoderLayer, model.decoder.layers[head.layer - 1])
        found = layer.attention if head.part == "decoder" else layer.cross_attention
        assert found
        return found
