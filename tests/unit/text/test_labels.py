from collections.abc import Sequence

import pytest

from headway.text.labels import label_pieces


class Pieces:
    """A tokenizer whose ids are places in a list of pieces, after the four special ones."""

    pad, bos, eos, unk = 0, 1, 2, 3

    def __init__(self, pieces: Sequence[str]) -> None:
        self.all = ["<pad>", "<s>", "</s>", "<unk>", *pieces]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.all[i] for i in ids]


@pytest.mark.parametrize(
    ("pieces", "labels"),
    [
        ("▁dress es .", "dress ·es ."),
        ("▁ o a k", "␣ o ·a ·k"),
        ("▁don ' t", "don ' ·t"),
        ("▁▁ ▁▁x", "␣ ␣x"),
        ("<0xC3> <0xA9> t", "é|1/2 é|2/2 ·t"),
        ("<0xE6> <0x9D> <0xB1> <0xE4>", "東|1/3 東|2/3 東|3/3 0xE4"),
        ("<0xF0> <0x9F> <0x99> <0x82>", "🙂|1/4 🙂|2/4 🙂|3/4 🙂|4/4"),
        ("<0x41> <0x09> <0x00>", "A 0x09 0x00"),
        ("<0xC3> é <0xA9>", "0xC3 ·é 0xA9"),
        ("<0xEF> <0xB7> <0x90>", "0xEF 0xB7 0x90"),
        ("\u00ad \u200b", "U+00AD U+200B"),
        ("▁<s> <0xC", "<s> <0xC"),
    ],
)
def test_pieces_as_a_person_reads_them(pieces: str, labels: str) -> None:
    cut = pieces.split(" ")
    assert label_pieces(Pieces(cut), range(4, 4 + len(cut))) == [label.replace("|", " ") for label in labels.split(" ")]


def test_marks_have_names() -> None:
    assert label_pieces(Pieces(["▁a"]), [1, 4, 2]) == ["‹begin›", "a", "‹end›"]
    assert label_pieces(Pieces([]), [0, 3]) == ["‹pad›", "‹unknown›"]
    assert label_pieces(Pieces([]), []) == []
