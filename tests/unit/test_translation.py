"""What comes back for a text, and how it is put together from its parts."""

import pytest

from headway.translation import Translation, put_together


def part(source: str, text: str, score: float = -1.0, **more: object) -> Translation:
    return Translation(source, text, score, **more)  # type: ignore[arg-type]


def test_one_part_keeps_what_it_has_in_the_white_space_of_its_source() -> None:
    tokens, links = [("▁Ein", -0.5), ("</s>", -0.1)], [(0, 0)]
    others = [part("", "Ein", -0.6), part("", "Eins", -0.9)]
    found = put_together("  One\n", [part("  One\n", "Ein", -0.6, alternatives=others, tokens=tokens, alignment=links)])
    assert (found.source, found.text, found.score) == ("  One\n", "  Ein\n", -0.6)
    assert [(one.source, one.text, one.score) for one in found.alternatives] == [
        ("  One\n", "  Ein\n", -0.6),
        ("  One\n", "  Eins\n", -0.9),
    ]
    assert (found.tokens, found.alignment, found.sentences) == (tokens, links, [])


def test_a_blank_text_has_an_empty_translation() -> None:
    found = put_together(" \t", [part(" \t", "", 0.0)])
    assert (found.text, found.score, found.alternatives, found.sentences) == ("", 0.0, [], [])


def test_several_parts_are_joined_and_their_scores_summed() -> None:
    parts = [part("One. ", "Eins.", -1.0), part("\n\n", "", 0.0), part("Two. ", "Zwei.", -2.5)]
    found = put_together("One. \n\nTwo. ", parts)
    assert found.text == "Eins. \n\nZwei. "
    assert found.score == -3.5
    assert [one.text for one in found.sentences] == ["Eins.", "Zwei."]


def test_an_alternative_has_that_of_each_part_or_its_last() -> None:
    two = [part("", "A", -1.0), part("", "B", -2.0)]
    three = [part("", "x", -0.1), part("", "y", -0.2), part("", "z", -0.3)]
    parts = [part("a ", "A", -1.0, alternatives=two), part(" \n", "", 0.0), part("b", "x", -0.1, alternatives=three)]
    found = put_together("a  \nb", parts)
    assert [one.text for one in found.alternatives] == ["A  \nx", "B  \ny", "B  \nz"]
    assert [one.score for one in found.alternatives] == pytest.approx([-1.1, -2.2, -2.3])
    assert {one.source for one in found.alternatives} == {"a  \nb"}


def test_pieces_are_those_of_all_parts_where_all_have_them() -> None:
    first, second = [("a", -1.0), ("</s>", -0.1)], [("b", -2.0), ("</s>", -0.2)]
    blank = part("\n", "", 0.0)
    assert put_together("A\nB", [part("A", "a", tokens=first), blank, part("B", "b", tokens=second)]).tokens == first + second
    assert put_together("A\nB", [part("A", "a", tokens=first), blank, part("B", "b")]).tokens is None


def test_links_count_words_through_the_whole_text() -> None:
    parts = [
        part("One two. ", "Eins und zwei.", alignment=[(0, 0), (1, 2)]),
        part("\n", "", 0.0),
        part("Three.", "Drei hier.", alignment=[(0, 0), (0, 1)]),
    ]
    found = put_together("One two. \nThree.", parts)
    assert found.alignment == [(0, 0), (1, 2), (2, 3), (2, 4)]
    source, target = found.source.split(), found.text.split()
    assert [(source[left], target[right]) for left, right in found.alignment][-1] == ("Three.", "hier.")
    assert put_together("a\nb", [part("a", "x", alignment=[]), part("\n", ""), part("b", "y")]).alignment is None


def test_links_of_a_word_that_was_cut_in_two() -> None:
    """A long text is cut where it must be: the second half of a word is no new word."""
    parts = [part("one tw", "ein zw", alignment=[(0, 0), (1, 1)]), part("o three", "ei drei", alignment=[(0, 0), (1, 1)])]
    found = put_together("one two three", parts)
    assert found.text == "ein zwei drei"
    assert found.alignment == [(0, 0), (1, 1), (1, 1), (2, 2)]


def test_json_has_what_was_asked_for() -> None:
    plain = Translation("One.", "Eins.", -1.23456)
    assert plain.to_json() == {"source": "One.", "text": "Eins.", "score": -1.2346}
    rich = Translation("One.", "Eins.", -1.0, [plain], [("▁Eins", -0.33333)], [(0, 0)], [plain, plain]).to_json()
    assert rich["alternatives"] == [{"text": "Eins.", "score": -1.2346}]
    assert rich["tokens"] == [{"piece": "▁Eins", "score": -0.3333}]
    assert rich["alignment"] == [[0, 0]]
    assert [one["source"] for one in rich["sentences"]] == ["One.", "One."]
    assert Translation("", "", 0.0, tokens=[], alignment=[]).to_json() == {
        "source": "",
        "text": "",
        "score": 0.0,
        "tokens": [],
        "alignment": [],
    }
