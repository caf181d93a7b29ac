"""Section 5.3: Adam, and the learning rate as a pure function of the step. Beside Adam, for the layers' matrices, Muon."""

import math
from collections.abc import Iterable

import torch
from torch import nn

from headway.config import TrainingSettings
from headway.models.model import Model
from headway.training.group import Group
from headway.training.muon import Muon, find_matrices


def learning_rate(settings: TrainingSettings, step: int, *, d_model: int, warmup: int, total: int) -> float:
    """The rate of a step, counted from 1, under the schedule that the settings name."""
    if settings.schedule == "paper" and settings.learning_rate is None:
        return paper(step, d_model=d_model, warmup=warmup)
    peak = settings.learning_rate or 0.0
    if settings.schedule in ("paper", "inverse-sqrt"):
        return inverse_sqrt(step, peak=peak, warmup=warmup)
    falling = cosine if settings.schedule == "cosine" else linear
    return falling(step, peak=peak, warmup=warmup, total=total)


def build_optimizers(model: Model, kind: str | None, group: Group) -> list[torch.optim.Optimizer]:
    """Those that share a model's parameters among them."""
    if kind != "muon":
        return [build_adam(model.parameters())]
    matrices = find_matrices(model)
    return [Muon(matrices, group), build_adam(parameter for parameter in model.parameters() if parameter not in matrices)]


def build_adam(parameters: Iterable[nn.Parameter]) -> torch.optim.Adam:
    """Adam with the paper's constants; the rate is set before each update."""
    return torch.optim.Adam(parameters, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)


def paper(step: int, *, d_model: int, warmup: int) -> float:
    """Equation 3: d_model^-0.5 * min(step^-0.5, step * warmup^-1.5). Steps count from 1."""
    return d_model**-0.5 * min(step**-0.5, step * max(warmup, 1) ** -1.5)


def inverse_sqrt(step: int, *, peak: float, warmup: int) -> float:
    """The paper's shape with a peak of one's own: up in a line, then down with the square root of the step."""
    return _rising(step, peak, warmup) if step < warmup else peak * math.sqrt(max(warmup, 1) / step)


def cosine(step: int, *, peak: float, warmup: int, total: int) -> float:
    """Up in a line, then down half a cosine wave to zero at the last step."""
    return _rising(step, peak, warmup) if step < warmup else peak * 0.5 * (1 + math.cos(math.pi * _spent(step, warmup, total)))


def linear(step: int, *, peak: float, warmup: int, total: int) -> float:
    """Up in a line, then down in a line to zero at the last step."""
    return _rising(step, peak, warmup) if step < warmup else peak * (1 - _spent(step, warmup, total))


def _rising(step: int, peak: float, warmup: int) -> float:
    return peak * step / warmup


def _spent(step: int, warmup: int, total: int) -> float:
    """Share of the way from the end of the warm-up to just after the last step, so that the last step still moves."""
    return min(1.0, (step - warmup) / max(1, total + 1 - warmup))
