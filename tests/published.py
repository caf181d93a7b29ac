"""Directories as Hugging Face saves them: small random models of odd shapes whose choices are clear, with their tokenizers."""

import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from copy_reverse import make_pairs
from torch import nn

PAD_OF_BOTH = 46  # in two vocabularies


@torch.no_grad()
def sharpen(model: nn.Module, *, seed: int, gain: float = 1.2) -> Any:
    """Weights of all parts, biases and norms included, that are far from those that training begins with."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:  # a table of positions
            continue
        drawn = torch.randn(parameter.shape, generator=generator)
        if parameter.ndim > 1:
            embeds = any(part in name for part in ("embed", "shared", "wte", "wpe"))
            drawn *= 0.7 if embeds else gain * parameter.shape[-1] ** -0.5
        else:
            drawn = 0.3 * drawn + (1.0 if "weight" in name else 0.0)
        parameter.copy_(drawn)
    if "final_logits_bias" in dict(model.named_buffers()):
        model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator))
    return model.eval()


@cache
def train_pieces(first: str) -> bytes:
    """A SentencePiece model with the marks of Marian or T5."""
    written = io.BytesIO()
    marks = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1} if first == "t5" else {}
    lines = [line for pair in make_pairs(200) for line in pair]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=written, vocab_size=44, hard_vocab_limit=False, minloglevel=2, **marks
    )
    return written.getvalue()


def number_pieces(size: int, pad: int) -> dict[str, int]:
    """Marian's list: the pieces, and whatever else fills it."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=train_pieces("marian"))
    pieces = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    names = ["</s>", "<unk>", *pieces, *(f"filling{number}" for number in range(size))]
    names.insert(pad, "<pad>")
    return {name: number for number, name in enumerate(names[:size])}


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def write_marian(directory: Path, *, seed: int = 1, **changes: Any) -> Any:
    from transformers import MarianConfig, MarianMTModel

    vocab, target = changes.get("vocab_size", 61), changes.get("decoder_vocab_size")
    pad = PAD_OF_BOTH if target else vocab - 1
    settings: dict[str, Any] = {
        "vocab_size": vocab,
        "d_model": 12,
        "encoder_layers": 2,
        "decoder_layers": 1,
        "encoder_attention_heads": 3,
        "decoder_attention_heads": 3,
        "encoder_ffn_dim": 20,
        "decoder_ffn_dim": 20,
        "max_position_embeddings": 320,
        "activation_function": "swish",
        "scale_embedding": True,
        "pad_token_id": pad,
        "decoder_start_token_id": pad,
        "forced_eos_token_id": None,
    }
    model = sharpen(MarianMTModel(MarianConfig(**settings | changes)), seed=seed)
    model.generation_config.update(num_beams=4, length_penalty=0.8, bad_words_ids=[[pad]])
    model.save_pretrained(directory)
    for name in ("source.spm", "target.spm"):
        (directory / name).write_bytes(train_pieces("marian"))
    write_json(directory / "vocab.json", number_pieces(vocab, pad))
    if target:
        write_json(directory / "target_vocab.json", number_pieces(target, pad))
    settings = {"source_lang": "eng", "target_lang": "deu", "separate_vocabs": bool(target)}
    write_json(directory / "tokenizer_config.json", {"tokenizer_class": "MarianTokenizer", **settings})
    return model


def write_t5(directory: Path, *, seed: int = 1, own_output: bool = False, **changes: Any) -> Any:
    from transformers import T5Config, T5ForConditionalGeneration

    settings: dict[str, Any] = {
        "vocab_size": 67,
        "d_model": 12,
        "d_kv": 5,
        "d_ff": 18,
        "num_layers": 2,
        "num_decoder_layers": 1,
        "num_heads": 3,
        "relative_attention_num_buckets": 10,
        "relative_attention_max_distance": 24,
        "decoder_start_token_id": 0,
    }
    model = T5ForConditionalGeneration(T5Config(**settings | changes))
    if own_output:
        model.lm_head.weight = nn.Parameter(model.lm_head.weight.clone())
    sharpen(model, seed=seed)
    model.save_pretrained(directory)
    (directory / "spiece.model").write_bytes(train_pieces("t5"))
    write_json(directory / "tokenizer_config.json", {"tokenizer_class": "T5Tokenizer", "extra_ids": 5})
    return model


