"""An encoder or a decoder, layer by layer, from what its parts were called with. All of it was computed by the model itself.

A residual connection is no call of its own, but its norm is: after a post-norm stands the stream as it goes on, before a
pre-norm the stream as it came in, and that is what the sublayer before has left.
"""

from collections.abc import Callable

import numpy as np
from torch import Tensor, nn

from headway.glass.parts import Change, Code, Layer, Shape, Stack, Sublayer, Units
from headway.glass.recording import Calls, to_numpy
from headway.nn.attention import MultiHeadAttention, attention
from headway.nn.feedforward import FeedForward, GatedFeedForward
from headway.nn.layers import Decoder, DecoderLayer, Encoder, EncoderLayer, PostNorm, PreNorm


def see_stack(stack: Encoder | Decoder, calls: Calls, labels: list[str]) -> Stack:
    first = stack.layers[0]
    assert isinstance(first, EncoderLayer | DecoderLayer)
    layers = [_see_layer(layer, calls) for layer in stack.layers if isinstance(layer, EncoderLayer | DecoderLayer)]
    return Stack(
        name="encoder" if isinstance(stack, Encoder) else "decoder",
        layers=layers,
        labels=labels,
        forwards=isinstance(stack, Decoder),
        bias=None if stack.distances is None else to_numpy(calls.last(stack.distances).output)[0],
        scaled=first.attention.scale is None,
        d_k=first.attention.d_k,
        d_v=first.attention.d_v,
        pre_norm=isinstance(first.attention_residual, PreNorm),
        gated=isinstance(first.feed_forward, GatedFeedForward),
        activation=type(first.feed_forward.activation).__name__,
        shapes=_measure(first, layers[0]),
        codes=_name(first, stack),
    )


def _see_layer(layer: EncoderLayer | DecoderLayer, calls: Calls) -> Layer:
    called = calls.last(layer)
    output: Tensor = called.output if isinstance(layer, EncoderLayer) else called.output[0]
    sublayers = list(_sublayers(layer))
    stream = [to_numpy(called.inputs[0])[0]]  # before each sublayer, and after the last [T, D]
    for at, (_, _, residual) in enumerate(sublayers):
        if isinstance(residual, PostNorm):
            after = calls.last(residual.norm).output
        else:
            after = calls.last(sublayers[at + 1][2].norm).inputs[0] if at + 1 < len(sublayers) else output
        stream.append(to_numpy(after)[0])
    changes = {
        name: _compare(before, to_numpy(calls.last(part).output)[0], after)
        for (name, part, _), before, after in zip(sublayers, stream, stream[1:], strict=False)
    }
    cross = layer.cross_attention if isinstance(layer, DecoderLayer) else None
    activation = layer.feed_forward.activation
    assert isinstance(activation, nn.Module)
    return Layer(
        attention=to_numpy(calls.attention[layer.attention])[0],
        cross=None if cross is None else to_numpy(calls.attention[cross])[0],
        changes=changes,
        units=Units(to_numpy(calls.last(activation).output)[0]),
        output=to_numpy(output)[0],
    )


def _sublayers(layer: EncoderLayer | DecoderLayer) -> list[tuple[Sublayer, nn.Module, PostNorm | PreNorm]]:
    """Each with the part whose output is the sublayer's, and its residual connection."""
    found: list[tuple[Sublayer, nn.Module, PostNorm | PreNorm]] = [
        ("attention", layer.attention.output, layer.attention_residual)
    ]
    if isinstance(layer, DecoderLayer) and layer.cross_attention is not None:
        found.append(("cross_attention", layer.cross_attention.output, layer.cross_attention_residual))
    return [*found, ("feed_forward", layer.feed_forward, layer.feed_forward_residual)]


def _compare(before: np.ndarray, update: np.ndarray, after: np.ndarray) -> Change:
    lengths = np.maximum(np.linalg.norm(before, axis=1), 1e-12)
    both = np.maximum(lengths * np.linalg.norm(after, axis=1), 1e-12)
    return Change(np.linalg.norm(update, axis=1) / lengths, (before * after).sum(axis=1) / both)


def _measure(layer: EncoderLayer | DecoderLayer, seen: Layer) -> dict[Sublayer, list[Shape]]:
    """The way of the tensors through each sublayer."""

    def attend(part: MultiHeadAttention, weights: np.ndarray) -> list[Shape]:
        heads, asking, asked = weights.shape
        keys = [Shape("K", (heads, asked, part.d_k)), Shape("V", (heads, asked, part.d_v))]
        joined = Shape("Concat(head₁ … headₕ)", (asking, heads * part.d_v))
        return [x, Shape("Q", (heads, asking, part.d_k)), *keys, Shape("weights", weights.shape), joined, x]

    x = Shape("x", seen.output.shape)
    shapes: dict[Sublayer, list[Shape]] = {"attention": attend(layer.attention, seen.attention)}
    if isinstance(layer, DecoderLayer) and layer.cross_attention is not None and seen.cross is not None:
        shapes["cross_attention"] = attend(layer.cross_attention, seen.cross)
    return shapes | {"feed_forward": [x, Shape("inner", seen.units.values.shape), x]}


def _name(layer: EncoderLayer | DecoderLayer, stack: Encoder | Decoder) -> dict[str, Code]:
    network: FeedForward | GatedFeedForward = layer.feed_forward
    named: dict[str, Callable[..., object]] = {
        "formula": attention,
        "heads": type(layer.attention).attend,
        "project": type(layer.attention).project,
        "residual": type(layer.attention_residual).after,
        "feed_forward": type(network).forward,
        "layer": type(layer).forward,
        "stack": type(stack).forward,
    }
    if isinstance(layer, DecoderLayer) and layer.cross_attention is not None:
        named["memory"] = type(layer.cross_attention).project_memory
    if stack.distances is not None:
        named["bias"] = type(stack.distances).forward
    return {name: Code.of(thing) for name, thing in named.items()}
