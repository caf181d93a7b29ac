"""What a run needs to go on exactly: weights, the optimiser's memory, and where it stood.

Nothing random is kept: dropout, order and subword sampling are drawn from (seed, step, process) and (seed, epoch).
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from headway.atomic import new_directory
from headway.errors import TrainingError
from headway.training.choices import Budget

WEIGHTS, MOMENTS, AVERAGE, STATE = "weights.safetensors", "optimizer.safetensors", "average.safetensors", "state.json"


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
    valid_loss: float | None = None  # the lowest so far
    stale: int = 0  # validations since the metric or the loss was better than ever before
    loss: float = 0.0  # sum over the predictions judged since the last report
    judged: int = 0
    watched: float = 0.0  # the same since the last look at whether it exploded
    watched_judged: int = 0
    lowest: float | None = None  # mean loss of the best look so far
    setbacks: int = 0  # times that the loss exploded; each halved the rate
    splits: int = 1  # passes that each pass is cut into, since memory ran out

    @property
    def regular(self) -> bool:
        """Whether a checkpoint is due by itself, and not only because the run stops here; whatever budgets come later."""
        return self.budget is not None and self.step % self.budget.checkpoint_every == 0


class Checkpoint(NamedTuple):
    state: State
    weights: dict[str, Tensor]
    moments: dict[str, Tensor]
    average: dict[str, Tensor]  # a moving one of the weights; empty where there is none


def save_checkpoint(directory: Path, checkpoint: Checkpoint, keep: int) -> Path:
    """Write checkpoints/step-N whole, then prune: the newest `keep` of the regular ones stay, and this one.

    One that an interruption made goes with the next, so that a run that was interrupted averages the same checkpoints.
    """
    state, weights, moments, average = checkpoint
    path = directory / f"step-{state.step:08d}"
    contents = {WEIGHTS: save(weights), MOMENTS: save(moments), **({AVERAGE: save(average)} if average else {})}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    with new_directory(path) as new:
        for name, content in contents.items():
            (new / name).write_bytes(content)
        (new / STATE).write_text(json.dumps({**asdict(state), "sha256": sums}, indent=2) + "\n")
    regular = [old for old in list_checkpoints(directory) if _is_regular(old)]
    for old in set(list_checkpoints(directory)) - set(regular[-keep:]) - {path}:
        shutil.rmtree(old)
    return path


def list_checkpoints(directory: Path) -> list[Path]:
    """Oldest first. All are whole, unless something else than Headway wrote to them."""
    return sorted(path for path in directory.glob("step-*") if re.fullmatch(r"step-\d+", path.name))


def newest_whole(directory: Path, say: Callable[[str], None], *, regular: bool = False, upto: int | None = None) -> Path | None:
    """The checkpoint to go on from, or to go back to, which is a `regular` one; damaged ones that are newer are named."""
    damaged = ""
    for path in reversed(list_checkpoints(directory)):
        if upto is not None and int(path.name[5:]) > upto:
            continue
        try:
            found = read_checkpoint(path).state
        except TrainingError as error:
            damaged = error.problem
            say(damaged)
        else:
            if found.regular or not regular:
                return path
    if damaged:
        raise TrainingError(f"{damaged} There is no whole one.", "Delete the run's directory, and start it anew.")
    return None


def read_checkpoint(path: Path) -> Checkpoint:
    try:
        content = json.loads((path / STATE).read_text())
        sums = content.pop("sha256")
        for name, wanted in sums.items():
            with (path / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
                    raise ValueError(f"{name} is not what was written")
        state = _parse_state(content)
        average = load_file(path / AVERAGE) if AVERAGE in sums else {}
        return Checkpoint(state, load_file(path / WEIGHTS), load_file(path / MOMENTS), average)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, SafetensorError) as error:
        raise _damaged(path, error) from None


def _parse_state(content: dict[str, Any]) -> State:
    budget = content.pop("budget")
    return State(**content, budget=Budget(**budget) if budget else None)


def _is_regular(checkpoint: Path) -> bool:
    """By its own word; one that cannot be read is none."""
    try:
        content = json.loads((checkpoint / STATE).read_text())
        del content["sha256"]
        return _parse_state(content).regular
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def load_judged_weights(checkpoint: Path) -> dict[str, Tensor]:
    """What was validated and kept as the model: the moving average where there is one, else the weights."""
    try:
        return load_file(checkpoint / (AVERAGE if (checkpoint / AVERAGE).exists() else WEIGHTS))
    except (OSError, SafetensorError) as error:
        raise _damaged(checkpoint, error) from None


def _damaged(checkpoint: Path, error: Exception) -> TrainingError:
    return TrainingError(f"The checkpoint {checkpoint} is damaged: {error}.", "Delete it, and run the same command again.")
