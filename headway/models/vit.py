"""ViT (Dosovitskiy et al., 2021): the encoder alone, over the patches of a picture. B batch, C channels."""

import torch
from torch import Tensor, nn

from headway.architectures import VitArchitecture
from headway.models.model import Model
from headway.nn.attention import MultiHeadAttention
from headway.nn.dropout import Dropout
from headway.nn.embeddings import Output
from headway.nn.feedforward import ACTIVATIONS, FeedForward
from headway.nn.initialisers import initialise
from headway.nn.layers import Encoder, EncoderLayer, PreNorm
from headway.nn.patches import PatchEmbedding
from headway.nn.positions import LearnedPositions


class Vit(Model):
    architecture: VitArchitecture

    def __init__(self, architecture: VitArchitecture) -> None:
        super().__init__()
        a = architecture
        self.architecture, self.pad = a, -1

        self.embedding = PatchEmbedding(channels=a.channels, patch_size=a.patch_size, d_model=a.d_model)
        self.positions = LearnedPositions(d_model=a.d_model, max_positions=1 + a.patches)
        self.dropout = Dropout(a.dropout)

        def norm() -> nn.LayerNorm:
            return nn.LayerNorm(a.d_model, eps=a.epsilon)

        def layer() -> EncoderLayer:
            return EncoderLayer(
                attention=MultiHeadAttention.of_width(a.d_model, a.n_heads),
                feed_forward=FeedForward(d_model=a.d_model, d_ff=a.d_ff, activation=ACTIVATIONS[a.activation]()),
                residual=lambda: PreNorm(norm=norm(), dropout=a.dropout),
            )

        self.encoder = Encoder([layer() for _ in range(a.n_layers)], norm())
        self.head, self.output = nn.Identity(), Output(nn.Parameter(torch.empty(a.classes, a.d_model)), bias=True)
        initialise(self)

    def states(self, *inputs: Tensor) -> Tensor:
        """Pixels [B, C, size, size] -> the state in which the class was gathered [B, 1, d_model]."""
        (pixels,) = inputs
        x = self.embedding(pixels)
        x = self.encoder(self.dropout(x + self.positions(0, x.shape[1])), None)
        return x[:, :1]
