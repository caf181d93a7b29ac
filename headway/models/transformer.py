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

        def embedding(vocab: int) -> Embedding:
            return Embedding(vocab=vocab, d_model=a.d_model, dropout=a.word_dropout)

        self.source_embedding = embedding(a.source_vocab)
        self.target_embedding = self.source_embedding if a.tie == "all" else embedding(a.target_vocab)
        own = self.target_embedding if a.tie != "none" else embedding(a.target_vocab)
        self.head, self.output = nn.Identity(), Output(own.weight, bias=a.output_bias)
        self.positions = _positions(a)
        self.dropout = Dropout(a.dropout)

        def attention() -> MultiHeadAttention:
            scale = None if a.scale_attention else 1.0
            return MultiHeadAttention(
                d_model=a.d_model, n_heads=a.n_heads, d_k=a.d_k, d_v=a.d_v, scale=scale, dropout=a.attention_dropout
            )

        def feed_forward() -> FeedForward:
            activation = ACTIVATIONS[a.activation]()
            return FeedForward(d_model=a.d_model, d_ff=a.d_ff, activation=activation, dropout=a.activation_dropout)

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
