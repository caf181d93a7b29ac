"""What goes on inside a relative while it reads, as numbers to draw. L layers, H heads, T positions, C channels."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Reading:
    """Of a text. All weights of a row sum to one."""

    pieces: list[str]  # as a person reads them, with the marks around them
    answer: str  # what the model makes of the text; empty if it was not asked for anything
    weights: np.ndarray  # [L, H, T, T]
    forwards: bool  # it reads as one writes: no piece sees those after it
    positions: np.ndarray  # [positions, d_model]


@dataclass(frozen=True)
class PictureReading:
    """Of a picture, patch by patch."""

    picture: np.ndarray  # uint8 [C, size, size]
    answer: str
    looks: np.ndarray  # [L, H, rows, columns]: from the vector in which the class is gathered, to each patch
    rollout: np.ndarray  # [L, rows, columns]: what has come to that vector from each patch, through all layers so far


def roll_out(weights: np.ndarray) -> np.ndarray:
    """Attention rollout (Abnar and Zuidema, 2020) of [L, H, T, T]: how much of each position is in each, after each layer.

    Half is the mean over heads, half what the residual connection brings along.
    """
    own = np.eye(weights.shape[-1], dtype=np.float32)
    rolled = [own]
    for layer in weights.mean(axis=1):
        rolled.append((0.5 * layer + 0.5 * own) @ rolled[-1])
    return np.stack(rolled[1:])
