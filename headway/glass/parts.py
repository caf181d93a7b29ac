"""What is seen of one sentence on its way through a model, from the bottom of figure 1 to its top. Nothing here needs torch.

L layers, H heads, T positions that ask, S positions that are asked, D dimensions, V vocabulary. Where there is an encoder and a
decoder, S are the source's pieces and T the decoder's steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["transformer", "t5", "gpt", "bert", "vit"]
Sublayer = Literal["attention", "cross_attention", "feed_forward"]


@dataclass(frozen=True)
class Code:
    """Who computes something: a function, a method or a class, and its file."""

    name: str
    file: str

    @classmethod
    def of(cls, thing: Callable[..., object]) -> "Code":
        """Asked of the thing itself, so that it is true after a move and a new name, too."""
        return cls(thing.__qualname__, f"{thing.__module__.replace('.', '/')}.py")


@dataclass(frozen=True)
class Shape:
    """A tensor's name, as the paper writes it, and its sides."""

    name: str
    sides: tuple[int, ...]


@dataclass(frozen=True)
class Term:
    """One of those that are added up to what the first layer reads."""

    name: str
    values: np.ndarray  # [T, D]
    code: Code


@dataclass(frozen=True)
class Input:
    """A sentence, as pieces (of a picture, patches) and as the vectors that the first layer reads."""

    name: Literal["source", "target", "text", "picture"]
    labels: list[str]  # pieces as a person reads them
    ids: list[int]  # none of a picture
    tokenizer: Code | None
    vocabulary: int
    terms: list[Term]
    scale: float  # what the embeddings are multiplied by
    total: np.ndarray  # [T, D] what the first layer reads
    normed: Code | None  # a norm between the sum and the first layer, where there is one (BERT)


@dataclass(frozen=True)
class Change:
    """What a sublayer does to the stream of vectors."""

    update: np.ndarray  # [T] length of the sublayer's output, as a share of the length of what it is added to
    cosine: np.ndarray  # [T] between the vector before, and after sum and norm


@dataclass(frozen=True)
class Units:
    """The inner numbers of a feed-forward network, after their activation."""

    values: np.ndarray  # [T, d_ff]

    @property
    def active(self) -> np.ndarray:
        """How many are above zero at each position [T]."""
        return (self.values > 0).sum(axis=1)


@dataclass(frozen=True)
class Layer:
    attention: np.ndarray  # [H, T, T]
    cross: np.ndarray | None  # [H, T, S]
    changes: dict[Sublayer, Change]
    units: Units
    output: np.ndarray  # [T, D]


@dataclass(frozen=True)
class Stack:
    name: Literal["encoder", "decoder"]
    layers: list[Layer]
    labels: list[str]  # what its positions read
    forwards: bool  # masked: no position sees those after it
    bias: np.ndarray | None  # [H, T, T] what is added to the scores by distance (T5)
    scaled: bool  # dot products are divided by sqrt(d_k)
    d_k: int
    d_v: int
    pre_norm: bool
    gated: bool
    activation: str
    shapes: dict[Sublayer, list[Shape]]
    codes: dict[str, Code]  # of each sublayer, of the residual connection, and of the formula

    @property
    def attention(self) -> np.ndarray:
        """[L, H, T, T]"""
        return np.stack([layer.attention for layer in self.layers])

    @property
    def cross(self) -> np.ndarray | None:
        """[L, H, T, S]"""
        found = [layer.cross for layer in self.layers if layer.cross is not None]
        return np.stack(found) if found else None


@dataclass(frozen=True)
class Prediction:
    """The distribution at one position: its likeliest, best first, and what was written there, if anything was."""

    place: str  # what it is about: the piece that was read last, or the mask
    likeliest: list[tuple[str, float]]
    entropy: float  # bits
    written: str | None
    log_probability: float | None  # of what was written
    lens: list[tuple[str, float]]  # after each layer, the likeliest if the model ended there


@dataclass(frozen=True)
class Predictions:
    each: list[Prediction]
    names: Literal["pieces", "classes"]
    shapes: list[Shape]
    codes: list[Code]


@dataclass(frozen=True)
class Node:
    """A candidate of the beam search: one piece after those above it in the tree."""

    parent: int  # its place in the list; -1 for none
    step: int  # from 1
    piece: str
    log_probability: float  # of all from the first piece on
    fate: Literal["kept", "ended", "pruned"]
    score: float | None  # of what ended and was among the best: log-probability over length penalty
    winner: bool  # on the way to the translation


@dataclass(frozen=True)
class Ended:
    """A hypothesis that was ranked."""

    text: str
    pieces: int  # the end counted
    log_probability: float
    penalty: float
    score: float


@dataclass(frozen=True)
class Beam:
    nodes: list[Node]
    ended: list[Ended]  # best first
    width: int
    alpha: float
    penalty: Literal["paper", "power"]
    codes: list[Code]


@dataclass(frozen=True)
class Alignment:
    weights: np.ndarray  # [T, S]
    layer: int  # from 1


@dataclass(frozen=True)
class Picture:
    """Of a model of pictures: what it saw, and where it looked."""

    pixels: np.ndarray  # uint8 [C, size, size]
    patch_size: int
    looks: np.ndarray  # [L, H, rows, columns]
    rollout: np.ndarray  # [L, rows, columns]


@dataclass(frozen=True)
class Glass:
    kind: Kind
    sentence: str
    answer: str
    facts: list[tuple[str, int]]  # the model's sizes, by the paper's names
    inputs: list[Input]
    stacks: list[Stack]
    predictions: Predictions
    alignment: Alignment | None = None
    beam: Beam | None = None
    without_beam: str = ""  # why there is none
    picture: Picture | None = None
