"""What a run needs to go on exactly: weights, the optimiser's memory, and where it stood.

Nothing random is kept: dropout, order and subword sampling are drawn from (seed, step) and (seed, epoch).
"""

import json
import re
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from headway.atomic import new_directory
from headway.errors import TrainingError
from headway.models.weights import get_weights, set_weights
from headway.training.choices import Budget


@dataclass
class State:
    """Where a run stands. `budget` is what was `asked` for in updates: unknown while minutes are still being measured."""

    step: int = 0
    epoch: int = 0
    place: int = 0  # updates done in this epoch
    tokens: int = 0  # target tokens so far, padding not counted
    seconds: float = 0.0
    asked: dict[str, float | None] = field(default_factory=dict)
    budget: Budget | None = None
    best: float | None = None  # the named metric, larger is better
    best_step: int = 0
    stale: int = 0  # validations since the best


def save_checkpoint(directory: Path, state: State, model: nn.Module, optimizer: torch.optim.Adam, keep: int) -> Path:
    """Write checkpoints/step-N whole, then prune the oldest."""
    path = directory / f"step-{state.step:08d}"
    with new_directory(path) as new:
        (new / "weights.safetensors").write_bytes(save(get_weights(model)))
        (new / "optimizer.safetensors").write_bytes(save(_moments(model, optimizer)))
        (new / "state.json").write_text(json.dumps(asdict(state), indent=2) + "\n")
    for old in list_checkpoints(directory)[:-keep]:
        shutil.rmtree(old)
    return path


def list_checkpoints(directory: Path) -> list[Path]:
    """Whole checkpoints, oldest first."""
    return sorted(path for path in directory.glob("step-*") if re.fullmatch(r"step-\d+", path.name))


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Adam) -> State:
    try:
        content = json.loads((path / "state.json").read_text())
        budget = content.pop("budget")
        state = State(**content, budget=Budget(**budget) if budget else None)
        set_weights(model, load_weights(path))
        _set_moments(model, optimizer, load_file(path / "optimizer.safetensors"), state.step)
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        raise TrainingError(
            f"The checkpoint {path} is damaged: {error}.", "Delete it: the run goes on from the one before."
        ) from None
    return state


def load_weights(checkpoint: Path) -> dict[str, Tensor]:
    return load_file(checkpoint / "weights.safetensors")


def _moments(model: nn.Module, optimizer: torch.optim.Adam) -> dict[str, Tensor]:
    """Adam's two running means of each parameter, by the parameter's name."""
    return {
        f"{moment}/{name}": optimizer.state[parameter][moment]
        for name, parameter in model.named_parameters()
        for moment in ("exp_avg", "exp_avg_sq")
        if parameter in optimizer.state
    }


def _set_moments(model: nn.Module, optimizer: torch.optim.Adam, moments: dict[str, Tensor], step: int) -> None:
    for name, parameter in model.named_parameters():
        if f"exp_avg/{name}" in moments:
            optimizer.state[parameter] = {
                "step": torch.tensor(float(step)),
                "exp_avg": moments[f"exp_avg/{name}"],
                "exp_avg_sq": moments[f"exp_avg_sq/{name}"],
            }
