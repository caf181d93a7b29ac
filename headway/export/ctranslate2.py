"""A bundle as a CTranslate2 model: the same weights under other names, with the paper's position table.

CTranslate2 would make another table than the paper's, and stops at the end of the one it is given; see `POSITIONS`.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headway.architectures import Architecture, T5Architecture
from headway.bundle import Bundle
from headway.errors import RequestError
from headway.text.tokenizer import Tokenizer

POSITIONS = 2048  # rows of the position table: source and target may be as long; longer input is cut into parts before
NEVER = -1e9  # added to the logits of what must not be written

Weights = Mapping[str, np.ndarray]


def check_convertible(bundle: Bundle) -> None:
    a = bundle.manifest.architecture
    if isinstance(a, T5Architecture):
        return
    a = bundle.require_transformer("CTranslate2")
    if a.d_v != a.d_k:
        raise RequestError(
            f"CTranslate2 wants values as wide as keys; this model has d_k {a.d_k} and d_v {a.d_v}.", "Use --engine torch."
        )
    if not a.scale_attention:
        raise RequestError("CTranslate2 divides dot products by sqrt(d_k); this model does not.", "Use --engine torch.")


def write_ctranslate2(bundle: Bundle, directory: Path) -> None:
    """Convert into an existing empty directory. CTranslate2's converters import torch where it is installed: seconds."""
    from ctranslate2 import specs
    from safetensors.numpy import load_file

    weights = load_file(bundle.directory / "weights.safetensors")
    check_convertible(bundle)
    a = bundle.manifest.architecture
    assert isinstance(a, Architecture | T5Architecture)
    activations = {"gelu": specs.Activation.GELU, "gelu-tanh": specs.Activation.GELUTanh, "swish": specs.Activation.SWISH}
    shape: dict[str, Any] = {
        "num_heads": a.n_heads,
        "pre_norm": isinstance(a, T5Architecture) or a.norm == "pre",
        "activation": activations.get(a.activation, specs.Activation.RELU),
        "head_dim": a.d_k,
    }
    if isinstance(a, T5Architecture):
        shape |= {"relative_attention_bias": True, "ffn_glu": a.gated, "rms_norm": True}
    spec = specs.TransformerSpec(
        specs.TransformerEncoderSpec(a.n_layers, **shape),
        specs.TransformerDecoderSpec(a.n_decoder_layers, **shape, alignment_layer=a.alignment_layer, alignment_heads=a.n_heads),
    )
    _fill(spec, a, weights)
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    source_rows, target_rows = (len(side.weight) for side in (spec.encoder.embeddings[0], spec.decoder.embeddings))
    names = name_pieces(source, source_rows), name_pieces(target, target_rows)
    spec.register_source_vocabulary(names[0])
    spec.register_target_vocabulary(names[1])
    marks = [names[1][mark] for mark in (target.bos, target.eos, target.unk)]
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = marks
    spec.config.decoder_start_token, spec.config.add_source_eos = marks[0], True
    spec.config.layer_norm_epsilon = a.epsilon
    bias = weights["output.bias"].copy() if "output.bias" in weights else np.zeros(target_rows, dtype=np.float32)
    bias[[target.pad, target.bos, target.unk, *range(target.size, target_rows)]] = NEVER
    spec.decoder.projection.bias = bias
    spec.validate()
    spec.optimize()
    spec.save(str(directory))


def name_pieces(tokenizer: Tokenizer, rows: int) -> list[str]:
    """A name for each row of an embedding, no two alike: CTranslate2 knows pieces by their names."""
    names: dict[str, None] = {}
    for row in range(rows):
        name = tokenizer.pieces([row])[0] if row < tokenizer.size else "<none>"
        names[name if name not in names else f"{name}<{row}>"] = None
    return list(names)


def position_table(architecture: Architecture, weights: Weights) -> np.ndarray:
    """What `nn.positions` gives for the first positions [POSITIONS, d_model], without torch."""
    a = architecture
    if a.positions == "learned":
        learned = weights["positions.weight"]
        return learned[np.arange(POSITIONS).clip(max=len(learned) - 1)]
    if a.positions == "none":
        return np.zeros((POSITIONS, a.d_model), dtype=np.float32)
    angles = np.arange(POSITIONS)[:, None] * np.exp(np.arange(0, a.d_model, 2) * (-np.log(10_000.0) / a.d_model))
    both = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(POSITIONS, -1)
    return both[:, : a.d_model].astype(np.float32)


