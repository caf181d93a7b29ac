"""The published kind of BLEU: case and the tokenizer's cuts do not count, words do."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def score(monkeypatch: pytest.MonkeyPatch) -> Callable[..., float]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("moses_bleu").score


def test_case_and_punctuation_that_moses_cuts_off_do_not_count(score: Callable[..., float]):
    pytest.importorskip("sacremoses")
    references = ["Ein Hund läuft schnell über die Wiese, und bellt."]
    assert score(["ein hund läuft schnell über die wiese , und bellt ."], references, "de") == pytest.approx(100)
    assert score(["ein hund läuft langsam über die wiese, und bellt."], references, "de") < 80


def test_a_line_too_few_is_refused(score: Callable[..., float]):
    with pytest.raises(SystemExit, match="1 translations and 2 references"):
        score(["a"], ["a", "b"], "de")
