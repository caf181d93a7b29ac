"""Which words of a glossary a text holds, and what a glossary's file looks like."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import DataError
from headway.text.glossary import Glossary, read_glossary


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The pump and the valve.", ["Pumpe", "Ventil"]),
        ("THE PUMP", ["Pumpe"]),
        ("pump, pump; Pump!", ["Pumpe"]),
        ("pumps", []),
        ("the pumping station", []),
        ("a heat pump", ["Wärmepumpe"]),
        ("heat for the pump", ["Wärme", "Pumpe"]),
        ("a heat pump and a pump", ["Wärmepumpe", "Pumpe"]),
        ("valve before pump", ["Ventil", "Pumpe"]),
        ("C++ code", ["Zeh"]),
        ("aC++", []),
        ("cafe\u0301", ["Kaffeehaus"]),
        ("STRASSE", ["street"]),
        ("straße", ["street"]),
        ("犬が走る。", ["Hund"]),
        ("子犬", ["Hund"]),
        ("", []),
    ],
)
def test_words_are_found_whole_the_longest_first_in_the_order_of_the_text(text: str, found: list[str]) -> None:
    terms = {
        "pump": "Pumpe",
        "Valve": "Ventil",
        "heat": "Wärme",
        "heat pump": "Wärmepumpe",
        "C++": "Zeh",
        "café": "Kaffeehaus",
        "犬": "Hund",
        "Straße": "street",
    }
    assert Glossary(terms).find(text) == found


def test_an_empty_glossary_and_blank_words_find_nothing() -> None:
    assert Glossary({}).find("anything at all") == []
    assert Glossary({"": "x", "  ": "y"}).find("anything at all") == []


def test_words_of_one_meaning_are_asked_for_once() -> None:
    assert Glossary({"car": "Auto", "automobile": "Auto"}).find("a car is an automobile") == ["Auto"]


@given(st.dictionaries(st.text(min_size=1, max_size=6), st.text(min_size=1, max_size=6), max_size=5), st.text(max_size=30))
def test_any_words_and_any_text(terms: dict[str, str], text: str) -> None:
    assert set(Glossary(terms).find(text)) <= set(terms.values())


@given(st.text(min_size=1, max_size=8).filter(str.strip))
def test_a_word_stands_in_itself(term: str) -> None:
    assert Glossary({term: "x"}).find(f" {term} ") == ["x"]


def test_a_file_has_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes("\ufeffpump\tPumpe\r\n\n heat pump \t Wärmepumpe \nValve\tVentil".encode())
    assert read_glossary(path) == {"pump": "Pumpe", "heat pump": "Wärmepumpe", "Valve": "Ventil"}


@pytest.mark.parametrize("line", ["pump", "pump Pumpe", "pump\t", "\tPumpe", "pump\tPumpe\tmore", " \t "])
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(f"good\tgut\n{line}x\n" if line == "pump" else f"good\tgut\n{line}\n")
    if not line.strip():
        assert read_glossary(path) == {"good": "gut"}
        return
    with pytest.raises(DataError, match=r"terms\.tsv .* line 2"):
        read_glossary(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.tsv").write_bytes(b"pump\tM\xfcll\n")
    for name, told in {"latin.tsv": "cannot be read", "missing.tsv": "There is no glossary", ".": "cannot be read"}.items():
        with pytest.raises(DataError, match=told):
            read_glossary(tmp_path / name)


def test_two_translations_of_a_word_are_refused(tmp_path: Path) -> None:
    (tmp_path / "terms").write_text("May\tMai\nmay\tdürfen\n")
    with pytest.raises(DataError, match="second translation of may in line 2"):
        read_glossary(tmp_path / "terms")


def test_many_terms_take_no_longer() -> None:
    """By the words of a text, not by the terms: in a moment, where a pattern of all would take minutes."""
    glossary = Glossary({f"word{number}": str(number) for number in range(50_000)})
    assert glossary.find(" ".join(f"word{number}" for number in range(0, 50_000, 5))) == [str(n) for n in range(0, 50_000, 5)]
