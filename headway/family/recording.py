"""Keeping the weights of a relative's attentions. L layers, H heads, T positions."""

import numpy as np
import torch
from torch import Tensor

from headway.errors import RequestError
from headway.models.model import Model
from headway.nn.attention import record_attention
from headway.nn.positions import LearnedPositions

MOST_PIECES = 1000  # that are looked into: each layer and head has as many weights as their square
POSITIONS = 128  # rows of the position table that are shown


@torch.inference_mode()
def record(model: Model, *inputs: Tensor) -> np.ndarray:
    """The weights of every self-attention while one text or picture is read: [L, H, T, T]."""
    with record_attention(model) as weights:
        model.states(*(tensor.to(model.device) for tensor in inputs))
    return torch.cat(list(weights.values())).float().cpu().numpy()


def read_positions(positions: LearnedPositions) -> np.ndarray:
    return positions.weight[:POSITIONS].detach().float().cpu().numpy()


def check_text(text: str) -> None:
    if not text.strip():
        raise RequestError("There is no text to look into.", "Give one with at least a word.")


def check_length(n: int, most: int) -> None:
    """Before a text of n pieces is looked into by a model that reads so many."""
    most = min(most, MOST_PIECES)
    if n > most:
        raise RequestError(f"A text of {n:,} pieces is too long to look into; {most:,} are the most.", "Give a part of it.")
