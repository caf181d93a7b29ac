"""Names, both ways: what goes there comes back, old and doubled names are understood, and all that does not fit is named."""

from typing import Any

import pytest
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
from headway.models.build import build
from headway.models.huggingface import from_huggingface, to_huggingface
from headway.models.huggingface_config import read_architecture, read_class_names, write_config
from headway.models.weights import get_weights

SHAPE: dict[str, Any] = {"n_layers": 2, "d_model": 6, "d_ff": 10, "n_heads": 3, "dropout": 0.1, "activation": "gelu"}
TRANSLATOR = SHAPE | {
    "source_vocab": 11,
    "target_vocab": 11,
    "n_decoder_layers": 1,
    "d_k": 2,
    "d_v": 2,
    "norm": "post",
    "positions": "sinusoidal",
    "max_positions": 512,
    "output_bias": True,
    "tie": "all",
}
T5 = SHAPE | {"vocab": 11, "n_decoder_layers": 1, "d_k": 5, "buckets": 4, "max_distance": 9, "gated": False, "tie": True}
ARCHITECTURES: dict[str, AnyArchitecture] = {
    "marian": Architecture(**TRANSLATOR),
    "two vocabularies": Architecture(**TRANSLATOR | {"target_vocab": 13, "tie": "target", "activation": "swish"}),
    "three embeddings": Architecture(**TRANSLATOR | {"target_vocab": 13, "tie": "none"}),
    "prenorm": Architecture(**TRANSLATOR | {"norm": "pre"}),
    "t5": T5Architecture(**T5),
    "t5 1.1": T5Architecture(**T5 | {"gated": True, "tie": False, "activation": "gelu-tanh"}),
    "bert": BertArchitecture(**SHAPE, vocab=11, max_positions=7),
    "classes": BertArchitecture(**SHAPE, vocab=11, max_positions=7, segments=3, classes=2),
    "gpt": GptArchitecture(**SHAPE, vocab=11, max_positions=7),
    "vit": VitArchitecture(**SHAPE, image_size=9, patch_size=3, channels=2, classes=2),
}


def make_weights(name: str) -> dict[str, Tensor]:
    """Every number another."""
    weights = get_weights(build(ARCHITECTURES[name]))
    return {part: torch.randn(tensor.shape) for part, tensor in weights.items()}


