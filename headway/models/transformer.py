"""Figure 1: the Transformer."""

from torch import nn

from headway.architectures import Architecture
from headway.models.encoder_decoder import EncoderDecoder
from headway.nn.attention import MultiHeadAttention
from headway.nn.dropout import Dropout
from headway.nn.embeddings import Embedding, Output
from headway.nn.feedforward import ACTIVATIONS, FeedForward
from headway.nn.initialisers import initialise
from headway.nn.layers import Decoder, DecoderLayer, Encoder, EncoderLayer, PostNorm, PreNorm
from headway.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions


class Transformer(EncoderDecoder):
    architecture: Architecture

    def __init__(self, architecture: Architecture, *, pad: int = 0) -> None:
        super().__init__()
        a = architecture
        self.architecture, self.pad = a, pad

        self.source_embedding = Embedding(vocab=a.source_vocab, d_model=a.d_model)
        self.target_embedding = self.source_embedding if a.tie == "all" else Embedding(vocab=a.target_vocab, d_model=a.d_model)
        own = self.target_embedding if a.tie != "none" else Embedding(vocab=a.target_vocab, d_model=a.d_model)
        self.head, self.output = nn.Identity(), Output(own.weight, bias=a.output_bias)
        self.positions = _positions(a)
        self.dropout = Dropout(a.dropout)

        def attention() -> MultiHeadAttention:
            scale = None if a.scale_attention else 1.0
            return MultiHeadAttention(d_model=a.d_model, n_heads=a.n_heads, d_k=a.d_k, d_v=a.d_v, scale=scale)

        def feed_forward() -> FeedForward:
            return FeedForward(d_model=a.d_model, d_ff=a.d_ff, activation=ACTIVATIONS[a.activation]())

        def residual() -> PostNorm | PreNorm:
            norm = nn.LayerNorm(a.d_model, eps=a.epsilon)
            return PostNorm(norm=norm, dropout=a.dropout) if a.norm == "post" else PreNorm(norm=norm, dropout=a.dropout)

        def last_norm() -> nn.Module:
            return nn.Identity() if a.norm == "post" else nn.LayerNorm(a.d_model, eps=a.epsilon)

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


def _positions(a: Architecture) -> SinusoidalPositions | LearnedPositions | NoPositions:
    if a.positions == "sinusoidal":
        return SinusoidalPositions(d_model=a.d_model)
    if a.positions == "learned":
        return LearnedPositions(d_model=a.d_model, max_positions=a.max_positions)
    return NoPositions()