def write_bert(directory: Path, *, classes: int = 0, seed: int = 1, **changes: Any) -> Any:
    from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

    settings: dict[str, Any] = {
        "vocab_size": 43,
        "hidden_size": 15,
        "num_hidden_layers": 2,
        "num_attention_heads": 5,
        "intermediate_size": 22,
        "max_position_embeddings": 19,
    }
    kind = BertForSequenceClassification if classes else BertForMaskedLM
    config = BertConfig(**settings | changes | ({"num_labels": classes} if classes else {}))
    model = sharpen(kind(config), seed=seed)
    model.save_pretrained(directory)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (directory / "vocab.txt").write_text("\n".join(words[: config.vocab_size]) + "\n", encoding="utf-8")
    return model


def write_gpt(directory: Path, *, seed: int = 1, **changes: Any) -> Any:
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import GPT2Config, GPT2LMHeadModel

    settings: dict[str, Any] = {
        "vocab_size": 259,
        "n_embd": 14,
        "n_layer": 2,
        "n_head": 7,
        "n_positions": 33,
        "bos_token_id": 258,
        "eos_token_id": 258,
    }
    model = sharpen(GPT2LMHeadModel(GPT2Config(**settings | changes)), seed=seed, gain=4.0)
    model.save_pretrained(directory)
    names = [*sorted(ByteLevel.alphabet()), "ab", "Ġa", "<|endoftext|>"]
    write_json(directory / "vocab.json", {name: number for number, name in enumerate(names)})
    (directory / "merges.txt").write_text("#version: 0.2\na b\nĠ a\n", encoding="utf-8")
    return model


def write_vit(directory: Path, *, classes: int = 2, seed: int = 1, **changes: Any) -> Any:
    from transformers import ViTConfig, ViTForImageClassification

    settings: dict[str, Any] = {
        "hidden_size": 12,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 20,
        "image_size": 12,
        "patch_size": 4,
        "num_channels": 3,
        "num_labels": classes,
    }
    config = ViTConfig(**settings | changes)
    model = sharpen(ViTForImageClassification(config), seed=seed)
    model.save_pretrained(directory)
    numbers = [0.1 * channel + 0.4 for channel in range(config.num_channels)]
    write_json(directory / "preprocessor_config.json", {"image_mean": numbers, "image_std": numbers[::-1]})
    return model


Writer = Callable[[Path], Any]

MARIAN: dict[str, Writer] = {
    "marian": lambda path: write_marian(path),
    "marian, two vocabularies": lambda path: write_marian(
        path,
        vocab_size=53,
        decoder_vocab_size=49,
        share_encoder_decoder_embeddings=False,
        d_model=10,
        encoder_layers=1,
        decoder_layers=3,
        encoder_attention_heads=5,
        decoder_attention_heads=5,
        activation_function="relu",
    ),
    "marian, odd width": lambda path: write_marian(path, d_model=9, activation_function="gelu", vocab_size=59),
}
T5: dict[str, Writer] = {
    "t5 1.0": lambda path: write_t5(path),
    "t5 1.1": lambda path: write_t5(
        path, own_output=True, feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_layers=1, num_decoder_layers=2
    ),
    "t5, not scaled": lambda path: write_t5(path, feed_forward_proj="gated-silu", tie_word_embeddings=False, num_heads=1),
}
BERT: dict[str, Writer] = {
    "bert": lambda path: write_bert(path),
    "bert, gelu-tanh": lambda path: write_bert(path, hidden_act="gelu_new", type_vocab_size=3, num_attention_heads=1),
}
TEXT_CLASSES: dict[str, Writer] = {
    "bert, 2 classes": lambda path: write_bert(path, classes=2, hidden_act="relu"),
    "bert, 5 classes": lambda path: write_bert(path, classes=5, num_hidden_layers=1),
}
GPT: dict[str, Writer] = {
    "gpt": lambda path: write_gpt(path),
    "gpt, narrow": lambda path: write_gpt(path, n_inner=9, activation_function="relu", n_head=1, n_layer=3),
}
VIT: dict[str, Writer] = {
    "vit": lambda path: write_vit(path),
    "vit, grey, a rest": lambda path: write_vit(path, classes=5, num_channels=1, image_size=11, patch_size=3),
}
