"""A bundle as a model of Hugging Face's transformers: the same weights under the names of a stock class.

Post-norm models become Marian's class, pre-norm ones Pegasus's. Both classes have the sines of a position in the first half of
d_model and the cosines in the second, the paper has them in turn: one table in two orders. The class makes its own table
whenever it likes, so it is the weights that are put in its order.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headway.bundle import CARD, Bundle, Manifest
from headway.config import Architecture
from headway.errors import RequestError
from headway.export.huggingface_tokenizer import TARGET, check_tokenizer, require_transformers, write_tokenizers
from headway.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from transformers import GenerationConfig, MarianMTModel, PegasusForConditionalGeneration

__all__ = ["HuggingFaceModel", "check_exportable", "check_tokenizer", "write_huggingface"]

POSITIONS = 1024  # rows of the class's position table: the longest source and the longest target
MAX_NEW_TOKENS = 512
NEVER = -1e9  # added to the logits of what must not be written

# Parts of a layer, and what the classes call them.
_PARTS = {
    "attention.output": "self_attn.out_proj",
    "attention_residual.norm": "self_attn_layer_norm",
    "cross_attention.output": "encoder_attn.out_proj",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "feed_forward_residual.norm": "final_layer_norm",
}
_INPUTS = {"attention.input": "self_attn", "cross_attention.input": "encoder_attn"}
_WRITE_THE_STREAM = ("attention.output", "feed_forward.outer", "norm")

_TIES = """
  But where a run such as "....." can be cut into the same pieces in two orders, rounding decides: SentencePiece adds up
  scores in single precision, `tokenizers` in double."""


def check_exportable(architecture: Architecture) -> None:
    """Say all that the stock classes cannot hold."""
    a = architecture
    problems = []
    if a.positions != "sinusoidal":
        problems.append(f"positions are {a.positions}, the classes have sinusoidal ones")
    if a.d_k * a.n_heads != a.d_model or a.d_v != a.d_k:
        problems.append(f"d_k {a.d_k} and d_v {a.d_v} are not both d_model / n_heads ({a.d_model} / {a.n_heads})")
    if a.norm == "pre" and a.tie != "all":
        problems.append(f"the pre-norm class has one embedding for source, target and output, here tie is {a.tie}")
    if problems:
        others = "--to ctranslate2 and --to onnx can" if a.d_k == a.d_v else "--to onnx can"
        raise RequestError(f"No class of transformers fits this model: {'; '.join(problems)}.", f"{others} hold it.")


def write_huggingface(bundle: Bundle, directory: Path) -> None:
    """Convert into an existing empty directory: model, tokenizer and card, for `from_pretrained`."""
    require_transformers()
    check_exportable(bundle.manifest.architecture)
    model = _build(bundle.manifest.architecture, bundle.tokenizers.target)
    weights = convert_weights(bundle.weights(), bundle.manifest.architecture)
    model.load_state_dict(weights, strict=False)  # the class has its position table, and other names for tied weights
    model.final_logits_bias[0, _never(bundle.tokenizers.target)] = NEVER
    model.generation_config = _build_generation(bundle.manifest, bundle.tokenizers.target)
    with _without_bars():
        model.save_pretrained(directory)
    write_tokenizers(bundle, directory, max_length=POSITIONS)
    (directory / CARD).write_text(_card(bundle), encoding="utf-8")


def convert_weights(weights: Mapping[str, Tensor], architecture: Architecture) -> dict[str, Tensor]:
    """Our weights by their names, with d_model in their order: even places first, then odd ones."""
    a = architecture
    order = torch.cat([torch.arange(0, a.d_model, 2), torch.arange(1, a.d_model, 2)])
    embeddings = {
        "source_embedding": "model.shared" if a.tie == "all" else "model.encoder.embed_tokens",
        "target_embedding": "model.decoder.embed_tokens",
        "output": "lm_head",
    }
    converted = {}
    for name, tensor in weights.items():
        part, kind = name.rsplit(".", 1)
        if part in embeddings:
            converted[f"{embeddings[part]}.{kind}"] = tensor[:, order]
            continue
        if part.endswith(_WRITE_THE_STREAM):
            tensor = tensor[order]
        elif kind == "weight":
            tensor = tensor[:, order]
        stack, _, place = part.partition(".")
        if place == "norm":
            converted[f"model.{stack}.layer_norm.{kind}"] = tensor
            continue
        _, layer, own = place.split(".", 2)
        prefix = f"model.{stack}.layers.{layer}"
        if own in _INPUTS:
            for letter, rows in zip("qkv", tensor.chunk(3), strict=True):
                converted[f"{prefix}.{_INPUTS[own]}.{letter}_proj.{kind}"] = rows
        else:
            converted[f"{prefix}.{_PARTS[own]}.{kind}"] = tensor
    return converted


class HuggingFaceModel:
    """What transformers makes of an exported directory, to be held against the bundle."""

    def __init__(self, directory: Path) -> None:
        require_transformers()
        from transformers import AutoModelForSeq2SeqLM

        with _without_bars():
            self.model = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
        config = self.model.config
        self.bos, self.eos, self.pad = config.decoder_start_token_id, config.eos_token_id, config.pad_token_id

    @torch.inference_mode()
    def logits(self, source: Sequence[int], target: Sequence[int]) -> np.ndarray:
        """Of each next token, [len(target) + 1, V], before the bias that rules marks out: all of them can be compared."""
        hidden = self.model.model(
            input_ids=torch.tensor([[*source, self.eos]]), decoder_input_ids=torch.tensor([[self.bos, *target]])
        ).last_hidden_state
        return self.model.lm_head(hidden)[0].numpy()

    @torch.inference_mode()
    def translate(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[int]]:
        """Greedy, by transformers' own `generate`; ids without marks, each list at most as long as its limit."""
        if not sources:
            return []
        longest = max(map(len, sources)) + 1
        padded = torch.tensor([[*source, self.eos] + [self.pad] * (longest - 1 - len(source)) for source in sources])
        greedy = {
            "num_beams": 1,
            "length_penalty": 1.0,
            "early_stopping": False,
            "min_new_tokens": 0,
            "no_repeat_ngram_size": 0,
        }
        written = self.model.generate(
            input_ids=padded, attention_mask=(padded != self.pad).long(), max_new_tokens=max(limits), **greedy
        )
        rows = [row[1:] for row in written.tolist()]  # without the mark that begins them
        return [
            row[: min(limit, row.index(self.eos) if self.eos in row else limit)]
            for row, limit in zip(rows, limits, strict=True)
        ]


