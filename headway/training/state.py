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
    stale: int = 0  # validations since the best


def save_checkpoint(directory: Path, state: State, model: nn.Module, optimizer: torch.optim.Adam, keep: int) -> Path:
    """Write checkpoints/step-N whole, then prune: the newest `keep` of the regular ones stay, and this one.

    One that an interruption made goes with the next, so that a run that was interrupted averages the same checkpoints.
    """
    path = directory / f"step-{state.step:08d}"
    with new_directory(path) as new:
        (new / "weights.safetensors").write_bytes(save(get_weights(model)))
        (new / "optimizer.safetensors").write_bytes(save(_moments(model, optimizer)))
        (new / "state.json").write_text(json.dumps(asdict(state), indent=2) + "\n")
    every = state.budget.checkpoint_every if state.budget else 1
    regular = [old for old in list_checkpoints(directory) if int(old.name[5:]) % every == 0]
    for old in set(list_checkpoints(directory)) - set(regular[-keep:]) - {path}:
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
        raise _damaged(path, error) from None
    return state


def load_weights(checkpoint: Path) -> dict[str, Tensor]:
    try:
        return load_file(checkpoint / "weights.safetensors")
    except (OSError, SafetensorError) as error:
        raise _damaged(checkpoint, error) from None


def _damaged(checkpoint: Path, error: Exception) -> TrainingError:
    problem = f"The checkpoint {checkpoint} is damaged: {error}."
    return TrainingError(problem, "Delete it, and run the same command again: it goes on from the one before.")


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
