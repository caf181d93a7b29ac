"""Section 3.1: residual connections and norms, the layer of the encoder and of the decoder, and the two stacks.

A layer is assembled from parts handed to it, so that a relative of the paper's model is another assembly. A residual connection
says where a sublayer's input comes from (`before`) and how its output joins the stream (`after`).
B batch, S source, T target.
"""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from headway.nn.attention import MultiHeadAttention
from headway.nn.cache import DecoderCache, KeyValue, LayerCache
from headway.nn.dropout import Dropout
from headway.nn.feedforward import FeedForward, GatedFeedForward
from headway.nn.masks import causal_mask
from headway.nn.positions import RelativeBias


class PostNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))), as in the paper."""

    def __init__(self, *, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def before(self, x: Tensor) -> Tensor:
        return x

    def after(self, x: Tensor, sublayer: Tensor) -> Tensor:
        return self.norm(self.dropout.add(x, sublayer))


class PreNorm(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))): the stream itself is never normed, so deep stacks train without a warm-up."""

    def __init__(self, *, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def before(self, x: Tensor) -> Tensor:
        return self.norm(x)

    def after(self, x: Tensor, sublayer: Tensor) -> Tensor:
        return self.dropout.add(x, sublayer)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network."""

    def __init__(
        self,
        *,
        attention: MultiHeadAttention,
        feed_forward: FeedForward | GatedFeedForward,
        residual: Callable[[], PostNorm | PreNorm],
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attention_residual = residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = residual()

    def forward(self, x: Tensor, mask: Tensor | None, bias: Tensor | None = None) -> Tensor:
        query, own = self.attention.project(self.attention_residual.before(x))
        x = self.attention_residual.after(x, self.attention.attend(query, own, mask, bias))
        return self.feed_forward_residual.after(x, self.feed_forward(self.feed_forward_residual.before(x)))


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output where there is an encoder, then the feed-forward network."""

    def __init__(
        self,
        *,
        attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention | None,
        feed_forward: FeedForward | GatedFeedForward,
        residual: Callable[[], PostNorm | PreNorm],
    ) -> None:
        super().__init__()
        self.attention = attention
        self.attention_residual = residual()
        self.cross_attention = cross_attention
        if cross_attention is not None:
            self.cross_attention_residual = residual()
        self.feed_forward = feed_forward
        self.feed_forward_residual = residual()

    def start(self, memory: Tensor | None) -> LayerCache:
        """Before the first token: the keys and values of the encoder's output."""
        if memory is None or self.cross_attention is None:
            return LayerCache(None, None)
        return LayerCache(None, self.cross_attention.project_memory(memory))

    def forward(
        self, x: Tensor, cache: LayerCache, mask: Tensor | None, memory_mask: Tensor | None, bias: Tensor | None = None
    ) -> tuple[Tensor, LayerCache]:
        """x [B, T, d_model] are the positions after those in the cache."""
        query, own = self.attention.project(self.attention_residual.before(x))
        past = own if cache.past is None else cache.past.append(own)
        x = self.attention_residual.after(x, self.attention.attend(query, past, mask, bias))
        if self.cross_attention is not None:
            query = self.cross_attention.project_query(self.cross_attention_residual.before(x))
            seen = _attend_memory(self.cross_attention, query, cache.memory, memory_mask)
            x = self.cross_attention_residual.after(x, seen)
        x = self.feed_forward_residual.after(x, self.feed_forward(self.feed_forward_residual.before(x)))
        return x, LayerCache(past, cache.memory)


def _attend_memory(attention: MultiHeadAttention, query: Tensor, memory: KeyValue | None, mask: Tensor | None) -> Tensor:
    """query [N, H, T, d_k] -> [N, T, d_model]. Where hypotheses share a memory (T is 1 then), they ask it side by side."""
    assert memory is not None
    shared, (rows, heads, _, d_k) = len(memory.key), query.shape
    if rows == shared:
        return attention.attend(query, memory, mask)
    together = query.view(shared, rows // shared, heads, d_k).transpose(1, 2)
    return attention.attend(together, memory, mask).reshape(rows, 1, -1)


class Encoder(nn.Module):
    """A stack of layers. `norm` closes a pre-norm stack; a post-norm stack ends in a norm already.

    `distances` is what its attentions know of distances, where the embeddings know nothing of positions.
    """

    def __init__(self, layers: Sequence[EncoderLayer], norm: nn.Module, distances: RelativeBias | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm
        self.distances = distances

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        bias = None if self.distances is None else self.distances(0, x.shape[1])
        for layer in self.layers:
            x = layer(x, mask, bias)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of layers over a cache: an empty one in training, a growing one in decoding. The computation is the same."""

    def __init__(self, layers: Sequence[DecoderLayer], norm: nn.Module, distances: RelativeBias | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm
        self.distances = distances

    def start(self, memory: Tensor | None = None, memory_mask: Tensor | None = None) -> DecoderCache:
        """The cache before the first token."""
        return DecoderCache(tuple(layer.start(memory) for layer in self.layers), memory_mask)  # type: ignore[operator]

    def forward(self, x: Tensor, cache: DecoderCache) -> tuple[Tensor, DecoderCache]:
        length = x.shape[1]
        mask = causal_mask(length, cache.length, x.device) if length > 1 else None
        bias = None if self.distances is None else self.distances(cache.length, length)
        layers = []
        for layer, layer_cache in zip(self.layers, cache.layers, strict=True):
            x, layer_cache = layer(x, layer_cache, mask, cache.memory_mask, bias)
            layers.append(layer_cache)
        return self.norm(x), DecoderCache(tuple(layers), cache.memory_mask)
