import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from headway.data import split as splitting
from headway.data.split import DigestCollector, Digests, among, cut, default_held_out, digest
from headway.errors import DataError

NOTHING = np.empty(0, np.uint64)
Pairs = list[tuple[str, str]]


def digests(pairs: Pairs) -> Digests:
    collector = DigestCollector()
    for pair in pairs:
        collector.add(*pair)
    return collector.finish()


def distinct(count: int) -> Pairs:
    return [(f"source {i}", f"target {i}") for i in range(count)]


def parts(pairs: Pairs, *, valid: int = 5, test: int = 5) -> tuple[set[tuple[str, str]], ...]:
    split = cut(digests(pairs), valid=valid, test=test, apart_from=NOTHING)
    left = np.ones(len(pairs), bool)
    left[split.valid] = left[split.test] = False
    left &= ~split.leaking
    return tuple({pairs[i] for i in rows} for rows in (split.valid, split.test, np.flatnonzero(left)))


def sentences(pairs: set[tuple[str, str]]) -> set[str]:
    return {sentence for pair in pairs for sentence in pair}


def test_the_cut_depends_on_contents_not_on_order() -> None:
    pairs = distinct(100)
    shuffled = random.Random(3).sample(pairs, len(pairs))
    assert parts(pairs) == parts(shuffled)
    assert [len(part) for part in parts(pairs)] == [5, 5, 90]


@pytest.mark.parametrize("seed", range(20))
def test_no_sentence_stands_in_two_parts(seed: int) -> None:
    draw = random.Random(seed)  # few distinct sentences, and some that stand on both sides
    pairs = [(f"s{draw.randrange(40)}", f"{draw.choice('st')}{draw.randrange(40)}") for _ in range(60)]
    valid, test, train = (sentences(part) for part in parts(pairs, valid=3, test=3))
    assert valid and test
    assert valid.isdisjoint(test) and valid.isdisjoint(train) and test.isdisjoint(train)


def test_pairs_that_occur_once_are_held_out_first() -> None:
    pairs = [*distinct(10), *[("hello", f"hallo {i}") for i in range(50)]]
    assert [len(part) for part in parts(pairs, valid=4, test=4)] == [4, 4, 52]


@pytest.mark.parametrize("distinct_sentences", [20, 150, 1_000, 10_000])
def test_the_cut_is_that_of_ranking_all_pairs(distinct_sentences: int) -> None:
    """Only the first few by hash are looked at, if they hold enough pairs that occur once; the result must be the same."""
    draw = random.Random(distinct_sentences)
    pairs = [(f"s{draw.randrange(distinct_sentences)}", f"t{draw.randrange(distinct_sentences)}") for _ in range(500)]
    collector = DigestCollector()
    for pair in pairs:
        collector.add(*pair, usable=draw.random() < 0.9, eligible=draw.random() < 0.9)
    rows = collector.finish()
    counts = Counter([*rows.source[rows.usable].tolist(), *rows.target[rows.usable].tolist()])

    def rank(row: int) -> tuple[int, int]:
        source, target = int(rows.source[row]), int(rows.target[row])
        return counts[source] + counts[target], (source * 0x9E3779B97F4A7C15 + target) % 2**64

    chosen: list[int] = []
    for row in sorted(np.flatnonzero(rows.eligible).tolist(), key=rank):
        if len(chosen) < 6 and not any(set(pairs[row]) & set(pairs[other]) for other in chosen):
            chosen.append(row)
    split = cut(rows, valid=3, test=3, apart_from=NOTHING)
    assert [split.valid.tolist(), split.test.tolist()] == [chosen[1::2], chosen[::2]]


@pytest.mark.parametrize("part", [7, 1_000])
def test_among_is_isin(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "PART", part)
    draw = np.random.default_rng(1)
    values = draw.integers(0, 50, 100).astype(np.uint64)
    for wanted in (NOTHING, values[:1], draw.integers(0, 90, 20).astype(np.uint64), np.array([2**64 - 1], np.uint64)):
        assert among(values, wanted).tolist() == np.isin(values, wanted).tolist()


