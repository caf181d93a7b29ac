"""What Hugging Face calls our weights, both ways, once: a table for each kind of model, which import and export read.

Post-norm translators are Marian's class there, pre-norm ones Pegasus's. Those two have the sines of a position first and then
the cosines, so their weights are put in that order (`position_order`). `huggingface_config` has the shapes.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headway.architectures import (
    AnyArchitecture,
    Architecture,
    BertArchitecture,
    GptArchitecture,
    T5Architecture,
    VitArchitecture,
)
from headway.errors import BundleError
from headway.models.build import assemble
from headway.models.position_order import to_halves, to_turns
from headway.models.weights import get_weights
from headway.text.tokenizer import Tokenizer

NEVER = -1e9  # added to the logits of what must not be written
_BIAS = "final_logits_bias"


@dataclass(frozen=True)
class Place:
    """Where one of our tensors stands: `#` is a layer's number, `*` weight or bias; of `{a,b,c}`, which are tensors of their
    own there, ours is the stack. `shape`: theirs, where it has other axes than ours.
    """

    name: str
    transposed: bool = False
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Table:
    """`copies`: names under which a tensor stands there again. `without`: a name, and which stands for it if it is not there.
    `ignored`: what is there that the model does not need.
    """

    places: Mapping[str, str | Place]
    copies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)
    ignored: str = "$^"
    old_names: Callable[[str], str] = lambda name: name  # an old file's name -> today's


def _translator(a: Architecture) -> Table:
    shared, source, target = (f"model.{name}.weight" for name in ("shared", *_SIDES))
    output = "lm_head.weight"
    embeddings = {
        "source_embedding.weight": shared if a.tie == "all" else source,
        "target_embedding.weight": target,
        "output.weight": output,
    }
    copies = {"all": {shared: [source, target, output]}, "target": {target: [output]}, "none": {}}
    layers = {
        f"{stack}.layers.#.{ours}.*": f"model.{stack}.layers.#.{theirs}.*"
        for stack in ("encoder", "decoder")
        for ours, theirs in _TRANSLATOR_LAYER.items()
    }
    return Table(
        {
            **embeddings,
            **layers,
            "output.bias": Place(_BIAS, shape=(1, a.target_vocab)),
            "encoder.norm.*": "model.encoder.layer_norm.*",
            "decoder.norm.*": "model.decoder.layer_norm.*",
        },
        copies[a.tie],
        ignored=r"model\.(encoder|decoder)\.embed_positions\.weight" + ("" if a.output_bias else f"|{_BIAS}"),
    )


_SIDES = ("encoder.embed_tokens", "decoder.embed_tokens")
_TRANSLATOR_LAYER = {
    "attention.input": "self_attn.{q_proj,k_proj,v_proj}",
    "attention.output": "self_attn.out_proj",
    "attention_residual.norm": "self_attn_layer_norm",
    "cross_attention.input": "encoder_attn.{q_proj,k_proj,v_proj}",
    "cross_attention.output": "encoder_attn.out_proj",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "feed_forward_residual.norm": "final_layer_norm",
}


def _t5(a: T5Architecture) -> Table:
    def stack(name: str, *, last: int) -> dict[str, str]:
        """`last`: the place of the feed-forward network in a block."""
        block, inner = f"{name}.block.#.layer", "wi_1" if a.gated else "wi"
        ours = f"{name}.layers.#"
        return {
            f"{ours}.attention.input.*": f"{block}.0.SelfAttention.{{q,k,v}}.*",
            f"{ours}.attention.output.*": f"{block}.0.SelfAttention.o.*",
            f"{ours}.attention_residual.norm.*": f"{block}.0.layer_norm.*",
            f"{ours}.cross_attention.input.*": f"{block}.1.EncDecAttention.{{q,k,v}}.*",
            f"{ours}.cross_attention.output.*": f"{block}.1.EncDecAttention.o.*",
            f"{ours}.cross_attention_residual.norm.*": f"{block}.1.layer_norm.*",
            f"{ours}.feed_forward.gate.*": f"{block}.{last}.DenseReluDense.wi_0.*",
            f"{ours}.feed_forward.inner.*": f"{block}.{last}.DenseReluDense.{inner}.*",
            f"{ours}.feed_forward.outer.*": f"{block}.{last}.DenseReluDense.wo.*",
            f"{ours}.feed_forward_residual.norm.*": f"{block}.{last}.layer_norm.*",
            f"{name}.norm.0.*": f"{name}.final_layer_norm.*",
            f"{name}.distances.*": f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.*",
        }

    embeddings = {"source_embedding.weight": "shared.weight", "output.weight": "lm_head.weight"}
    copies = [f"{side}.weight" for side in _SIDES] + (["lm_head.weight"] if a.tie else [])
    return Table(
        {**embeddings, **stack("encoder", last=1), **stack("decoder", last=2)},
        {"shared.weight": copies},
        without={"lm_head.weight": "shared.weight"},
        ignored=r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",
    )


def _bert(a: BertArchitecture) -> Table:
    if a.classes:
        head = {"head.0.*": "bert.pooler.dense.*", "output.*": "classifier.*"}
    else:
        head = {
            "head.0.*": "cls.predictions.transform.dense.*",
            "head.2.*": "cls.predictions.transform.LayerNorm.*",
            "output.bias": "cls.predictions.bias",
        }
    words, layer = "bert.embeddings.word_embeddings.weight", "bert.encoder.layer.#"
    copies = {words: ["cls.predictions.decoder.weight"], "cls.predictions.bias": ["cls.predictions.decoder.bias"]}
    return Table(
        {
            "embedding.weight": words,
            "positions.weight": "bert.embeddings.position_embeddings.weight",
            "segments.weight": "bert.embeddings.token_type_embeddings.weight",
            "norm.*": "bert.embeddings.LayerNorm.*",
            "encoder.layers.#.attention.input.*": f"{layer}.attention.self.{{query,key,value}}.*",
            "encoder.layers.#.attention.output.*": f"{layer}.attention.output.dense.*",
            "encoder.layers.#.attention_residual.norm.*": f"{layer}.attention.output.LayerNorm.*",
            "encoder.layers.#.feed_forward.inner.*": f"{layer}.intermediate.dense.*",
            "encoder.layers.#.feed_forward.outer.*": f"{layer}.output.dense.*",
            "encoder.layers.#.feed_forward_residual.norm.*": f"{layer}.output.LayerNorm.*",
            **head,
        },
        {} if a.classes else copies,
        ignored=r"bert\.embeddings\.position_ids" + ("" if a.classes else r"|bert\.pooler\..*|cls\.seq_relationship\..*"),
        old_names=lambda name: re.sub(r"LayerNorm\.(gamma|beta)$", lambda old: f"LayerNorm.{_OLD[old[1]]}", name),
    )


_OLD = {"gamma": "weight", "beta": "bias"}


def _gpt(a: GptArchitecture) -> Table:
    ours, theirs = "decoder.layers.#", "transformer.h.#"
    words = "transformer.wte.weight"
    return Table(
        {
            "embedding.weight": words,
            "positions.weight": "transformer.wpe.weight",
            f"{ours}.attention.input.*": Place(f"{theirs}.attn.c_attn.*", transposed=True),
            f"{ours}.attention.output.*": Place(f"{theirs}.attn.c_proj.*", transposed=True),
            f"{ours}.attention_residual.norm.*": f"{theirs}.ln_1.*",
            f"{ours}.feed_forward.inner.*": Place(f"{theirs}.mlp.c_fc.*", transposed=True),
            f"{ours}.feed_forward.outer.*": Place(f"{theirs}.mlp.c_proj.*", transposed=True),
            f"{ours}.feed_forward_residual.norm.*": f"{theirs}.ln_2.*",
            "decoder.norm.*": "transformer.ln_f.*",
        },
        {words: ["lm_head.weight"]},
        ignored=r"transformer\.h\.\d+\.attn\.(bias|masked_bias)",
        old_names=lambda name: name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}",
    )


def _vit(a: VitArchitecture) -> Table:
    layer = "vit.encoder.layer.#"
    return Table(
        {
            "embedding.first": Place("vit.embeddings.cls_token", shape=(1, 1, a.d_model)),
            "embedding.projection.weight": Place(
                "vit.embeddings.patch_embeddings.projection.weight",
                shape=(a.d_model, a.channels, a.patch_size, a.patch_size),
            ),
            "embedding.projection.bias": "vit.embeddings.patch_embeddings.projection.bias",
            "positions.weight": Place("vit.embeddings.position_embeddings", shape=(1, 1 + a.patches, a.d_model)),
            "encoder.layers.#.attention.input.*": f"{layer}.attention.attention.{{query,key,value}}.*",
            "encoder.layers.#.attention.output.*": f"{layer}.attention.output.dense.*",
            "encoder.layers.#.attention_residual.norm.*": f"{layer}.layernorm_before.*",
            "encoder.layers.#.feed_forward.inner.*": f"{layer}.intermediate.dense.*",
            "encoder.layers.#.feed_forward.outer.*": f"{layer}.output.dense.*",
            "encoder.layers.#.feed_forward_residual.norm.*": f"{layer}.layernorm_after.*",
            "encoder.norm.*": "vit.layernorm.*",
            "output.*": "classifier.*",
        },
        ignored=r"vit\.pooler\..*",
    )


def _table(a: AnyArchitecture) -> Table:
    if isinstance(a, Architecture):
        return _translator(a)
    if isinstance(a, T5Architecture):
        return _t5(a)
    if isinstance(a, BertArchitecture):
        return _bert(a)
    if isinstance(a, GptArchitecture):
        return _gpt(a)
    return _vit(a)


def _find(places: Mapping[str, str | Place], name: str) -> tuple[list[str], Place]:
    """The names that one of our tensors has there, and in what form it stands there."""
    layer = re.search(r"\.layers\.(\d+)\.", name)
    general = re.sub(r"\.layers\.\d+\.", ".layers.#.", name)
    part, _, kind = general.rpartition(".")
    found = places.get(general) or places[f"{part}.*"]
    place = found if isinstance(found, Place) else Place(found)
    before, opening, rest = place.name.replace("#", layer[1] if layer else "#").replace("*", kind).partition("{")
    inside, _, after = rest.partition("}")
    return [f"{before}{one}{after}" for one in inside.split(",")] if opening else [before], place


def _rename(weights: Mapping[str, Tensor], architecture: AnyArchitecture) -> Iterator[tuple[str, Tensor]]:
    places = _table(architecture).places
    for ours, tensor in weights.items():
        names, place = _find(places, ours)
        tensor = tensor.T if place.transposed and tensor.ndim == 2 else tensor
        tensor = tensor.reshape(place.shape) if place.shape else tensor
        yield from zip(names, tensor.chunk(len(names)), strict=True)


def list_never(target: Tokenizer, rows: int) -> list[int]:
    """What no translation holds: marks, and the rows of an embedding that no piece has."""
    return sorted({target.pad, target.bos, target.unk, *range(target.size, rows)})


def write_ban(never: Sequence[int], size: int) -> dict[str, Tensor]:
    """The bias of a translator that has none of its own: it keeps some ids from being written."""
    bias = torch.zeros(1, size)
    bias[0, list(never)] = NEVER
    return {_BIAS: bias}


def has_ban(never: Sequence[int], size: int, shapes: Mapping[str, Sequence[int]], read: Callable[[str], Tensor]) -> bool:
    """Whether the bias is what `write_ban` writes."""
    return list(shapes.get(_BIAS, ())) == [1, size] and torch.equal(read(_BIAS).float(), write_ban(never, size)[_BIAS])


def to_huggingface(weights: Mapping[str, Tensor], architecture: AnyArchitecture) -> dict[str, Tensor]:
    """Our weights by their names, in their form."""
    if isinstance(architecture, Architecture):
        weights = to_halves(weights, architecture.d_model)
    return {name: tensor.contiguous() for name, tensor in _rename(weights, architecture)}


def from_huggingface(
    shapes: Mapping[str, Sequence[int]], read: Callable[[str], Tensor], architecture: AnyArchitecture
) -> dict[str, Tensor]:
    """Their tensors, of which all shapes are known before any is read, by our names and in our form, in single precision."""
    table = _table(architecture)
    with torch.device("meta"):
        ours = get_weights(assemble(architecture))
    stands = {table.old_names(name): name for name in shapes}
    wanted = {name: tensor.shape for name, tensor in _rename(ours, architecture)}
    sources = {name: _choose(name, stands, table) for name in wanted}
    _check(wanted, sources, {new: shapes[old] for new, old in stands.items()}, table)

    def get(name: str) -> Tensor:
        found = read(stands[sources[name]]).to(torch.float32)
        return found if sources[name] == name else found.clone()  # what stands for two is two with us

    _check_copies(table, stands, read)
    weights = {}
    for name, tensor in ours.items():
        names, place = _find(table.places, name)
        found = torch.cat([get(one) for one in names]) if len(names) > 1 else get(names[0])
        weights[name] = (found.T if place.transposed and found.ndim == 2 else found).reshape(tensor.shape).contiguous()
    return to_turns(weights, architecture.d_model) if isinstance(architecture, Architecture) else weights


def _choose(name: str, stands: Mapping[str, str], table: Table) -> str:
    """The name under which a tensor is there: its own, or a copy's."""
    without = [table.without[name]] if name in table.without else []
    names = [name, *table.copies.get(name, ()), *without, *(copy for one in without for copy in table.copies.get(one, ()))]
    return next((one for one in names if one in stands), name)