def _fill(spec: Any, a: Architecture | T5Architecture, weights: Weights) -> None:
    source = weights["source_embedding.weight"]
    target = weights.get("target_embedding.weight", source)
    spec.encoder.embeddings[0].weight, spec.decoder.embeddings.weight = source, target
    spec.decoder.projection.weight = weights.get("output.weight", target)
    for stack, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        if isinstance(a, T5Architecture):
            stack.scale_embeddings = False
            _fill_norm(stack.layer_norm, weights, f"{name}.norm.0")
        else:
            stack.position_encodings.encodings = position_table(a, weights)
            if a.norm == "pre":
                _fill_norm(stack.layer_norm, weights, f"{name}.norm")
        for number, layer in enumerate(stack.layer):
            _fill_layer(layer, a, weights, f"{name}.layers.{number}")
            if isinstance(a, T5Architecture):
                layer.self_attention.relative_attention_bias = weights[f"{name}.distances.weight"]
                layer.self_attention.relative_attention_max_distance = np.dtype("int32").type(a.max_distance)
    if isinstance(a, T5Architecture) and a.tie:
        spec.decoder.scale_outputs = np.float32(a.d_model**-0.5)


def _fill_layer(layer: Any, a: Architecture | T5Architecture, weights: Weights, name: str) -> None:
    attentions = [(layer.self_attention, "attention")]
    if hasattr(layer, "attention"):
        attentions.append((layer.attention, "cross_attention"))
    for part, own in attentions:
        _fill_norm(part.layer_norm, weights, f"{name}.{own}_residual.norm")
        if isinstance(a, T5Architecture):
            part.queries_scale = 1.0
        # One product for queries, keys and values; or one for the target's queries, one for the memory's keys and values.
        width = a.n_heads * a.d_k
        rows = [slice(None)] if own == "attention" else [slice(width), slice(width, None)]
        for linear, some in zip(part.linear, rows, strict=False):
            _fill_linear(linear, weights, f"{name}.{own}.input", some)
        _fill_linear(part.linear[-1], weights, f"{name}.{own}.output")
    feed_forward = f"{name}.feed_forward"
    _fill_norm(layer.ffn.layer_norm, weights, f"{feed_forward}_residual.norm")
    gated = f"{feed_forward}.gate.weight" in weights
    _fill_linear(layer.ffn.linear_0, weights, f"{feed_forward}.{'gate' if gated else 'inner'}")
    if gated:
        _fill_linear(layer.ffn.linear_0_noact, weights, f"{feed_forward}.inner")
    _fill_linear(layer.ffn.linear_1, weights, f"{feed_forward}.outer")


def _fill_linear(linear: Any, weights: Weights, name: str, rows: slice = slice(None)) -> None:
    linear.weight = weights[f"{name}.weight"][rows]
    if f"{name}.bias" in weights:
        linear.bias = weights[f"{name}.bias"][rows]


def _fill_norm(norm: Any, weights: Weights, name: str) -> None:
    norm.gamma = weights[f"{name}.weight"]
    if f"{name}.bias" in weights:
        norm.beta = weights[f"{name}.bias"]


class CTranslate2Model:
    """What was written, read back: for the proof that it is the model."""

    def __init__(self, directory: Path) -> None:
        import ctranslate2

        self._translator = ctranslate2.Translator(str(directory), compute_type="float32")
        self._source, self._target = _read_vocabularies(directory)
        self._ids = {piece: number for number, piece in enumerate(self._target)}

    def logits(self, source: Sequence[int], target: Sequence[int]) -> np.ndarray:
        """Every prefix of the target is one row of a batch that decodes a single step more."""
        pieces, written = [self._source[piece] for piece in source], [self._target[piece] for piece in target]
        results = [
            self._translator.translate_batch(
                [pieces],
                target_prefix=[written[:length]],
                beam_size=1,
                max_decoding_length=length + 1,
                min_decoding_length=0,
                max_input_length=0,
                return_logits_vocab=True,
            )[0]
            for length in range(len(written) + 1)
        ]
        return np.array([np.array(result.logits[0][-1]) for result in results])

    def translate(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[int]]:
        found = []
        for source, limit in zip(sources, limits, strict=True):
            pieces = [self._source[piece] for piece in source]
            (result,) = self._translator.translate_batch(
                [pieces], beam_size=1, max_decoding_length=limit, min_decoding_length=0, max_input_length=0
            )
            found.append([self._ids[piece] for piece in result.hypotheses[0]])
        return found


def _read_vocabularies(directory: Path) -> tuple[list[str], list[str]]:
    shared = directory / "shared_vocabulary.json"
    both = [shared, shared] if shared.is_file() else [directory / f"{side}_vocabulary.json" for side in ("source", "target")]
    source, target = (json.loads(path.read_text(encoding="utf-8")) for path in both)
    return source, target
