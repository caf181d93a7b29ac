import pytest

from headway.config import TrainingSettings
from headway.training.minutes import guess_updates, is_measured, turn_into_updates


@pytest.mark.parametrize(
    ("minutes", "updates", "seconds", "enough"),
    [
        (10, 20, 29.0, False),
        (10, 20, 30.0, True),
        (10, 19, 60.0, False),
        (100, 50, 59.0, False),
        (100, 50, 60.0, True),
        (1, 3, 12.0, True),
    ],
)
def test_a_twentieth_of_the_minutes_is_measured_but_a_minute_at_most(
    minutes: float, updates: int, seconds: float, enough: bool
):
    assert is_measured(TrainingSettings(max_minutes=minutes), updates, seconds) is enough


def test_validations_take_a_tenth_of_the_minutes_at_most():
    training = TrainingSettings(max_minutes=10)
    total, budget = turn_into_updates(training, 50, None, left=500.0, update=0.5, validation=10.0)
    assert total == budget.total == 50 + (500 - 5 * 10) / 0.5
    assert budget.valid_every == total / 5
    total, budget = turn_into_updates(training, 50, None, left=500.0, update=0.5, validation=0.1)
    assert total == 50 + (500 - 25 * 0.1) / 0.5 and budget.valid_every == -(-total // 25)


def test_validations_that_are_asked_for_are_paid_and_other_budgets_bound_the_minutes():
    training = TrainingSettings(max_minutes=10, valid_every=10)
    assert turn_into_updates(training, 0, None, left=600.0, update=0.5, validation=5.0)[0] == 600
    total, budget = turn_into_updates(training, 0, 200, left=600.0, update=0.5, validation=5.0)
    assert (total, budget.total) == (600, 200)
    assert turn_into_updates(training, 70, None, left=0.0, update=0.5, validation=5.0)[0] == 71


@pytest.mark.parametrize(
    ("known", "step", "seconds", "guessed"),
    [(None, 20, 30.0, 40), (35, 20, 30.0, 35), (None, 20, 90.0, 21), (35, 0, 0.0, 35), (None, 0, 0.0, 10**9)],
)
def test_while_a_minute_is_measured_it_is_guessed_from_the_minutes_before(
    known: int | None, step: int, seconds: float, guessed: int
):
    assert guess_updates(TrainingSettings(max_minutes=1), known, step, seconds) == guessed
