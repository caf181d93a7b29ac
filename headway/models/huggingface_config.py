"""What Hugging Face's `config.json` calls our shapes, both ways, once: a table for each kind of model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from headway.architectures import (
    AnyArchitecture,
    Architecture,
    BertArchitecture,
    GptArchitecture,
    T5Architecture,
    VitArchitecture,
)
from headway.errors import BundleError, RequestError

Config = dict[str, Any]

TARGET_TOKENIZER = "target_tokenizer"  # the directory of the target's, if it has a vocabulary of its own

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu_new", "swish": "swish"}  # ours, theirs
_THEIR_ACTIVATIONS = {theirs: ours for ours, theirs in ACTIVATIONS.items()} | {
    "silu": "swish",
    "gelu_pytorch_tanh": "gelu-tanh",
}


@dataclass(frozen=True)
class Fields:
    """One kind's `config.json`. `names`: our field to theirs, or to several that must agree. `absent`: what a field means that
    is not there. `fixed`: what our model has only so; `told` is what else is written.
    """

    model_type: str
    names: Mapping[str, str]
    activation: str
    absent: Mapping[str, Callable[[Config], Any]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    told: Callable[[Any], Config] = lambda architecture: {}


PEGASUS = Fields(
    "pegasus",
    {
        "source_vocab": "vocab_size",
        "n_layers": "encoder_layers",
        "n_decoder_layers": "decoder_layers",
        "d_model": "d_model",
        "d_ff": "encoder_ffn_dim decoder_ffn_dim",
        "n_heads": "encoder_attention_heads decoder_attention_heads",
        "dropout": "dropout",
    },
    "activation_function",
    absent={"scale_embedding": lambda config: False},
    fixed={
        "scale_embedding": True,
        "tie_word_embeddings": True,
        "static_position_embeddings": True,
        "normalize_before": True,
        "normalize_embedding": False,
        "add_final_layer_norm": True,
    },
    told=lambda a: {"is_encoder_decoder": True},
)
MARIAN = Fields(
    "marian",
    {**PEGASUS.names, "target_vocab": "decoder_vocab_size"},
    "activation_function",
    absent={"decoder_vocab_size": lambda config: config.get("vocab_size"), "scale_embedding": lambda config: False},
    fixed={
        "scale_embedding": True,
        "static_position_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
    },
    told=lambda a: {
        "tie_word_embeddings": a.tie != "none",
        "share_encoder_decoder_embeddings": a.tie == "all",
        "is_encoder_decoder": True,
    },
)
T5 = Fields(
    "t5",
    {
        "vocab": "vocab_size",
        "n_layers": "num_layers",
        "n_decoder_layers": "num_decoder_layers",
        "d_model": "d_model",
        "d_ff": "d_ff",
        "n_heads": "num_heads",
        "d_k": "d_kv",
        "dropout": "dropout_rate",
        "buckets": "relative_attention_num_buckets",
        "max_distance": "relative_attention_max_distance",
        "epsilon": "layer_norm_epsilon",
    },
    "",
    absent={
        "num_decoder_layers": lambda config: config.get("num_layers"),
        "relative_attention_max_distance": lambda config: 128,
        "layer_norm_epsilon": lambda config: 1e-6,
    },
    told=lambda a: {
        "feed_forward_proj": _tell_projection(a),
        "is_gated_act": a.gated,
        "tie_word_embeddings": a.tie,
        "is_encoder_decoder": True,
    },
)
BERT = Fields(
    "bert",
    {
        "vocab": "vocab_size",
        "n_layers": "num_hidden_layers",
        "d_model": "hidden_size",
        "d_ff": "intermediate_size",
        "n_heads": "num_attention_heads",
        "dropout": "hidden_dropout_prob",
        "max_positions": "max_position_embeddings",
        "segments": "type_vocab_size",
        "epsilon": "layer_norm_eps",
    },
    "hidden_act",
    absent={"type_vocab_size": lambda config: 2, "layer_norm_eps": lambda config: 1e-12},
    fixed={
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    },
    told=lambda a: {"attention_probs_dropout_prob": 0.0},
)
GPT = Fields(
    "gpt2",
    {
        "vocab": "vocab_size",
        "n_layers": "n_layer",
        "d_model": "n_embd",
        "d_ff": "n_inner",
        "n_heads": "n_head",
        "dropout": "resid_pdrop",
        "max_positions": "n_positions",
        "epsilon": "layer_norm_epsilon",
    },
    "activation_function",
    absent={
        "n_inner": lambda config: 4 * _whole(config, "n_embd"),
        "activation_function": lambda config: "gelu_new",
        "layer_norm_epsilon": lambda config: 1e-5,
    },
    fixed={
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    },
    told=lambda a: {"embd_pdrop": a.dropout, "attn_pdrop": 0.0},
)
VIT = Fields(
    "vit",
    {
        "image_size": "image_size",
        "patch_size": "patch_size",
        "channels": "num_channels",
        "n_layers": "num_hidden_layers",
        "d_model": "hidden_size",
        "d_ff": "intermediate_size",
        "n_heads": "num_attention_heads",
        "dropout": "hidden_dropout_prob",
        "epsilon": "layer_norm_eps",
    },
    "hidden_act",
    absent={"num_channels": lambda config: 3, "layer_norm_eps": lambda config: 1e-12},
    fixed={"qkv_bias": True},
    told=lambda a: {"attention_probs_dropout_prob": 0.0, "encoder_stride": a.patch_size},
)


def _read_translator(config: Config) -> Config:
    width = _whole(config, "d_model") // max(1, _whole(config, "encoder_attention_heads"))
    shared, tied = config.get("share_encoder_decoder_embeddings", True), config.get("tie_word_embeddings", True)
    return {
        "d_k": width,
        "d_v": width,
        "norm": "post",
        "positions": "sinusoidal",
        "max_positions": config.get("max_position_embeddings", 512),
        "tie": "all" if shared else "target" if tied else "none",
        "output_bias": True,
    }


def _read_prenorm_translator(config: Config) -> Config:
    return _read_translator(config) | {"target_vocab": config.get("vocab_size"), "norm": "pre", "tie": "all"}


def _read_t5(config: Config) -> Config:
    gate, _, name = str(config.get("feed_forward_proj", "relu")).rpartition("-")
    activation = "gelu-tanh" if gate and name == "gelu" else _THEIR_ACTIVATIONS.get(name, name)
    scaled = config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True))
    return {"gated": gate == "gated", "tie": scaled, "activation": activation}


def _tell_projection(a: T5Architecture) -> str:
    """T5's word for the feed-forward network. "gelu" with a gate means the approximation there."""
    if not a.gated:
        return ACTIVATIONS[a.activation]
    if a.activation == "gelu":
        raise RequestError("T5's class has no gate with the exact gelu.", "Train with the activation gelu-tanh or relu.")
    return f"gated-{'gelu' if a.activation == 'gelu-tanh' else ACTIVATIONS[a.activation]}"


