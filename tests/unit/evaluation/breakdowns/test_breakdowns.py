"""Each breakdown counts what it says, on sentences that can be checked by eye."""

import numpy as np
import pytest

from headway.evaluation.breakdowns.faults import break_by_omission, break_by_repetition, find_repeats
from headway.evaluation.breakdowns.kept import break_by_names, break_by_numbers
from headway.evaluation.breakdowns.lengths import break_by_length, choose_edges
from headway.evaluation.breakdowns.rare import break_by_rarity
from headway.evaluation.evaluation import Breakdown, System
from headway.evaluation.metrics import chrf
from headway.evaluation.statistics import extract


def read(breakdown: Breakdown | None) -> dict[str, tuple[int, list[float | None]]]:
    assert breakdown
    return {bucket.name: (bucket.count, bucket.values) for bucket in breakdown.buckets}


def test_length() -> None:
    references = ["one two three"] * 4 + ["one two three four five six seven eight nine ten eleven"] * 4
    output = ["one two three"] * 4 + ["one two three"] * 4
    found = read(break_by_length([references], [extract([output], [references])]))
    assert found == {
        "under 5 words": (4, [pytest.approx(100)]),
        "5 and more words": (4, [chrf(output[4:], [references[4:]])]),
    }


def test_lengths_are_divided_at_round_numbers_and_no_part_is_empty() -> None:
    lengths = np.random.default_rng(1).integers(2, 60, 500)
    edges = choose_edges(lengths)
    assert len(edges) == 4 and all(edge % 5 == 0 for edge in edges)
    assert np.histogram(lengths, [0, *edges, 1000])[0].min() > 0
    assert choose_edges(np.array([7, 7, 7])) == []
    assert choose_edges(np.array([3])) == []


def test_rare_words() -> None:
    training = ["the dog"] * 100 + ["the cat"] * 4 + ["a dog"]
    systems = [System("one", [["the the wombat"]]), System("two", [["the cat dog"], ["nothing"]])]
    found = read(break_by_rarity(systems, [["the the cat wombat"]], training, lowercase=False))
    assert found["never seen"] == (1, [100, 0])
    assert found["1–4 times"] == (1, [0, 50])
    assert found["100 times and more"] == (2, [100, 25])
    assert found["20–99 times"] == (0, [None, None])


def test_rare_words_of_the_reference_that_is_nearest() -> None:
    found = read(break_by_rarity([System("one", [["x y"]])], [["a b"], ["x z"]], [], lowercase=False))
    assert found["never seen"] == (2, [50])


def test_rare_words_that_only_one_seed_is_asked_for() -> None:
    training = ["a b"] * 200
    found = read(break_by_rarity([System("one", [["a b"], ["x z"]])], [["a b"], ["x y"]], training, lowercase=False))
    assert found["100 times and more"] == (2, [100]) and found["never seen"] == (0, [50])


def test_numbers() -> None:
    systems = [System("one", [["1.000 Hunde, 5 Katzen", "2012"]]), System("two", [["1000", "2021"]])]
    references = ["1.000 Hunde und 5 Katzen", "Im Jahr 2012"]
    found = break_by_numbers(systems, [references], ["1,000 dogs and 5 cats", "Twelve years ago"])
    assert read(found) == {"1 digit": (1, [100, 0]), "4 and more digits": (1, [100, 100])}
    assert read(break_by_numbers(systems, [references], None))["4 and more digits"] == (2, [100, 50])
    assert break_by_numbers(systems, [["keine", "keine"]], None) is None
    decimals = break_by_numbers([System("one", [["3.5 m"], ["35 m"]])], [["3,5 m"]], ["3.5 m"])
    assert read(decimals) == {"2–3 digits": (1, [50])}


def test_names() -> None:
    sources, references = ["Yesterday Anna saw Bob.", "She slept."], ["Gestern sah Anna den Bob.", "Sie schlief."]
    systems = [System("one", [["Gestern sah Anna ihn.", "Anna schlief."]]), System("two", [["gestern sah anna bob", ""]])]
    assert read(break_by_names(systems, [references], sources, lowercase=False)) == {"names": (2, [50, 0])}
    assert read(break_by_names(systems, [references], sources, lowercase=True)) == {"names": (2, [50, 100])}
    assert break_by_names(systems, [["x", "y"]], sources, lowercase=False) is None
    twice = [System("one", [["the apple"]]), System("two", [["apple, APPLE"]])]
    found = break_by_names(twice, [["Bei Apple und APPLE"]], ["At Apple and APPLE"], lowercase=True)
    assert read(found) == {"names": (2, [50, 100])}


def test_repeats() -> None:
    assert find_repeats("the the dog") == {("the",)}
    assert find_repeats("no no no") == {("no",)}
    assert find_repeats("on and on and off") == {("on", "and")}
    assert find_repeats("a dog is a dog") == set()


def test_repetition_that_the_reference_has_is_none() -> None:
    references = [["sehr sehr gut", "gut", "gut", "gut"]]
    output = ["Sehr sehr gut", "gut gut", "das ist das ist gut", "gut"]
    assert read(break_by_repetition([System("one", [output])], references)) == {
        "one word twice": (4, [25]),
        "several words twice": (4, [25]),
    }


def test_omission() -> None:
    references = [["a long sentence here", "a long sentence here", "a long sentence here", "Yes indeed", ""]]
    output = ["a long sentence", "a", " ", "Yes", ""]
    assert read(break_by_omission([System("one", [output])], references)) == {
        "empty": (4, [25]),
        "under half as long": (4, [25]),
    }
    assert break_by_omission([System("one", [[""]])], [[""]]) is None