def _check(
    wanted: Mapping[str, Sequence[int]], sources: Mapping[str, str], found: Mapping[str, Sequence[int]], table: Table
) -> None:
    """Name all that is missing, too much or of another shape."""
    known = {*wanted, *sources.values(), *(copy for copies in table.copies.values() for copy in copies)}
    wrong = []
    for name, shape in wanted.items():
        source = sources[name]
        if source not in found:
            wrong.append(f"{name} {list(shape)} is missing")
        elif list(found[source]) != list(shape):
            wrong.append(f"{source} is {list(found[source])}, by the configuration it would be {list(shape)}")
    for name, shape in found.items():
        if name not in known and not re.fullmatch(table.ignored, name):
            wrong.append(f"{name} {list(shape)} is not part of such a model")
    if wrong:
        raise BundleError(
            "\n  ".join(["The weights do not fit the configuration:", *sorted(wrong)]),
            "config.json and the weights must be of one model: take a whole copy of it.",
        )


def _check_copies(table: Table, stands: Mapping[str, str], read: Callable[[str], Tensor]) -> None:
    different = []
    for name, copies in table.copies.items():
        first, *others = [one for one in (name, *copies) if one in stands] or [name]
        different += [
            f"{other} is not {first}" for other in others if not torch.equal(read(stands[other]), read(stands[first]))
        ]
    if different:
        raise BundleError(
            f"By its configuration the model has one matrix where its weights have two: {'; '.join(different)}.",
            "Set tie_word_embeddings in config.json to false if the model was trained so.",
        )
