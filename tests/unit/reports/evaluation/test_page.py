"""The page of an evaluation holds what the evaluation holds."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from evaluations import HOSTILE, make_evaluation, make_result

from headway.evaluation.evaluation import Breakdown, Bucket, Comparison
from headway.evaluation.metrics import Score, Scores
from headway.reports.evaluation.page import show, tell_comparison, write_evaluation


def compare(difference: float = 2.0, metric: str = "bleu", **others: object) -> str:
    given = {"interval": (0.5, 3.5), "bootstrap_p": 0.01, "randomisation_p": 0.02} | others
    return tell_comparison(Comparison("new", metric, difference, **given), "old")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            compare(),
            ["new has 2.00 BLEU more than old (95 % interval +0.50 to +3.50): better (p = 0.0100 by bootstrap, p = "],
        ),
        (compare(-2.0), ["2.00 BLEU less", ": worse"]),
        (compare(-2.0, "ter"), ["2.00 TER less", ": better"]),
        (compare(2.0, "ter"), ["2.00 TER more", ": worse"]),
        (compare(bootstrap_p=0.3, randomisation_p=0.4), ["no clear difference (p = 0.3000 by"]),
        (compare(bootstrap_p=0.04, randomisation_p=0.06), ["no clear difference (p = 0.0400 by"]),
        (compare(interval=None, bootstrap_p=None, randomisation_p=None), ["than old: not tested (too few sentences)."]),
        (compare(bootstrap_p=None, randomisation_p=None), ["not tested (too few sentences differ)."]),
        (compare(0.0), ["new and old have the same BLEU."]),
    ],
)
def test_a_comparison_in_words(told: str, words: list[str]) -> None:
    assert [word for word in words if word.lower() not in told.lower()] == []


def test_whiskers_reach_as_far_as_the_interval() -> None:
    shown = show(make_evaluation(make_result("one", 30.0)))
    bleu = shown["metrics"][0]
    (row,) = bleu["rows"]
    left, width = row.span
    track = bleu["track"]
    assert (left, left + width) == pytest.approx((track.at(28.5), track.at(31.5)))
    assert row.at == pytest.approx(track.at(30.0)) and row.value == "30.00" and row.more == "28.50 to 31.50"


def test_seeds_are_told_by_mean_and_spread() -> None:
    shown = show(make_evaluation())
    one, three = shown["metrics"][0]["rows"]
    assert not one.seeds and len(three.seeds) == 3
    assert three.value == "34.00" and three.more == "± 0.75 over 3 seeds"


def test_colours_of_the_page_around_it() -> None:
    shown = show(make_evaluation(), [5, 11])
    assert [one["colour"] for one in shown["systems"]] == [5, 3]
    assert [row.colour for row in shown["comparisons"][0]["rows"]] == [3]


def test_the_page_is_one_file_with_everything_escaped(tmp_path: Path) -> None:
    page = write_evaluation(make_evaluation(), tmp_path / "page.html", title=f"Title {HOSTILE}")
    content = page.read_text(encoding="utf-8")
    assert "</script>" not in content and "&lt;/script&gt;" in content
    assert not re.search(r"""(src|href)=|url\(|@import""", content)
    assert "default-src 'none'" in content and "script-src" not in content  # there is no script
    for told in (
        "31.25",
        "34.00",
        "29.75 to 32.75",
        "412",
        "62.5",
        "12,345",
        "line 1,200",
        "One reference is empty.",
        "nrefs:1|nc:6",
    ):
        assert told in content


def test_one_system_has_no_comparison(tmp_path: Path) -> None:
    page = write_evaluation(make_evaluation(make_result("one", 30.0)), tmp_path / "page.html", title="one")
    assert "is it chance" not in page.read_text(encoding="utf-8")


def test_bleu_of_split_compounds_is_told_once(tmp_path: Path) -> None:
    results = [
        replace(make_result(name, bleu), compound_split=Score(28.4, "")) for name, bleu in (("one", 30.0), ("two", 20.0))
    ]
    page = write_evaluation(make_evaluation(*results), tmp_path / "page.html", title="both")
    content = page.read_text(encoding="utf-8")
    assert content.count("With compounds split at hyphens") == 1 and content.count("<b>28.40</b> for") == 2
    assert "higher" not in content.partition("With compounds split")[2].partition("</p>")[0]


def test_what_is_few_is_marked() -> None:
    few = Breakdown("names", "Names", "All names.", "% kept", "names", True, [Bucket("a", 19, [50.0]), Bucket("b", 20, [50.0])])
    shown = show(replace(make_evaluation(make_result("one", 30.0)), breakdowns=[few]))
    assert [one["few"] for one in shown["breakdowns"][0]["buckets"]] == [True, False]


def test_without_intervals_none_are_spoken_of(tmp_path: Path) -> None:
    result = make_result("one", 30.0)
    scores = [Scores(*(replace(score, interval=None) for _, score in one.named())) for one in result.scores]
    result = replace(result, scores=scores, interval=dict.fromkeys(result.mean))
    page = write_evaluation(make_evaluation(result), tmp_path / "page.html", title="one")
    content = page.read_text(encoding="utf-8")
    assert "30.00" in content and "95 % interval" not in content and 'class="whisker"' not in content
