"""T5 (Raffel et al., 2020): the Transformer with distances for positions, norms without a mean, and no biases.

Version 1.1 has a gate in its feed-forward networks and an output matrix of its own. Attention does not scale its scores.
"""

from torch import nn

from headway.architectures import T5Architecture
from headway.models.encoder_decoder import EncoderDecoder
from headway.nn.attention import MultiHeadAttention
from headway.nn.dropout import Dropout
from headway.nn.embeddings import Embedding, Output, Scale
from headway.nn.feedforward import ACTIVATIONS, FeedForward, GatedFeedForward
from headway.nn.initialisers import initialise
from headway.nn.layers import Decoder, DecoderLayer, Encoder, EncoderLayer, PreNorm
from headway.nn.positions import NoPositions, RelativeBias


class T5(EncoderDecoder):
    architecture: T5Architecture

    def __init__(self, architecture: T5Architecture, *, pad: int = 0) -> None:
        super().__init__()
        a = architecture
        self.architecture, self.pad = a, pad

        self.source_embedding = self.target_embedding = Embedding(vocab=a.vocab, d_model=a.d_model, scale=1.0)
        own = self.target_embedding if a.tie else Embedding(vocab=a.vocab, d_model=a.d_model)
        self.head, self.output = nn.Identity(), Output(own.weight)
        self.positions = NoPositions()
        self.dropout = Dropout(a.dropout)

        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(d_model=a.d_model, n_heads=a.n_heads, d_k=a.d_k, d_v=a.d_k, bias=False, scale=1.0)

        def feed_forward() -> FeedForward | GatedFeedForward:
            kind = GatedFeedForward if a.gated else FeedForward
            return kind(d_model=a.d_model, d_ff=a.d_ff, activation=ACTIVATIONS[a.activation](), bias=False)

        def norm() -> nn.RMSNorm:
            return nn.RMSNorm(a.d_model, eps=a.epsilon)

        def residual() -> PreNorm:
            return PreNorm(norm=norm(), dropout=a.dropout)

        def distances(*, both_ways: bool) -> RelativeBias:
            return RelativeBias(n_heads=a.n_heads, buckets=a.buckets, max_distance=a.max_distance, both_ways=both_ways)

        self.encoder = Encoder(
            [EncoderLayer(attention=attention(), feed_forward=feed_forward(), residual=residual) for _ in range(a.n_layers)],
            nn.Sequential(norm(), Dropout(a.dropout)),
            distances(both_ways=True),
        )
        self.decoder = Decoder(
            [
                DecoderLayer(attention=attention(), cross_attention=attention(), feed_forward=feed_forward(), residual=residual)
                for _ in range(a.n_decoder_layers)
            ],
            nn.Sequential(norm(), Dropout(a.dropout), Scale(a.d_model**-0.5 if a.tie else 1.0)),
            distances(both_ways=False),
        )
        initialise(self, embeddings=1.0)  # large, for nothing scales them up; the last states are scaled down
