"""The verdict on a comparison, and its words."""

import pytest

from headway.evaluation.evaluation import Comparison
from headway.evaluation.metrics import Metric

INTERVAL = (0.0, 2.0)


@pytest.mark.parametrize(
    ("metric", "difference", "interval", "bootstrap", "randomisation", "told"),
    [
        ("bleu", 1.0, INTERVAL, 0.001, 0.002, "better (p = 0.0010 by bootstrap, p = 0.0020 by randomisation)"),
        ("bleu", -1.0, INTERVAL, 0.001, 0.00002, "worse (p = 0.0010 by bootstrap, p < 0.0001 by randomisation)"),
        ("ter", -1.0, INTERVAL, 0.001, None, "better (p = 0.0010 by bootstrap)"),
        ("ter", 1.0, INTERVAL, 0.001, None, "worse (p = 0.0010 by bootstrap)"),
        ("chrf", 1.0, INTERVAL, 0.001, 0.05, "no clear difference (p = 0.0010 by bootstrap, p = 0.0500 by randomisation)"),
        ("chrf", 1.0, INTERVAL, None, None, "not tested (too few sentences differ)"),
        ("chrf", 1.0, None, None, None, "not tested (too few sentences)"),
        ("chrf", 0.0, INTERVAL, None, None, "equal"),
        ("chrf", 0.0, None, None, None, "equal"),
    ],
)
def test_better_needs_every_test(
    metric: Metric,
    difference: float,
    interval: tuple[float, float] | None,
    bootstrap: float | None,
    randomisation: float | None,
    told: str,
) -> None:
    comparison = Comparison("other", metric, difference, interval, bootstrap, randomisation)
    assert comparison.tell_verdict() == told
    assert comparison.verdict == told.partition(" (")[0]
