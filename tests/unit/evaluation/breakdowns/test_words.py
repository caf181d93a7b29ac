import pytest

from headway.evaluation.breakdowns.words import cut_words, find_names, find_numbers, is_mostly_unspaced


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("»Well-known«, he said (twice)!", ["Well-known", "he", "said", "twice"]),
        ("हिन्दी में।", ["हिन्दी", "में"]),  # ends with combining marks, which belong to the word
        ("我爱 Python 3。", ["我", "爱", "Python", "3"]),
        (" – ... ", []),
    ],
)
def test_words_of_any_script(text: str, words: list[str]) -> None:
    assert cut_words(text) == words


@pytest.mark.parametrize("text", ["1,000", "1.000", "1 000", "1\u202f000", "1’000", "١٠٠٠"])
def test_a_thousand_however_it_is_written(text: str) -> None:
    assert find_numbers(f"about {text} people") == ["1000"]


def test_numbers_that_stand_side_by_side() -> None:
    assert find_numbers("In 2012 300 men, 3.5 and 3,5 and 12:30") == ["2012", "300", "3.5", "3.5", "12.30"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234,567.8", "1234567.8"),
        ("1.234.567,8", "1234567.8"),
        ("1 234 567,8", "1234567.8"),
        ("١٬٢٣٤٬٥٦٧٫٨", "1234567.8"),
        ("35", "35"),
        ("1,2,3", "1.2.3"),
        ("0.125", "0.125"),  # no thousands begin with 0
        ("0,125", "0.125"),
        ("1,000,00", "1.000.00"),
        ("1234,567", "1234.567"),
        ("12:300", "12.300"),
    ],
)
def test_only_thousands_lose_their_marks(text: str, number: str) -> None:
    assert find_numbers(f"about {text}.") == [number]


def test_names_stand_inside_a_sentence() -> None:
    assert find_names("The man met Anna's aunt in New York. She left; I stayed. Paris!") == ["Anna", "New", "York"]


def test_scripts_without_spaces() -> None:
    assert is_mostly_unspaced(["我爱你。", "สวัสดี"])
    assert not is_mostly_unspaced(["I saw 東京.", "한국어 문장"])
