"""Edits are those of sacreBLEU's own, slower function."""

import random

import pytest
from sacrebleu.metrics.lib_ter import translation_edit_rate

from headway.evaluation.edit_rate import count_edits


def shuffle_runs(words: list[str], draw: random.Random) -> list[str]:
    for _ in range(draw.randint(0, 3)):
        a, b, c = sorted(draw.choices(range(len(words) + 1), k=3))
        words = words[:a] + words[b:c] + words[a:b] + words[c:]
    return [word for word in words if draw.random() > 0.1]


@pytest.mark.parametrize(("vocabulary", "longest", "times"), [(3, 8, 300), (12, 14, 150), (200, 24, 40), (6, 24, 10)])
def test_edits_are_sacrebleus(vocabulary: int, longest: int, times: int) -> None:
    draw = random.Random(vocabulary)
    for _ in range(times):
        reference = [str(draw.randrange(vocabulary)) for _ in range(draw.randint(0, longest))]
        related = shuffle_runs(reference, draw) + [str(draw.randrange(vocabulary)) for _ in range(draw.randint(0, 3))]
        assert count_edits(related, reference) == translation_edit_rate(list(related), list(reference))[0]


@pytest.mark.parametrize(("hypothesis", "reference"), [(30, 40), (70, 60), (3, 70), (70, 30)])
def test_long_sentences_where_sacrebleus_band_may_matter(hypothesis: int, reference: int) -> None:
    draw = random.Random(hypothesis)
    words = [str(draw.randrange(1000)) for _ in range(hypothesis)]
    wanted = [str(draw.randrange(1000)) for _ in range(max(0, reference - 5))] + words[:5]
    assert count_edits(words, wanted) == translation_edit_rate(list(words), list(wanted))[0]


def test_too_many_tries_end_as_in_sacrebleu(monkeypatch: pytest.MonkeyPatch) -> None:
    words, wanted = list("001111000100011110111111100010011"), list("001010100011011110111011000110000")
    assert count_edits(words, wanted) == translation_edit_rate(list(words), list(wanted))[0] == 7
    monkeypatch.setattr("headway.evaluation.edit_rate.MOST_TRIES", 1_000_000)
    assert count_edits(words, wanted) == 6


def test_a_shift_is_one_edit() -> None:
    assert count_edits(list("defabc"), list("abcdef")) == 1
    assert count_edits([], ["a", "b"]) == 2
    assert count_edits(["a"], []) == 1
