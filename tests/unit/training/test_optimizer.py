"""Equation 3 and the other schedules, as functions of the step."""

import pytest
import torch

from headway.config import TrainingSettings
from headway.training.optimizer import build_adam, cosine, inverse_sqrt, learning_rate, linear, paper


def test_the_papers_schedule():
    assert paper(1, d_model=512, warmup=4000) == pytest.approx(512**-0.5 * 4000**-1.5)
    assert paper(4000, d_model=512, warmup=4000) == pytest.approx(512**-0.5 * 4000**-0.5)
    assert paper(16_000, d_model=512, warmup=4000) == pytest.approx(paper(4000, d_model=512, warmup=4000) / 2)


@pytest.mark.parametrize("fall", [cosine, linear])
def test_schedules_that_end_at_zero(fall):
    rates = [fall(step, peak=1.0, warmup=10, total=100) for step in range(1, 102)]
    assert rates[4] == pytest.approx(0.5)
    assert max(rates) == rates[9] == 1.0
    assert rates[9:] == sorted(rates[9:], reverse=True)
    assert 0 < rates[99] < 0.02  # the last update still moves
    assert rates[100] == pytest.approx(0.0)


def test_inverse_square_root():
    assert inverse_sqrt(50, peak=1.0, warmup=100) == pytest.approx(0.5)
    assert inverse_sqrt(400, peak=1.0, warmup=100) == pytest.approx(0.5)


@pytest.mark.parametrize("schedule", ["paper", "inverse-sqrt", "cosine", "linear"])
def test_no_warmup_is_no_crash(schedule):
    settings = TrainingSettings(schedule=schedule, learning_rate=0.1)
    assert learning_rate(settings, 1, d_model=16, warmup=0, total=10) == pytest.approx(0.1, rel=0.11)


def test_the_paper_schedule_with_a_peak_of_ones_own():
    settings = TrainingSettings(schedule="paper", learning_rate=0.2)
    assert learning_rate(settings, 100, d_model=16, warmup=100, total=10**6) == pytest.approx(0.2)


def test_adam_has_the_papers_constants():
    adam = build_adam([__import__("torch").nn.Parameter(__import__("torch").zeros(1))])
    assert (adam.defaults["betas"], adam.defaults["eps"]) == ((0.9, 0.98), 1e-9)


@pytest.mark.parametrize("gradient", [1e-5, 1.0, -1e3])
def test_adams_first_update_is_as_large_as_the_rate_whatever_the_gradient(gradient):
    weight = torch.nn.Parameter(torch.zeros(1))
    adam = build_adam([weight])
    adam.param_groups[0]["lr"] = 0.01
    weight.grad = torch.tensor([gradient])
    adam.step()
    assert weight.item() == pytest.approx(-0.01 if gradient > 0 else 0.01, rel=1e-3)
