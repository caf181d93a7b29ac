"""The word that is said of a comparison."""

import pytest

from headway.cli.evaluated import judge
from headway.evaluation.evaluation import Comparison, Metric


@pytest.mark.parametrize(
    ("metric", "difference", "bootstrap", "randomisation", "word"),
    [
        ("bleu", 1.0, 0.001, 0.002, "better (p = 0.0010 by bootstrap, 0.0020 by randomisation)"),
        ("bleu", -1.0, 0.001, 0.002, "worse (p = "),
        ("ter", -1.0, 0.001, None, "better (p = 0.0010 by bootstrap)"),
        ("ter", 1.0, 0.001, 0.002, "worse (p = "),
        ("chrf", 1.0, 0.001, 0.06, "no clear difference (p = "),
        ("chrf", 1.0, None, None, "not tested"),
        ("chrf", 0.0, None, None, "equal"),
    ],
)
def test_better_needs_every_test(
    metric: Metric, difference: float, bootstrap: float | None, randomisation: float | None, word: str
) -> None:
    assert judge(Comparison("other", metric, difference, (0.0, 2.0), bootstrap, randomisation)).startswith(word)
