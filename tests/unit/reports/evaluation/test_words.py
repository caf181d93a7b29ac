"""Sentences side by side: each word is marked by what the other sentence has of it, and no letter is lost."""

import pytest

from headway.reports.evaluation.words import Words, find_nearest, mark_missing, mark_words, split_words


def tell(stretches: list[Words]) -> str:
    """same words as they are, [missing ones] in brackets, <moved ones> in angles."""
    around = {"same": "{}", "only": "[{}]", "moved": "<{}>"}
    return "".join(around[one.kind].format(one.text) for one in stretches)


@pytest.mark.parametrize(
    ("translation", "reference", "told"),
    [
        ("A dog runs.", "A dog runs.", "A dog runs."),
        ("A big dog runs.", "A dog walks.", "A [big] dog [runs]."),
        ("runs a dog", "a dog runs", "<runs> a dog"),
        ("the the cat", "the cat", "[the] the cat"),  # the reference has it once
        ("dog dog cat", "cat dog", "dog [dog] <cat>"),
        ("狗在花园里跑", "狗在公园里跑", "狗在[花]园里跑"),  # no spaces: by characters
        ("लड़की गाती है", "लड़की हँसती है", "लड़की [गाती] है"),  # vowels belong to their letters
        ("don't go", "do not go", "[don't] go"),
        ("", "a dog", ""),
        ("a dog", "", "[a dog]"),
    ],
)
def test_words_of_a_translation(translation: str, reference: str, told: str) -> None:
    assert tell(mark_words(translation, reference)) == told


def test_words_that_no_translation_has() -> None:
    assert tell(mark_missing("a dog runs fast", ["a cat runs", "a dog runs"])) == "a dog runs [fast]"
    assert tell(mark_missing("a dog", [""])) == "[a dog]"


@pytest.mark.parametrize(
    "text", ["", " a  b ", "e\u0301a\u0301", "\u0301x", "a\tb\n", "ไทย lao 汉字!?", "\U00020000\U0001f600"]
)
def test_no_letter_is_lost(text: str) -> None:
    assert "".join(split_words(text)) == text
    assert "".join(one.text for one in mark_words(text, "a 汉 c")) == text


def test_the_nearest_of_several_references() -> None:
    assert find_nearest("a dog runs", ["the cat sleeps", "a dog is running", "a dog runs fast"]) == "a dog runs fast"
