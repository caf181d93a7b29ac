"""GPT-2 (Radford et al., 2019): the decoder alone, with no encoder to look at. B batch, T positions."""

from torch import Tensor, nn

from headway.architectures import GptArchitecture
from headway.models.model import Model
from headway.nn.attention import MultiHeadAttention
from headway.nn.cache import DecoderCache
from headway.nn.dropout import Dropout
from headway.nn.embeddings import Embedding, Output
from headway.nn.feedforward import ACTIVATIONS, FeedForward
from headway.nn.initialisers import initialise
from headway.nn.layers import Decoder, DecoderLayer, PreNorm
from headway.nn.positions import LearnedPositions


class Gpt(Model):
    architecture: GptArchitecture

    def __init__(self, architecture: GptArchitecture, *, pad: int = 0) -> None:
        super().__init__()
        a = architecture
        self.architecture, self.pad = a, pad

        self.embedding = Embedding(vocab=a.vocab, d_model=a.d_model, scale=1.0)
        self.positions = LearnedPositions(d_model=a.d_model, max_positions=a.max_positions)
        self.dropout = Dropout(a.dropout)
        self.head, self.output = nn.Identity(), Output(self.embedding.weight)

        def norm() -> nn.LayerNorm:
            return nn.LayerNorm(a.d_model, eps=a.epsilon)

        def layer() -> DecoderLayer:
            return DecoderLayer(
                attention=MultiHeadAttention.of_width(a.d_model, a.n_heads),
                cross_attention=None,
                feed_forward=FeedForward(d_model=a.d_model, d_ff=a.d_ff, activation=ACTIVATIONS[a.activation]()),
                residual=lambda: PreNorm(norm=norm(), dropout=a.dropout),
            )

        self.decoder = Decoder([layer() for _ in range(a.n_layers)], norm())
        initialise(self)

    def start(self) -> DecoderCache:
        """The cache before the first token, of any batch."""
        return self.decoder.start()

    def decode(self, tokens: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        """Tokens [B, T] after those in the cache -> states [B, T, d_model] and the new cache."""
        x = self.embedding(tokens) + self.positions(cache.length, tokens.shape[1])
        return self.decoder(self.dropout(x), cache)

    def states(self, *inputs: Tensor) -> Tensor:
        """Of what follows each token: [B, T] -> [B, T, d_model]."""
        (tokens,) = inputs
        return self.decode(tokens, self.start())[0]