def read(tensors: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    return from_huggingface({one: tensor.shape for one, tensor in tensors.items()}, tensors.__getitem__, ARCHITECTURES[name])


def assert_same(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    assert found.keys() == wanted.keys()
    assert [name for name, tensor in wanted.items() if not torch.equal(found[name], tensor)] == []


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_there_and_back(name: str) -> None:
    weights = make_weights(name)
    theirs = to_huggingface(weights, ARCHITECTURES[name])
    assert not any(sign in one for one in theirs for sign in "#*{}")
    assert sum(map(Tensor.numel, theirs.values())) == sum(map(Tensor.numel, weights.values()))
    assert_same(read(theirs, name), weights)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_shapes_there_and_back(name: str) -> None:
    assert read_architecture(write_config(ARCHITECTURES[name])) == ARCHITECTURES[name]


def test_all_that_does_not_fit_is_named() -> None:
    theirs = to_huggingface(make_weights("gpt"), ARCHITECTURES["gpt"])
    theirs["transformer.wte.weight"] = torch.zeros(12, 6)
    theirs["transformer.h.2.ln_1.weight"] = torch.zeros(6)
    del theirs["transformer.ln_f.bias"], theirs["transformer.h.1.attn.c_attn.weight"]
    with pytest.raises(BundleError) as refusal:
        read(theirs, "gpt")
    for words in (
        "transformer.wte.weight is [12, 6], by the configuration it would be [11, 6]",
        "transformer.h.2.ln_1.weight [6] is not part of such a model",
        "transformer.ln_f.bias [6] is missing",
        "transformer.h.1.attn.c_attn.weight [6, 18] is missing",
    ):
        assert words in str(refusal.value)


def test_old_files_of_bert() -> None:
    """As bert-base-uncased has them: other names of norms, the parts that its pretraining needed, a buffer."""
    weights = make_weights("bert")
    theirs = to_huggingface(weights, ARCHITECTURES["bert"])
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in theirs.items()
    }
    assert old.keys() != theirs.keys()
    old |= {name: torch.zeros(2, 6) for name in ("bert.pooler.dense.weight", "cls.seq_relationship.weight")}
    old["bert.embeddings.position_ids"] = torch.arange(7)[None]
    old["cls.predictions.decoder.weight"] = theirs["bert.embeddings.word_embeddings.weight"].clone()
    old["cls.predictions.decoder.bias"] = theirs["cls.predictions.bias"].clone()
    assert_same(read(old, "bert"), weights)
    with pytest.raises(BundleError, match="seq_relationship"):
        classes = to_huggingface(make_weights("classes"), ARCHITECTURES["classes"])
        read(classes | {"cls.seq_relationship.weight": torch.zeros(2, 6)}, "classes")


def test_old_files_of_gpt() -> None:
    weights = make_weights("gpt")
    theirs = to_huggingface(weights, ARCHITECTURES["gpt"])
    old = {name.removeprefix("transformer."): tensor for name, tensor in theirs.items()}
    old |= {"h.0.attn.bias": torch.ones(1, 1, 7, 7), "h.1.attn.masked_bias": torch.tensor(-1e4)}
    assert_same(read(old, "gpt"), weights)


@pytest.mark.parametrize(
    ("name", "original", "copies"),
    [
        (
            "marian",
            "model.shared.weight",
            ["model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"],
        ),
        ("two vocabularies", "model.decoder.embed_tokens.weight", ["lm_head.weight"]),
        ("t5", "shared.weight", ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"]),
        ("t5 1.1", "shared.weight", ["encoder.embed_tokens.weight"]),
        ("gpt", "transformer.wte.weight", ["lm_head.weight"]),
    ],
)
def test_one_matrix_under_several_names(name: str, original: str, copies: list[str]) -> None:
    weights = make_weights(name)
    theirs = to_huggingface(weights, ARCHITECTURES[name])
    doubled = theirs | {copy: theirs[original].clone() for copy in copies}
    assert_same(read(doubled, name), weights)
    del doubled[original]
    assert_same(read(doubled, name), weights)
    with pytest.raises(BundleError, match=f"{copies[-1]} is not {original}"):
        read(theirs | {copies[-1]: theirs[original] + 1}, name)


def test_tables_of_positions_are_not_needed() -> None:
    weights = make_weights("marian")
    theirs = to_huggingface(weights, ARCHITECTURES["marian"])
    more = {f"model.{stack}.embed_positions.weight": torch.zeros(512, 6) for stack in ("encoder", "decoder")}
    assert_same(read(theirs | more, "marian"), weights)


def test_t5_without_an_output_takes_its_embedding() -> None:
    theirs = to_huggingface(make_weights("t5 1.1"), ARCHITECTURES["t5 1.1"])
    del theirs["lm_head.weight"]
    found = read(theirs, "t5 1.1")
    assert torch.equal(found["output.weight"], found["source_embedding.weight"])
    assert found["output.weight"].data_ptr() != found["source_embedding.weight"].data_ptr()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_single(dtype: torch.dtype) -> None:
    half = {name: tensor.to(dtype) for name, tensor in make_weights("vit").items()}
    found = read(to_huggingface(half, ARCHITECTURES["vit"]), "vit")
    assert {tensor.dtype for tensor in found.values()} == {torch.float32}
    assert_same(found, {name: tensor.float() for name, tensor in half.items()})


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("marian", {"scale_embedding": False}, ["scale_embedding is False"]),
        ("marian", {"scale_embedding": None}, ["scale_embedding is False"]),
        ("marian", {"decoder_ffn_dim": 9, "normalize_before": True}, ["encoder_ffn_dim 10 and decoder_ffn_dim 9", "normalize"]),
        ("marian", {"encoder_attention_heads": 2}, ["encoder_attention_heads 2 and decoder_attention_heads 3 differ"]),
        ("marian", {"decoder_vocab_size": 12}, ["11 and 12 pieces"]),
        ("marian", {"activation_function": "mish"}, ["mish", "gelu_new"]),
        ("marian", {"d_model": 7}, ["width of 7", "3 heads"]),
        ("t5", {"feed_forward_proj": "gated-mish"}, ["mish"]),
        ("t5", {"d_ff": None}, ["d_ff is not told"]),
        ("t5", {"d_ff": "many"}, ["d_ff 'many'"]),
        ("bert", {"position_embedding_type": "relative_key"}, ["relative_key"]),
        ("bert", {"is_decoder": True}, ["is_decoder"]),
        ("bert", {"architectures": ["BertModel"]}, ["BertModel", "without a head", "BertForMaskedLM"]),
        ("gpt", {"scale_attn_by_inverse_layer_idx": True}, ["scale_attn_by_inverse_layer_idx"]),
        ("gpt", {"scale_attn_weights": False}, ["scale_attn_weights"]),
        ("gpt", {"architectures": ["LlamaForCausalLM"]}, ["LlamaForCausalLM", "MarianMTModel", "ViTForImageClassification"]),
        ("gpt", {"architectures": None}, ["gpt2", "GPT2LMHeadModel"]),
        ("gpt", {"architectures": 5}, ["architectures 5"]),
        ("gpt", {"architectures": "GPT2LMHeadModel"}, ["'GPT2LMHeadModel', which is no list"]),
        ("prenorm", {"normalize_before": False}, ["normalize_before is False"]),
        ("prenorm", {"scale_embedding": None}, ["scale_embedding is False"]),
        ("gpt", {"n_embd": None, "n_inner": None}, ["n_embd is not told"]),
        ("gpt", {"n_head": 0}, ["n_heads is 0"]),
        ("vit", {"patch_size": 0}, ["patch_size is 0"]),
        ("vit", {"qkv_bias": False}, ["qkv_bias"]),
        ("vit", {"num_labels": 1}, ["one of several"]),
        ("classes", {"problem_type": "multi_label_classification"}, ["one of several"]),
        ("vit", {"image_size": [9, 12]}, ["image_size"]),
        ("vit", {"id2label": {"0": "a", "2": "b"}}, ["id2label"]),
    ],
)
def test_what_our_models_cannot_be(name: str, changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(BundleError) as refusal:
        read_architecture(write_config(ARCHITECTURES[name]) | changes)
    assert [word for word in words if word not in str(refusal.value)] == []


def test_what_old_configurations_leave_out() -> None:
    t5 = write_config(ARCHITECTURES["t5"])
    del t5["relative_attention_max_distance"], t5["layer_norm_epsilon"]
    found = read_architecture(t5 | {"num_decoder_layers": None, "architectures": ["T5WithLMHeadModel"]})
    assert isinstance(found, T5Architecture)
    assert (found.max_distance, found.epsilon, found.n_decoder_layers) == (128, 1e-6, found.n_layers)
    gpt = read_architecture(write_config(ARCHITECTURES["gpt"]) | {"n_inner": None})
    assert isinstance(gpt, GptArchitecture) and gpt.d_ff == 4 * gpt.d_model
    vit = read_architecture(write_config(ARCHITECTURES["vit"]) | {"image_size": [12, 12], "id2label": {"1": "b", "0": "a"}})
    assert isinstance(vit, VitArchitecture) and vit.image_size == 12 and vit.classes == 2


def test_names_of_classes() -> None:
    assert read_class_names({"id2label": {"1": "b", "0": "a"}}) == ["a", "b"]
    assert read_class_names({}) == ["LABEL_0", "LABEL_1"]
    assert read_class_names({"num_labels": 3}) == ["LABEL_0", "LABEL_1", "LABEL_2"]