def _read_vit(config: Config) -> Config:
    """Sizes may be given as a height and a width."""
    sizes = {name: config.get(name) for name in ("image_size", "patch_size")}
    squares = {name: size[0] for name, size in sizes.items() if isinstance(size, list) and len(set(size)) == 1}
    return {"classes": len(read_class_names(config)), **squares}


@dataclass(frozen=True)
class Kind:
    fields: Fields
    architecture: type[Architecture | T5Architecture | BertArchitecture | GptArchitecture | VitArchitecture]
    more: Callable[[Config], Config] = lambda config: {}  # what no field tells by itself


_T5 = Kind(T5, T5Architecture, _read_t5)
_BERT = Kind(BERT, BertArchitecture)
KINDS = {
    "MarianMTModel": Kind(MARIAN, Architecture, _read_translator),
    "PegasusForConditionalGeneration": Kind(PEGASUS, Architecture, _read_prenorm_translator),
    "T5ForConditionalGeneration": _T5,
    "BertForMaskedLM": _BERT,
    "BertForSequenceClassification": Kind(BERT, BertArchitecture, lambda config: {"classes": len(read_class_names(config))}),
    "GPT2LMHeadModel": Kind(GPT, GptArchitecture),
    "ViTForImageClassification": Kind(VIT, VitArchitecture, _read_vit),
}
OTHER_NAMES = {"BertForPreTraining": "BertForMaskedLM", "T5WithLMHeadModel": "T5ForConditionalGeneration"}
_NOT_ONE_OF_SEVERAL = ("regression", "multi_label_classification")
HEADLESS = {"MarianModel", "PegasusModel", "T5Model", "T5EncoderModel", "BertModel", "GPT2Model", "ViTModel"}


