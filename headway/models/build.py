"""From a shape to a model."""

import torch

from headway.architectures import (
    AnyArchitecture,
    Architecture,
    BertArchitecture,
    GptArchitecture,
    T5Architecture,
)
from headway.models.bert import Bert
from headway.models.gpt import Gpt
from headway.models.model import Model
from headway.models.t5 import T5
from headway.models.transformer import Transformer
from headway.models.vit import Vit


def assemble(architecture: AnyArchitecture, *, pad: int = 0) -> Model:
    if isinstance(architecture, Architecture):
        return Transformer(architecture, pad=pad)
    if isinstance(architecture, T5Architecture):
        return T5(architecture, pad=pad)
    if isinstance(architecture, BertArchitecture):
        return Bert(architecture, pad=pad)
    if isinstance(architecture, GptArchitecture):
        return Gpt(architecture, pad=pad)
    return Vit(architecture)


def build(architecture: AnyArchitecture, *, pad: int = 0, seed: int = 1) -> Model:
    """A new model whose initial weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return assemble(architecture, pad=pad)
