"""BERT (Devlin et al., 2019): the encoder alone, reading in both directions. B batch, S positions."""

import torch
from torch import Tensor, nn

from headway.architectures import BertArchitecture
from headway.models.model import Model
from headway.nn.attention import MultiHeadAttention
from headway.nn.dropout import Dropout
from headway.nn.embeddings import Embedding, Output
from headway.nn.feedforward import ACTIVATIONS, FeedForward
from headway.nn.initialisers import initialise
from headway.nn.layers import Encoder, EncoderLayer, PostNorm
from headway.nn.masks import padding_mask
from headway.nn.positions import LearnedPositions


class Bert(Model):
    architecture: BertArchitecture

    def __init__(self, architecture: BertArchitecture, *, pad: int = 0) -> None:
        super().__init__()
        a = architecture
        self.architecture, self.pad = a, pad

        self.embedding = Embedding(vocab=a.vocab, d_model=a.d_model, scale=1.0)
        self.positions = LearnedPositions(d_model=a.d_model, max_positions=a.max_positions)
        self.segments = Embedding(vocab=a.segments, d_model=a.d_model, scale=1.0)
        self.norm = nn.LayerNorm(a.d_model, eps=a.epsilon)
        self.dropout = Dropout(a.dropout)

        def layer() -> EncoderLayer:
            return EncoderLayer(
                attention=MultiHeadAttention.of_width(a.d_model, a.n_heads),
                feed_forward=FeedForward(d_model=a.d_model, d_ff=a.d_ff, activation=ACTIVATIONS[a.activation]()),
                residual=lambda: PostNorm(norm=nn.LayerNorm(a.d_model, eps=a.epsilon), dropout=a.dropout),
            )

        self.encoder = Encoder([layer() for _ in range(a.n_layers)], nn.Identity())
        dense = nn.Linear(a.d_model, a.d_model)
        if a.classes:
            self.head = nn.Sequential(dense, nn.Tanh(), Dropout(a.dropout))
            self.output = Output(nn.Parameter(torch.empty(a.classes, a.d_model)), bias=True)
        else:
            self.head = nn.Sequential(dense, ACTIVATIONS[a.activation](), nn.LayerNorm(a.d_model, eps=a.epsilon))
            self.output = Output(self.embedding.weight, bias=True)
        initialise(self)

    def states(self, *inputs: Tensor) -> Tensor:
        """Tokens [B, S], and segments if there are two -> one state for each token, or, for a class, that of the first."""
        tokens, *more = inputs
        segments = more[0] if more else torch.zeros_like(tokens)
        x = self.embedding(tokens) + self.positions(0, tokens.shape[1]) + self.segments(segments)
        x = self.encoder(self.dropout(self.norm(x)), padding_mask(tokens, self.pad))
        return x[:, :1] if self.architecture.classes else x