def test_leaking_pairs_are_marked() -> None:
    pairs = [("a", "A"), ("a", "B"), ("c", "A"), ("d", "D"), ("A", "x")]
    rows = digests(pairs)
    only_first = replace(rows, eligible=np.arange(5) == 0)
    split = cut(only_first, valid=0, test=1, apart_from=NOTHING)
    assert split.test.tolist() == [0] and split.valid.tolist() == []
    assert split.leaking.tolist() == [False, True, True, False, True]


def directed(ways: list[Pairs]) -> Digests:
    collector = DigestCollector()
    for direction, pairs in enumerate(ways):
        for pair in pairs:
            collector.add(*pair, direction=direction)
    return collector.finish()


def count_parts(rows: Digests, *, valid: int, test: int) -> list[list[int]]:
    """How many pairs of each direction validation and the test have got."""
    split = cut(rows, valid=valid, test=test, apart_from=NOTHING)
    return [[int((rows.direction[part] == way).sum()) for way in range(3)] for part in (split.valid, split.test)]


@pytest.mark.parametrize(("valid", "test"), [(9, 9), (0, 7), (4, 10), (2, 2), (20, 1)])
def test_each_part_has_as_many_pairs_of_every_direction(valid: int, test: int) -> None:
    """Though those of the last cost training less: the sentences of the first stand in the second, too."""
    first = distinct(100)
    second = [(target, source) for source, target in first]
    third = [(f"other {source}", f"other {target}") for source, target in first]
    counts = count_parts(directed([first, second, third]), valid=valid, test=test)
    assert [sum(part) for part in counts] == [valid, test]
    assert all(max(part) - min(part) <= 1 for part in counts)


def test_of_a_small_direction_a_tenth_is_held_out_before_more_than_a_tenth_of_a_large_one() -> None:
    large, small = distinct(1_000), [(f"klein {i}", f"ketewa {i}") for i in range(40)]
    rows = directed([large, small])
    assert count_parts(rows, valid=30, test=30) == [[28, 2, 0], [28, 2, 0]]
    assert count_parts(rows, valid=200, test=200) == [[192, 8, 0], [192, 8, 0]]


@pytest.mark.parametrize(("pairs", "held_out"), [(1, 0), (9, 0), (10, 1), (45, 4)])
def test_a_direction_of_few_pairs_gives_no_more_than_a_tenth_while_others_have_enough(pairs: int, held_out: int) -> None:
    rows = directed([distinct(1_000), [(f"klein {i}", f"ketewa {i}") for i in range(pairs)]])
    assert sum(part[1] for part in count_parts(rows, valid=20, test=20)) == held_out


def test_white_space_and_composition_make_no_other_sentence() -> None:
    assert digest(" caf\u00e9  au lait") == digest("cafe\u0301 au\u00a0lait ")
    assert digest("a") != digest("A")


def test_sentences_of_a_given_part_are_not_cut_again() -> None:
    pairs = distinct(12)
    given = np.array([digest(f"source {i}") for i in range(8)], np.uint64)
    split = cut(digests(pairs), valid=0, test=3, apart_from=given)
    assert len(split.test) == 3 and min(split.test) >= 8


def test_unusable_pairs_are_never_chosen() -> None:
    collector = DigestCollector()
    for i in range(10):
        collector.add(f"s{i}", f"t{i}", usable=i > 3, eligible=i < 8)
    split = cut(collector.finish(), valid=2, test=2, apart_from=NOTHING)
    assert sorted([*split.valid, *split.test]) == [4, 5, 6, 7]


def test_too_few_pairs() -> None:
    with pytest.raises(DataError, match=r"10 usable pairs are too few to cut 10 off for validation and test") as raised:
        parts(distinct(10))
    assert "--valid" in raised.value.remedy and "--held-out" in raised.value.remedy
    with pytest.raises(DataError, match="of another part there is 1\\."):
        parts([("same", "gleich")] * 9, valid=1, test=1)


@pytest.mark.parametrize(("pairs", "size"), [(3, 1), (50, 1), (29_000, 580), (10**7, 2_000)])
def test_two_per_cent_at_most_2000(pairs: int, size: int) -> None:
    assert default_held_out(pairs) == size
