"""The reference engine: torch, one batch at a time. B batch, L layers, H heads, S source, T target, V vocabulary."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headway.decoding.search import Hypothesis, beam_search
from headway.models.transformer import Transformer
from headway.nn.attention import record_attention
from headway.nn.cache import DecoderCache
from headway.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class AttentionWeights:
    """Where each layer's heads look in one pair of sentences; a row sums to one. S counts the end mark, T the begin mark."""

    encoder: np.ndarray  # [L, H, S, S]
    decoder: np.ndarray  # [L, H, T, T]
    cross: np.ndarray  # [L, H, T, S]


class TorchEngine:
    """A model and what it must know of the target's vocabulary."""

    def __init__(self, model: Transformer, target: Tokenizer) -> None:
        self.model = model
        self.bos, self.eos = target.bos, target.eos
        self.never = [target.pad, target.bos, target.unk]

    @torch.inference_mode()
    def translate(
        self, sources: Sequence[Sequence[int]], *, beam: int, nbest: int = 1, length_penalty: float, limits: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source (its pieces, without an end), best first; each at most `limits` pieces long."""
        self.model.eval()
        cache = self.model.start(self._pad(sources))
        return beam_search(
            self.step,
            cache,
            bos=self.bos,
            eos=self.eos,
            limits=torch.tensor(limits, device=self.model.device),
            beam=beam,
            nbest=nbest,
            alpha=length_penalty,
        )

    def step(self, tokens: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Log-probabilities of what follows the tokens [B]: [B, V]."""
        x, cache = self.model.decode(tokens[:, None], cache)
        logits = self.model.output.logits(x[:, 0])
        logits[:, self.never] = -torch.inf
        return logits.log_softmax(dim=-1), cache

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """The encoder's output of each source, one row a piece and a last one for its end: [S, d_model]."""
        self.model.eval()
        memory, _ = self.model.encode(self._pad(sources))
        return [rows[: len(source) + 1].cpu().numpy() for rows, source in zip(memory, sources, strict=True)]

    @torch.inference_mode()
    def attend(self, source: Sequence[int], target: Sequence[int]) -> AttentionWeights:
        """The attention of one pair (its pieces, without marks), in one pass: the decoder reads the target, by whomever."""
        self.model.eval()
        with record_attention(self.model) as weights:
            self.model(self._pad([source]), torch.tensor([[self.bos, *target]], device=self.model.device))

        def stack(part: str, name: str, layers: int) -> np.ndarray:
            return torch.cat([weights[f"{part}.layers.{layer}.{name}"] for layer in range(layers)]).float().cpu().numpy()

        architecture = self.model.architecture
        return AttentionWeights(
            encoder=stack("encoder", "attention", architecture.n_layers),
            decoder=stack("decoder", "attention", architecture.n_decoder_layers),
            cross=stack("decoder", "cross_attention", architecture.n_decoder_layers),
        )

    @torch.inference_mode()
    def positions(self, length: int) -> np.ndarray | None:
        """What is added to the embeddings of the first positions [length, d_model]; a learned table may end before that."""
        architecture = self.model.architecture
        if architecture.positions == "none":
            return None
        if architecture.positions == "learned":
            length = min(length, architecture.max_positions)
        return self.model.positions(0, length).float().cpu().numpy()

    def _pad(self, sources: Sequence[Sequence[int]]) -> Tensor:
        length = max(map(len, sources)) + 1
        padded = torch.full((len(sources), length), self.model.pad)
        for row, source in zip(padded, sources, strict=True):
            row[: len(source) + 1] = torch.tensor([*source, self.eos])
        return padded.to(self.model.device)
