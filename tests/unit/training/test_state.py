"""A checkpoint is read back as it was written, or named as damaged."""

from pathlib import Path

import pytest
import torch

from headway.errors import TrainingError
from headway.training.state import Checkpoint, State, load_judged_weights, read_checkpoint, save_checkpoint


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
