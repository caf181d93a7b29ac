"""A bundle as Hugging Face has models: `config.json`, `model.safetensors` and a tokenizer under the names of a stock class.

The names and shapes are those that imports read (`models.huggingface`), so a model that came from there goes back bit by bit.
transformers is needed to compare only (`HuggingFaceModel`), not to write.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
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
from headway.bundle import CARD, Bundle
from headway.errors import RequestError
from headway.export.huggingface_card import write_card
from headway.export.huggingface_tokenizer import check_tokenizer, is_native, require_transformers, write_tokenizers
from headway.models.huggingface import NEVER, list_never, to_huggingface, write_ban
from headway.models.huggingface_config import write_config
from headway.nn.positions import sinusoids
from headway.text.class_names import ClassNames
from headway.text.tokenizer import Tokenizer

__all__ = ["HuggingFaceModel", "check_exportable", "check_tokenizer", "find_largest_difference", "write_huggingface"]

POSITIONS = 1024  # rows of the class's position table: the longest source and the longest target
MAX_NEW_TOKENS = 512


def check_exportable(architecture: AnyArchitecture) -> None:
    """Say all that the stock classes cannot hold."""
    a = architecture
    if not isinstance(a, Architecture):
        write_config(a)
        return
    problems = []
    if not a.scale_attention:
        problems.append("dot products are not divided by sqrt(d_k), the classes divide them")
    if a.positions != "sinusoidal":
        problems.append(f"positions are {a.positions}, the classes have sinusoidal ones")
    if a.d_k * a.n_heads != a.d_model or a.d_v != a.d_k:
        problems.append(f"d_k {a.d_k} and d_v {a.d_v} are not both d_model / n_heads ({a.d_model} / {a.n_heads})")
    if a.norm == "pre" and a.tie != "all":
        problems.append(f"the pre-norm class has one embedding for source, target and output, here tie is {a.tie}")
    if problems:
        others = "--to ctranslate2 and --to onnx can" if a.d_k == a.d_v and a.scale_attention else "--to onnx can"
        raise RequestError(f"No class of transformers fits this model: {'; '.join(problems)}.", f"{others} hold it.")


def write_huggingface(bundle: Bundle, directory: Path) -> dict[str, Any]:
    """Convert into an existing empty directory, and hand back its `config.json`.

    A tokenizer that Headway did not learn is for others to write (`imports.tokenizers`).
    """
    from safetensors.torch import save_file

    a = bundle.manifest.architecture
    check_exportable(a)
    weights = to_huggingface(bundle.weights(), a)
    if isinstance(a, Architecture):
        weights |= _complete_translator(a, bundle.tokenizers.target)
    config = _describe(bundle)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    _write_json(directory / "config.json", config)
    if isinstance(a, Architecture | T5Architecture | GptArchitecture):
        _write_json(directory / "generation_config.json", _describe_search(bundle))
    if isinstance(a, VitArchitecture):
        _write_json(directory / "preprocessor_config.json", _describe_pictures(bundle, a))
    if is_native(bundle.tokenizers):
        write_tokenizers(bundle, directory, max_length=_longest(a))
    (directory / CARD).write_text(write_card(bundle, positions=POSITIONS, max_new_tokens=MAX_NEW_TOKENS), encoding="utf-8")
    return config


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _complete_translator(a: Architecture, target: Tokenizer) -> dict[str, Tensor]:
    """What the classes have and our models have not: a bias that keeps marks from being written, and a position table."""
    more: dict[str, Tensor] = {}
    if not a.output_bias:
        more |= write_ban(list_never(target, a.target_vocab), a.target_vocab)
    if a.norm == "pre":
        table = sinusoids(torch.arange(POSITIONS), a.d_model)
        table = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
        more |= {f"model.{stack}.embed_positions.weight": table.clone() for stack in ("encoder", "decoder")}
    return more


def _describe(bundle: Bundle) -> dict[str, Any]:
    """`config.json`"""
    a, source, target = bundle.manifest.architecture, bundle.tokenizers.source, bundle.tokenizers.target
    config = write_config(a)
    if isinstance(a, Architecture | T5Architecture):
        config |= _name_marks(target) | {"forced_eos_token_id": None}
    elif not isinstance(a, VitArchitecture):
        config |= _name_marks(source)
    if isinstance(a, Architecture):
        config["max_position_embeddings"] = POSITIONS
    if isinstance(target, ClassNames):
        config["id2label"] = {str(number): name for number, name in enumerate(target.names)}
        config["label2id"] = {name: number for number, name in enumerate(target.names)}
    return config


def _name_marks(tokenizer: Tokenizer) -> dict[str, Any]:
    marks = {"bos_token_id": tokenizer.bos, "eos_token_id": tokenizer.eos, "pad_token_id": tokenizer.pad}
    return {**marks, "decoder_start_token_id": tokenizer.bos}


def _describe_search(bundle: Bundle) -> dict[str, Any]:
    """The bundle's search, as near as `generate` comes: it knows the length penalty n^alpha only, and no limit by the input.

    Where no bias keeps marks from being written, they are told as bad words, and the others share their probability.
    """
    a, target, decoding = bundle.manifest.architecture, bundle.tokenizers.target, bundle.manifest.decoding
    if isinstance(a, GptArchitecture):
        return {**_name_marks(target), "max_new_tokens": min(MAX_NEW_TOKENS, a.max_positions // 2)}
    search: dict[str, Any] = {"length_penalty": decoding.length_penalty, "early_stopping": True} if decoding.beam > 1 else {}
    if not isinstance(a, Architecture) or a.output_bias:
        assert isinstance(a, Architecture | T5Architecture)
        rows = a.target_vocab if isinstance(a, Architecture) else a.vocab
        search |= {"bad_words_ids": [[never] for never in list_never(target, rows)], "renormalize_logits": True}
    return {
        "num_beams": decoding.beam,
        "min_new_tokens": decoding.min_length,
        "max_new_tokens": MAX_NEW_TOKENS,
        "no_repeat_ngram_size": decoding.no_repeat_ngram,
        **_name_marks(target),
        **search,
    }


def _describe_pictures(bundle: Bundle, a: VitArchitecture) -> dict[str, Any]:
    pictures = bundle.manifest.pictures
    assert pictures
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": a.image_size, "width": a.image_size},
        "resample": 2,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": pictures.mean,
        "image_std": pictures.deviation,
    }


def _longest(a: AnyArchitecture) -> int:
    """Of texts that the tokenizer lets through when it is told to cut them."""
    return a.max_positions if isinstance(a, BertArchitecture | GptArchitecture) else POSITIONS


class HuggingFaceModel:
    """What transformers makes of an exported translator, to be held against the bundle."""

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
        given = {"input_ids": torch.tensor([[*source, self.eos]]), "decoder_input_ids": torch.tensor([[self.bos, *target]])}
        bias = getattr(self.model, "final_logits_bias", None)
        if bias is None:
            return self.model(**given).logits[0].numpy()
        logits = self.model.lm_head(self.model.model(**given).last_hidden_state)
        return (logits + bias.masked_fill(bias <= NEVER / 2, 0.0))[0].numpy()

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


@torch.inference_mode()
def find_largest_difference(bundle: Bundle, directory: Path, *, texts: Sequence[str] = (), seed: int = 1) -> float:
    """Between the logits of a model that does not translate and those of its export: of texts, or of pieces or pixels drawn."""
    require_transformers()
    import transformers

    a = bundle.manifest.architecture
    with _without_bars():
        theirs = getattr(transformers, write_config(a)["architectures"][0]).from_pretrained(directory).eval()
    ours, largest = bundle.build_model(), 0.0
    for given in _make_inputs(bundle, texts, torch.Generator().manual_seed(seed)):
        logits = theirs(given).logits
        found = ours(given).reshape(logits.shape) - logits
        largest = float(torch.maximum(torch.tensor(largest), found.abs().max()))  # NaN stays NaN
    return largest


def _make_inputs(bundle: Bundle, texts: Sequence[str], generator: torch.Generator) -> Iterator[Tensor]:
    a, source = bundle.manifest.architecture, bundle.tokenizers.source
    if isinstance(a, VitArchitecture):
        yield torch.randn(8, a.channels, a.image_size, a.image_size, generator=generator)
        return
    assert isinstance(a, BertArchitecture | GptArchitecture)
    around = ([source.bos], [source.eos]) if isinstance(a, BertArchitecture) else ([], [])
    plain = [piece for piece in range(source.size) if piece != source.pad]
    drawn = [[plain[i] for i in torch.randint(len(plain), (24,), generator=generator)] for _ in range(8)]
    for pieces in source.encode(texts) or drawn:
        if pieces:
            cut = pieces[: a.max_positions - len(around[0]) - len(around[1])]
            yield torch.tensor([[*around[0], *cut, *around[1]]])


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