def _build(a: Architecture, target: Tokenizer) -> "MarianMTModel | PegasusForConditionalGeneration":
    from transformers import MarianConfig, MarianMTModel, PegasusConfig, PegasusForConditionalGeneration

    settings: dict[str, Any] = {
        "vocab_size": a.source_vocab,
        "d_model": a.d_model,
        "encoder_layers": a.n_layers,
        "decoder_layers": a.n_decoder_layers,
        "encoder_attention_heads": a.n_heads,
        "decoder_attention_heads": a.n_heads,
        "encoder_ffn_dim": a.d_ff,
        "decoder_ffn_dim": a.d_ff,
        "activation_function": a.activation,
        "dropout": a.dropout,
        "scale_embedding": True,
        "max_position_embeddings": POSITIONS,
        "tie_word_embeddings": a.tie != "none",
        "decoder_start_token_id": target.bos,
        "bos_token_id": target.bos,
        "eos_token_id": target.eos,
        "pad_token_id": target.pad,
        "forced_eos_token_id": None,
    }
    with torch.random.fork_rng(devices=[]):  # the class draws initial values, which nobody needs
        if a.norm == "pre":
            return PegasusForConditionalGeneration(PegasusConfig(**settings))
        shared = a.tie == "all"
        return MarianMTModel(
            MarianConfig(**settings, share_encoder_decoder_embeddings=shared, decoder_vocab_size=a.target_vocab)
        )


def _build_generation(manifest: Manifest, target: Tokenizer) -> "GenerationConfig":
    """The bundle's search, as near as `generate` comes: it knows the length penalty n^alpha only, and no limit by the input."""
    from transformers import GenerationConfig

    decoding = manifest.decoding
    search = {"length_penalty": decoding.length_penalty, "early_stopping": True} if decoding.beam > 1 else {}
    return GenerationConfig(
        num_beams=decoding.beam,
        min_new_tokens=decoding.min_length,
        max_new_tokens=MAX_NEW_TOKENS,
        no_repeat_ngram_size=decoding.no_repeat_ngram,
        decoder_start_token_id=target.bos,
        bos_token_id=target.bos,
        eos_token_id=target.eos,
        pad_token_id=target.pad,
        **search,
    )


@contextmanager
def _without_bars() -> Iterator[None]:
    """transformers draws a bar for every file; whoever calls shows what is going on in their own way."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _never(target: Tokenizer) -> list[int]:
    return [target.pad, target.bos, target.unk]


def _card(bundle: Bundle) -> str:
    m = bundle.manifest
    writes = "tokenizer" if bundle.tokenizers.shared else f'AutoTokenizer.from_pretrained("DIRECTORY/{TARGET}")'
    ties = _TIES if m.tokenizer.kind == "unigram" else ""
    return f"""---
library_name: transformers
pipeline_tag: translation
---
# {m.source_language} → {m.target_language}

A translator made with Headway {m.version}, for Hugging Face transformers:

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
model, tokenizer = (kind.from_pretrained("DIRECTORY") for kind in (AutoModelForSeq2SeqLM, AutoTokenizer))
ids = model.generate(**tokenizer(["A dog runs."], return_tensors="pt", padding=True))
print({writes}.batch_decode(ids, skip_special_tokens=True))
```

- Text goes in as it is; the tokenizer gives the ids that Headway's gives.{ties}
- A source has at most {POSITIONS:,} pieces, its end counted: `truncation=True` cuts it there, and without that a longer one
  fails with an IndexError. A translation has at most {MAX_NEW_TOKENS} (`max_new_tokens`).
- Greedy translations are Headway's. With a beam some may differ: `generate` has its own length penalty, n^alpha, and end.
- The tokenizer's tables for composing characters (NFC) are those of Unicode 9: marks that came later are not put in order.
- A lone surrogate, which a Python string may hold but no text, is refused by the tokenizer; Headway reads it as U+FFFD.
- Bytes that are no UTF-8, should the model write some, become a U+FFFD each, and so do the good ones beside them.
"""
