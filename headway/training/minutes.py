"""A budget in minutes, turned into updates: after a start long enough to know what an update and a validation take here."""

from headway.config import TrainingSettings
from headway.training.choices import VALIDATIONS, Budget, choose_budget

MEASURED = 0.05  # of a budget in minutes: until then updates are timed, but for a minute at most
VALIDATION_SHARE = 0.1  # of the time, at most
UNKNOWN = 10**9  # updates


def is_measured(training: TrainingSettings, updates: int, seconds: float) -> bool:
    """Whether so many updates in so many seconds tell enough; where they are slow, few must do."""
    assert training.max_minutes
    allowed = 60 * training.max_minutes
    return (updates >= 20 and seconds >= min(60.0, MEASURED * allowed)) or (updates >= 3 and seconds >= 0.2 * allowed)


def turn_into_updates(
    training: TrainingSettings, step: int, known: int | None, *, left: float, update: float, validation: float
) -> tuple[int, Budget]:
    """What the seconds that are `left` after `step` come to, with the seconds that an update and a validation take: all updates
    of the run, and its budget, which is no more than what is `known` from others.
    """
    if training.valid_every:
        more = left / (update + validation / training.valid_every)
        validations = VALIDATIONS
    else:
        validations = int(min(VALIDATIONS, max(1.0, VALIDATION_SHARE * left / validation)))
        more = (left - validations * validation) / update
    total = step + max(1, round(more))
    return total, choose_budget(training, min(total, known or total), validations)


def guess_updates(training: TrainingSettings, known: int | None, step: int, seconds: float) -> int:
    """What minutes may come to while they are being measured: no more than other budgets allow, and as many a minute as there
    were in the `seconds` until `step`; in a new run nobody knows, and the rate does not fall yet.
    """
    minutes = training.max_minutes
    before = max(step + 1, round(step * 60 * minutes / seconds)) if minutes and seconds else UNKNOWN
    return min(before, known or UNKNOWN)
