"""How an encoder and a decoder work together, whatever they are made of. B batch, S source, T target."""

from torch import Tensor

from headway.architectures import Architecture, T5Architecture
from headway.models.model import Model
from headway.nn.cache import DecoderCache
from headway.nn.dropout import Dropout
from headway.nn.embeddings import Embedding
from headway.nn.layers import Decoder, Encoder
from headway.nn.masks import padding_mask
from headway.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions


class EncoderDecoder(Model):
    architecture: Architecture | T5Architecture
    source_embedding: Embedding
    target_embedding: Embedding
    positions: SinusoidalPositions | LearnedPositions | NoPositions
    dropout: Dropout
    encoder: Encoder
    decoder: Decoder

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

    def states(self, *inputs: Tensor) -> Tensor:
        """Of each next target token: source [B, S], target [B, T] -> [B, T, d_model]."""
        source, target = inputs
        return self.decode(target, self.start(source))[0]

    def _embed(self, embedding: Embedding, tokens: Tensor, start: int) -> Tensor:
        return self.dropout(embedding(tokens) + self.positions(start, tokens.shape[1]))
