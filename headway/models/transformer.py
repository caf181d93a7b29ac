"""Figure 1: the Transformer. B batch, S source, T target, V vocabulary."""

import torch
from torch import Tensor, nn

from headway.config import Architecture
from headway.nn.attention import MultiHeadAttention
from headway.nn.cache import DecoderCache
from headway.nn.dropout import Dropout
from headway.nn.embeddings import Embedding
from headway.nn.feedforward import FeedForward
from headway.nn.initialisers import initialise
from headway.nn.layers import Decoder, DecoderLayer, Encoder, EncoderLayer, PostNorm, PreNorm
from headway.nn.masks import padding_mask
from headway.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions


class Transformer(nn.Module):
    def __init__(self, architecture: Architecture, *, pad: int = 0) -> None:
        super().__init__()
        a = architecture
        self.architecture, self.pad = a, pad

        self.source_embedding = Embedding(vocab=a.source_vocab, d_model=a.d_model)
        self.target_embedding = self.source_embedding if a.tie == "all" else Embedding(vocab=a.target_vocab, d_model=a.d_model)
        self.output = self.target_embedding if a.tie != "none" else Embedding(vocab=a.target_vocab, d_model=a.d_model)
        self.positions = _positions(a)
        self.dropout = Dropout(a.dropout)

        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(d_model=a.d_model, n_heads=a.n_heads, d_k=a.d_k, d_v=a.d_v)

        def feed_forward() -> FeedForward:
            return FeedForward(d_model=a.d_model, d_ff=a.d_ff, activation=nn.ReLU() if a.activation == "relu" else nn.GELU())

        def residual() -> PostNorm | PreNorm:
            norm = nn.LayerNorm(a.d_model)
            return PostNorm(norm=norm, dropout=a.dropout) if a.norm == "post" else PreNorm(norm=norm, dropout=a.dropout)

        def last_norm() -> nn.Module:
            return nn.Identity() if a.norm == "post" else nn.LayerNorm(a.d_model)

        self.encoder = Encoder(
            [EncoderLayer(attention=attention(), feed_forward=feed_forward(), residual=residual) for _ in range(a.n_layers)],
            last_norm(),
        )
        self.decoder = Decoder(
            [
                DecoderLayer(attention=attention(), cross_attention=attention(), feed_forward=feed_forward(), residual=residual)
                for _ in range(a.n_decoder_layers)
            ],
            last_norm(),
        )
        initialise(self)

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Source tokens [B, S] -> memory [B, S, d_model] and its padding mask [B, 1, 1, S]."""
        mask = padding_mask(source, self.pad)
        return self.encoder(self._embed(self.source_embedding, source, start=0), mask), mask

    def start(self, source: Tensor) -> DecoderCache:
        """Encode, and make the cache that decoding begins with."""
        return self.decoder.start(*self.encode(source))

    def decode(self, target: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Target tokens [B, T] after those in the cache -> the decoder's output [B, T, d_model] and the new cache."""
        return self.decoder(self._embed(self.target_embedding, target, start=cache.length), cache)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of each next target token: [B, S], [B, T] -> [B, T, V]."""
        x, _ = self.decode(target, self.start(source))
        return self.output.logits(x)

    def _embed(self, embedding: Embedding, tokens: Tensor, start: int) -> Tensor:
        return self.dropout(embedding(tokens) + self.positions(start, tokens.shape[1]))


def _positions(a: Architecture) -> SinusoidalPositions | LearnedPositions | NoPositions:
    if a.positions == "sinusoidal":
        return SinusoidalPositions(d_model=a.d_model)
    if a.positions == "learned":
        return LearnedPositions(d_model=a.d_model, max_positions=a.max_positions)
    return NoPositions()


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def build(architecture: Architecture, *, pad: int = 0, seed: int = 1) -> Transformer:
    """A new model whose initial weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Transformer(architecture, pad=pad)
