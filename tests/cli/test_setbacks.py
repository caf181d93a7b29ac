"""What goes wrong within a run and need not end it: a loss that explodes, memory that runs out."""

import json
import math
import re
from pathlib import Path

import pytest
import torch
from conftest import train_command

from headway.data.batching import Batch
from headway.models.transformer import Transformer
from headway.training import loss as losses
from headway.training.optimizer import linear

MORE = ("--max-steps", 40, "--valid-every", 10, "--dropout", 0, "--warmup", 5, "--metric", "loss", "--learning-rate", 0.01)


def state_of(run: Path, step: int = 40) -> dict:
    return json.loads((run / "checkpoints" / f"step-{step:08d}" / "state.json").read_text())


def rates(run: Path) -> dict[int, float]:
    reports = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {report["step"]: report["learning_rate"] for report in reports}


def break_passes(monkeypatch: pytest.MonkeyPatch, broken: set[int], how) -> None:
    """The loss of the given passes, counted from 1 over the whole run, is what `how` makes of it."""
    compute, passes = losses.batch_loss, [0]

    def batch_loss(model: Transformer, batch: Batch, smoothing: float) -> torch.Tensor:
        loss = compute(model, batch, smoothing)
        if model.training:
            passes[0] += 1
            if passes[0] in broken:
                return how(loss)
        return loss

    monkeypatch.setattr(losses, "batch_loss", batch_loss)


@pytest.mark.parametrize(
    ("broken", "how", "told", "to"),
    [
        ({26}, lambda loss: loss * math.nan, "the loss is nan: back to update 20", 20),
        ({4}, lambda loss: loss * math.inf, "the loss is inf: back to the beginning", 0),
        ({25, 26}, lambda loss: loss * 1000, "the loss rose to [0-9.]+, from [0-9.]+: back to update 20", 20),
    ],
)
def test_a_loss_that_explodes_sets_the_run_back_with_half_the_rate(
    tmp_path: Path, corpus: Path, headway, monkeypatch: pytest.MonkeyPatch, broken: set[int], how, told: str, to: int
):
    assert headway(*train_command(corpus, tmp_path / "whole", *MORE)).code == 0
    break_passes(monkeypatch, broken, how)
    result = headway(*train_command(corpus, tmp_path / "run", *MORE))
    assert result.code == 0, result.err
    assert len(re.findall(told, result.err)) == 1
    assert state_of(tmp_path / "run")["setbacks"] == 1
    before, now = rates(tmp_path / "whole"), rates(tmp_path / "run")
    assert list(now) == list(before)
    for step, rate in now.items():
        assert rate == pytest.approx(before[step] * (0.5 if step > to else 1))


def test_after_a_setback_a_run_goes_on_where_it_was_set_back(
    tmp_path: Path, corpus: Path, headway, monkeypatch: pytest.MonkeyPatch
):
    """The half rate is part of the state."""
    with monkeypatch.context() as context:
        break_passes(context, {14}, lambda loss: loss * math.nan)
        assert headway(*train_command(corpus, tmp_path / "run", *MORE, "--max-steps", 20)).code == 0
    assert state_of(tmp_path / "run", 20)["setbacks"] == 1
    result = headway(*train_command(corpus, tmp_path / "run", *MORE))
    assert result.code == 0 and "Going on from update 20" in result.err
    assert state_of(tmp_path / "run")["setbacks"] == 1
    usual = linear(30, peak=0.01, warmup=5, total=40)
    assert rates(tmp_path / "run")[30] == pytest.approx(usual / 2)


def test_a_setback_within_a_larger_budget_goes_back_no_further_than_it_must_and_keeps_that_budget(
    tmp_path: Path, corpus: Path, headway, monkeypatch: pytest.MonkeyPatch
):
    """The first budget saves every update, the second every third one, of which 20 is none."""
    few = [word for word in MORE if word not in ("--valid-every", 10)]
    assert headway(*train_command(corpus, tmp_path / "run", *few, "--max-steps", 20)).code == 0
    break_passes(monkeypatch, {1}, lambda loss: loss * math.nan)
    result = headway(*train_command(corpus, tmp_path / "run", *few, "--max-steps", 60))
    assert result.code == 0, result.err
    assert "update     21  the loss is nan: back to update 20" in result.err
    assert state_of(tmp_path / "run", 60)["asked"]["max_steps"] == 60
    assert rates(tmp_path / "run")[30] == pytest.approx(linear(30, peak=0.01, warmup=5, total=60) / 2)


def test_memory_that_never_suffices_is_said(tmp_path: Path, corpus: Path, headway, monkeypatch: pytest.MonkeyPatch):
    def batch_loss(model: Transformer, batch: Batch, smoothing: float) -> torch.Tensor:
        raise torch.OutOfMemoryError("not enough memory")

    monkeypatch.setattr(losses, "batch_loss", batch_loss)
    result = headway(*train_command(corpus, tmp_path / "run", *MORE))
    assert result.code == 1 and "Traceback" not in result.err
    assert "each pass is computed in 2 parts" in result.err and "each pass is computed in 32 parts" in result.err
    assert "not even for a pass of one pair" in result.err and "--recompute" in result.err