def read_architecture(config: Config) -> AnyArchitecture:
    """The shape that a `config.json` describes, or all that our models cannot be."""
    told = config.get("architectures") or []
    if not isinstance(told, list):
        raise BundleError(f"config.json has architectures {told!r}, which is no list of names.", "Take a whole copy of it.")
    classes = [OTHER_NAMES.get(str(name), str(name)) for name in told]
    name = next((name for name in classes if name in KINDS), None)
    if name is None:
        named = ", ".join(classes) or f"no class, and the type {config.get('model_type', 'unknown')}"
        why = " A model without a head predicts nothing." if HEADLESS & {*classes} else ""
        raise BundleError(f"config.json names {named}.{why}", f"What can be imported: {', '.join([*KINDS, *OTHER_NAMES])}.")
    kind = KINDS[name]
    problems = _check_fixed(kind.fields, config)
    values: Config = {}
    for ours, theirs in kind.fields.names.items():
        found = {name: _get(kind.fields, config, name) for name in theirs.split()}
        values[ours], *others = found.values()
        if any(other != values[ours] for other in others):
            problems.append(" and ".join(f"{name} {value}" for name, value in found.items()) + " differ")
        elif values[ours] is None:
            problems.append(f"{theirs} is not told")
    if kind.fields.activation:
        activation = str(_get(kind.fields, config, kind.fields.activation))
        values["activation"] = _THEIR_ACTIVATIONS.get(activation, activation)
    values |= kind.more(config)
    if values["activation"] not in ACTIVATIONS:
        problems.append(f"the activation is {values['activation']}, not one of {', '.join(_THEIR_ACTIVATIONS)}")
    if values.get("classes") == 1 or ("classes" in values and config.get("problem_type") in _NOT_ONE_OF_SEVERAL):
        problems.append("it does not choose one of several classes")
    if not problems:
        problems = _check_sizes(values)
    if problems:
        problem = f"This {name} cannot be imported: {'; '.join(problems)}."
        raise BundleError(problem, "Headway has no such model: take another, or correct config.json if it is wrong.")
    try:
        return kind.architecture.model_validate(values)
    except ValidationError as error:
        places = ", ".join(f"{problem['loc'][0]} {problem['input']!r}" for problem in error.errors())
        raise BundleError(f"config.json is not as such a model has it: {places}.", "Take a whole copy of it.") from None


def _check_fixed(fields: Fields, config: Config) -> list[str]:
    found = {name: _get(fields, config, name) for name in fields.fixed}
    return [
        f"{name} is {found[name]}, it must be {wanted}"
        for name, wanted in fields.fixed.items()
        if found[name] is not None and found[name] != wanted
    ]


def _check_sizes(values: Config) -> list[str]:
    """What no table tells: sizes of nothing, and some that do not go together."""
    problems = [
        f"{name} is {value}" for name, value in values.items() if type(value) is int and value < 1 and name != "classes"
    ]
    width, heads = values["d_model"], values["n_heads"]
    of_any_width = "d_k" in values and "d_v" not in values  # T5's heads
    if not problems and not of_any_width and type(width) is type(heads) is int and width % heads:
        problems.append(f"a width of {width} cannot be shared by {heads} heads")
    if values.get("tie") == "all" and values["source_vocab"] != values["target_vocab"]:
        problems.append(f"one embedding for {values['source_vocab']} and {values['target_vocab']} pieces")
    return problems


def _get(fields: Fields, config: Config, name: str) -> Any:
    found = config.get(name)
    return fields.absent[name](config) if found is None and name in fields.absent else found


def _whole(config: Config, name: str) -> int:
    found = config.get(name)
    return found if isinstance(found, int) else 0


def read_class_names(config: Config) -> list[str]:
    """In the order of their numbers. Two that have no names are not in the file at all."""
    names = config.get("id2label") or {str(number): f"LABEL_{number}" for number in range(_whole(config, "num_labels") or 2)}
    try:
        numbered = {int(number): str(name) for number, name in names.items()}
    except (AttributeError, ValueError):
        numbered = {}
    if sorted(numbered) != list(range(len(names))):
        raise BundleError("id2label in config.json does not number the classes from 0.", "Take a whole copy of it.")
    return [numbered[number] for number in range(len(numbered))]


def write_config(architecture: AnyArchitecture) -> Config:
    """All that `config.json` tells of a shape; marks and names of classes are for the exporter to add."""
    a = architecture
    name, fields = _find_class(a)
    told = {theirs: getattr(a, ours) for ours, names in fields.names.items() for theirs in names.split()}
    activation = {fields.activation: ACTIVATIONS[a.activation]} if fields.activation else {}
    return {
        "architectures": [name],
        "model_type": fields.model_type,
        "dtype": "float32",
        **told,
        **activation,
        **fields.fixed,
        **fields.told(a),
    }


def _find_class(a: AnyArchitecture) -> tuple[str, Fields]:
    if isinstance(a, Architecture):
        return ("PegasusForConditionalGeneration", PEGASUS) if a.norm == "pre" else ("MarianMTModel", MARIAN)
    if isinstance(a, T5Architecture):
        return "T5ForConditionalGeneration", T5
    if isinstance(a, BertArchitecture):
        return "BertForSequenceClassification" if a.classes else "BertForMaskedLM", BERT
    if isinstance(a, GptArchitecture):
        return "GPT2LMHeadModel", GPT
    return "ViTForImageClassification", VIT
