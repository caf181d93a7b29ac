"""A checkpoint is read back as it was written, or named as damaged."""

from pathlib import Path

import pytest
import torch

from headway.errors import TrainingError
from headway.training.choices import Budget
from headway.training.state import (
    Checkpoint,
    State,
    list_checkpoints,
    load_judged_weights,
    newest_whole,
    read_checkpoint,
    save_checkpoint,
)


@pytest.mark.parametrize("average", [{}, {"w": torch.full((2,), 0.5)}], ids=["without an average", "with one"])
def test_what_is_saved_is_read_back(tmp_path: Path, average: dict[str, torch.Tensor]):
    checkpoint = Checkpoint(State(step=3), {"w": torch.ones(2)}, {"exp_avg/w": torch.zeros(2)}, average)
    path = save_checkpoint(tmp_path, checkpoint, keep=1)
    found = read_checkpoint(path)
    assert found.state == checkpoint.state
    torch.testing.assert_close(found[1:], checkpoint[1:])
    torch.testing.assert_close(load_judged_weights(path), average or checkpoint.weights)


@pytest.mark.parametrize("name", ["weights", "optimizer", "average"])
def test_a_file_that_changed_is_named(tmp_path: Path, name: str):
    tensors = {"w": torch.ones(2)}
    path = save_checkpoint(tmp_path, Checkpoint(State(step=3), tensors, tensors, tensors), keep=1)
    damaged = path / f"{name}.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    with pytest.raises(TrainingError, match=f"{name}.safetensors is not what was written"):
        read_checkpoint(path)


def test_a_larger_budget_leaves_the_checkpoints_that_were_due_before_it(tmp_path: Path):
    """Each is regular by the interval that it was made with: the first budget has 20 updates and one every 6, the second 60 and
    one every 7; at 9 and 23 there were interruptions, and 20 is where the first one ended.
    """
    first, second = Budget(20, 0, 6, 6), Budget(60, 0, 7, 7)
    made = [(6, first), (9, first), (12, first), (18, first), (20, first), (21, second), (23, second)]
    for step, budget in made:
        save_checkpoint(tmp_path, Checkpoint(State(step=step, budget=budget), {"w": torch.ones(2)}, {}, {}), keep=4)
    assert [int(path.name[5:]) for path in list_checkpoints(tmp_path)] == [6, 12, 18, 21, 23]

    def newest(**which: int | bool) -> str:
        found = newest_whole(tmp_path, print, **which)
        assert found
        return found.name

    assert newest() == "step-00000023"
    assert newest(regular=True) == "step-00000021"
    assert newest(regular=True, upto=20) == "step-00000018"
