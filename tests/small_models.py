"""Bundles of small random models whose choices are clear, of any shape, without training."""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from copy_reverse import WORDS, make_pairs
from torch import nn

from headway.bundle import Lines, Manifest, write_bundle
from headway.config import Architecture
from headway.models.transformer import Transformer, build
from headway.models.weights import get_weights
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizers

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
def make_tokenizer(vocab_size: int) -> SentencePieceTokenizer:
    lines = [line for pair in make_pairs(100) for line in pair]
    return SentencePieceTokenizer.train(lines, kind="bpe", vocab_size=vocab_size)


def write_model(
    directory: Path,
    *,
    seed: int = 1,
    sharpness: float = 0.4,
    ends: float = 0.0,
    words: float = 0.0,
    lines: Lines | None = None,
    **shape: Any,
) -> Path:
    """`sharpness` is how far the weights are from those that training begins with; `ends` and `words` raise the logits of the
    end and of whole words.
    """
    settings = PLAIN | shape
    source = make_tokenizer(320)
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
    manifest = Manifest(architecture=architecture, source_language="en", target_language="de", lines=lines or Lines())
    write_bundle(directory, manifest, get_weights(model), Tokenizers(source, target))
    return directory


def _last_norm(model: Transformer) -> nn.LayerNorm:
    return [module for module in model.decoder.modules() if isinstance(module, nn.LayerNorm)][-1]


def _whole_words(tokenizer: SentencePieceTokenizer) -> list[int]:
    """Pieces whose text is cut into themselves, wherever they stand."""
    return [pieces[0] for pieces in tokenizer.encode(list(WORDS)) if len(pieces) == 1]
