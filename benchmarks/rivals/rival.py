"""What the Transformer is measured against: another encoder and another decoder between the same embeddings.

A rival is an `EncoderDecoder` like Headway's own, so that the batches, the loss, Adam, the validation and the beam search are
the same for all sides; only what stands between the embeddings and the output differs.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from headway.atomic import write_file
from headway.errors import RequestError
from headway.models.encoder_decoder import EncoderDecoder
from headway.models.model import count_parameters
from headway.models.weights import set_weights
from headway.nn.dropout import Dropout
from headway.nn.embeddings import Embedding, Output
from headway.nn.initialisers import initialise
from headway.nn.positions import NoPositions, SinusoidalPositions

Kind = Literal["recurrent", "convolutional"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STEPS: dict[Kind, int] = {"recurrent": 2, "convolutional": 1}  # of widths: half of a recurrent layer reads backwards
SHAPE, WEIGHTS = "rival.json", "weights.safetensors"


@dataclass(frozen=True)
class Shape:
    """`width` is that of the layers, `d_model` that of the embeddings. `shared`: both languages have one vocabulary."""

    kind: Kind
    source_vocab: int
    target_vocab: int
    shared: bool
    d_model: int
    width: int
    dropout: float
    pad: int


class Rival(EncoderDecoder):
    """Embeddings tied as with `--tie all`, or, where the languages have a vocabulary each, target and output alone."""

    def __init__(self, shape: Shape, *, encoder: nn.Module, decoder: nn.Module, positions: SinusoidalPositions | NoPositions):
        super().__init__()
        self.shape, self.pad = shape, shape.pad
        self.source_embedding = Embedding(vocab=shape.source_vocab, d_model=shape.d_model)
        self.target_embedding = (
            self.source_embedding if shape.shared else Embedding(vocab=shape.target_vocab, d_model=shape.d_model)
        )
        self.head, self.output = nn.Identity(), Output(self.target_embedding.weight)
        self.positions, self.dropout = positions, Dropout(shape.dropout)
        self.encoder, self.decoder = encoder, decoder  # type: ignore[assignment]
        initialise(self)
        for module in self.modules():
            if isinstance(module, Drawn):
                module.draw()


class Drawn(nn.Module, ABC):
    """A part whose weights begin in its own way, after all others have begun in Headway's."""

    @abstractmethod
    def draw(self) -> None: ...


def build_rival(shape: Shape, *, seed: int = 1) -> Rival:
    """A new model whose initial weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _builder(shape.kind)(shape)


def _builder(kind: Kind) -> Callable[[Shape], Rival]:
    from convolutional import build_convolutional
    from recurrent import build_recurrent

    return build_recurrent if kind == "recurrent" else build_convolutional


def fit_width(shape: Shape, parameters: int) -> Shape:
    """The shape with the width that comes closest to so many parameters."""

    def count(width: int) -> int:
        with torch.device("meta"):
            return count_parameters(_builder(shape.kind)(replace(shape, width=width)))

    step = STEPS[shape.kind]
    if parameters < count(step):
        raise RequestError(
            f"The {shape.kind} model has {count(step):,} parameters at least, not {parameters:,}: its embeddings take them.",
            "Give a smaller --d-model.",
        )
    below, above = step, 2 * step
    while count(above) <= parameters:
        below, above = above, 2 * above
    while above - below > step:
        middle = (below + above) // (2 * step) * step
        below, above = (middle, above) if count(middle) <= parameters else (below, middle)
    return replace(shape, width=min((below, above), key=lambda width: abs(count(width) - parameters)))


def save_rival(directory: Path, shape: Shape, weights: dict[str, Tensor]) -> None:
    write_file(directory / WEIGHTS, save({name: tensor.contiguous() for name, tensor in weights.items()}))
    write_file(directory / SHAPE, json.dumps(asdict(shape), indent=2) + "\n")


def load_rival(directory: Path) -> Rival:
    """What `save_rival` wrote, ready to be asked."""
    content: dict[str, Any] = json.loads((directory / SHAPE).read_text(encoding="utf-8"))
    model = build_rival(Shape(**content))
    set_weights(model, load_file(directory / WEIGHTS))
    return model.eval()
