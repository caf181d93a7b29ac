"""Small random models: bundles whose choices are clear, of any shape, without training; and learners without text."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch
from copy_reverse import WORDS, make_pairs
from torch import nn

from headway.architectures import AnyArchitecture, Architecture, BertArchitecture, GptArchitecture, VitArchitecture
from headway.bundle import Lines, Manifest, Pictures, write_bundle
from headway.config import Task
from headway.models.build import build
from headway.models.transformer import Transformer
from headway.models.weights import get_weights
from headway.text.class_names import ClassNames
from headway.text.subwords import MASK
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizers
from headway.training.learner import Learner

PLAIN: dict[str, Any] = {
    "n_layers": 2,
    "n_decoder_layers": 2,
    "d_model": 16,
    "d_ff": 32,
    "n_heads": 2,
    "d_k": 8,
    "d_v": 8,
    "dropout": 0.1,
    "norm": "pre",
    "positions": "sinusoidal",
    "max_positions": 512,
    "activation": "relu",
    "tie": "all",
}


@cache
def make_tokenizer(vocab_size: int, tags: tuple[str, ...] = ()) -> SentencePieceTokenizer:
    lines = [line for pair in make_pairs(100) for line in pair]
    return SentencePieceTokenizer.train(lines, kind="bpe", vocab_size=vocab_size, tags=tags)


def write_model(
    directory: Path,
    *,
    seed: int = 1,
    sharpness: float = 0.4,
    ends: float = 0.0,
    words: float = 0.0,
    lines: Lines | None = None,
    tags: tuple[str, ...] = (),
    facts: Mapping[str, Any] | None = None,
    **shape: Any,
) -> Path:
    """`sharpness` is how far the weights are from those that training begins with; `ends` and `words` raise the logits of the
    end and of whole words; `facts` are more of what the manifest tells.
    """
    settings = PLAIN | shape
    source = make_tokenizer(320, tags)
    target = source if settings["tie"] == "all" else make_tokenizer(310)
    architecture = Architecture(source_vocab=source.size, target_vocab=target.size, **settings)
    model = build(architecture, pad=source.pad, seed=seed).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(sharpness * torch.randn(parameter.shape, generator=generator))
        mean = _last_norm(model).bias  # of what the output matrix sees
        model.output.weight[target.eos] += ends * mean / mean.square().sum()
        model.output.weight[_whole_words(target)] += words * mean / mean.square().sum()
    languages = {"source_language": "en", "target_language": "de"}
    manifest = Manifest(architecture=architecture, lines=lines or Lines(), **languages, **(facts or {}))
    write_bundle(directory, manifest, get_weights(model), Tokenizers(source, target))
    return directory


def _last_norm(model: Transformer) -> nn.LayerNorm:
    return [module for module in model.decoder.modules() if isinstance(module, nn.LayerNorm)][-1]


def _whole_words(tokenizer: SentencePieceTokenizer) -> list[int]:
    """Pieces whose text is cut into themselves, wherever they stand."""
    return [pieces[0] for pieces in tokenizer.encode(list(WORDS)) if len(pieces) == 1]


RELATIVES: dict[str, dict[str, Any]] = {
    "gpt": {"max_positions": 48, "activation": "gelu-tanh"},
    "bert": {"max_positions": 40, "activation": "gelu"},
    "vit": {"image_size": 12, "patch_size": 4, "channels": 3, "activation": "gelu"},
}
SIZES: dict[str, Any] = {"n_layers": 2, "d_model": 16, "d_ff": 32, "n_heads": 2, "dropout": 0.1}
CLASSES = ("bird", "cat", "dog")


@cache
def make_relatives_tokenizer() -> SentencePieceTokenizer:
    lines = [line for pair in make_pairs(100) for line in pair]
    return SentencePieceTokenizer.train(lines, kind="bpe", vocab_size=320, marks=[MASK])


def write_relative(
    directory: Path,
    kind: Literal["gpt", "bert", "vit"],
    *,
    classes: Sequence[str] = (),
    seed: int = 1,
    sharpness: float = 0.4,
    **shape: Any,
) -> Path:
    """A bundle of one of the paper's relatives. A BERT with `classes` is a classifier; a ViT always is."""
    names = ClassNames(classes or CLASSES)
    settings = SIZES | RELATIVES[kind] | shape
    text = make_relatives_tokenizer()
    architecture: AnyArchitecture
    if kind == "vit":
        architecture = VitArchitecture(classes=names.size, **settings)
        tokenizers = Tokenizers(names, names)
    elif kind == "gpt":
        architecture = GptArchitecture(vocab=text.size, **settings)
        tokenizers = Tokenizers(text, text)
    else:
        architecture = BertArchitecture(vocab=text.size, classes=len(classes), **settings)
        tokenizers = Tokenizers(text, names if classes else text)
    model = build(architecture, pad=tokenizers.source.pad, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(sharpness * torch.randn(parameter.shape, generator=generator))
    middle = [0.5] * int(settings.get("channels", 1))
    pictures = Pictures(mean=middle, deviation=middle) if kind == "vit" else None
    task: Task = "lm" if kind == "gpt" else "classify" if pictures or classes else "mlm"
    manifest = Manifest(architecture=architecture, task=task, pictures=pictures)
    write_bundle(directory, manifest, get_weights(model), tokenizers)
    return directory


def learn_from_noise(learner: Learner, steps: range) -> None:
    """Updates on gradients that are drawn, the same for the same steps."""
    for step in steps:
        torch.manual_seed(step)
        for parameter in learner.model.parameters():
            parameter.grad.copy_(torch.randn_like(parameter))
        learner.step(0.1)
