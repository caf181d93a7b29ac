"""Parts of a corpus as trainings: what each is given, and when their scores foretell nothing."""

import pytest

from headway.config import TrainingSettings
from headway.experiments.learning_curve import is_too_early, shorten


@pytest.mark.parametrize(
    ("given", "shortened"),
    [
        ({}, {"max_steps": 500}),
        ({"max_steps": 800, "warmup": 400, "valid_every": 3}, {"max_steps": 100, "warmup": 50, "valid_every": 1}),
        ({"max_minutes": 60}, {"max_minutes": 7.5}),
        ({"max_minutes": 60, "max_steps": 80}, {"max_minutes": 7.5, "max_steps": 10}),
        ({"max_epochs": 3}, {}),  # of an eighth, they are an eighth
        ({"max_epochs": 3, "warmup": 0}, {}),
    ],
)
def test_an_eighth_of_the_text_gets_an_eighth_of_the_budget(given: dict, shortened: dict):
    assert shorten(TrainingSettings(**given), 1 / 8, 4000) == shortened


@pytest.mark.parametrize(
    ("bleu", "early"), [((0.0, 0.0, 0.0), True), ((0.2, 0.9, 8.0), True), ((0.2, 2.0, 9.0), False), ((9.0, 8.0, 0.5), False)]
)
def test_one_model_that_translates_is_no_curve(bleu: tuple[float, ...], early: bool):
    assert is_too_early(bleu) is early
