"""What of monolingual text and of its translations may be learned from."""

from collections import Counter
from pathlib import Path

from headway.data.back_translation import HeldOut, pair_up, write_texts
from headway.data.readers import open_corpus
from headway.data.split import digest


def silent(stage: str, done: int, total: int | None) -> None:
    pass


def write(directory: Path, table: str, *texts: str, held_out: HeldOut):
    (directory / "train.tsv").write_text(table, encoding="utf-8")
    files = [directory / f"more{number}.de" for number, _ in enumerate(texts)]
    for path, text in zip(files, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    (directory / "text").mkdir()
    corpora = [open_corpus(str(directory / "train.tsv"), "en", "de")]
    return write_texts(directory / "text", corpora, files, held_out, ("en", "de"), silent)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_no_held_out_sentence_gets_through(tmp_path: Path):
    cut, given = ("a cat", "eine Katze"), ("a dog", "ein Hund")
    table = "a cat\teine Katze\nthe cat\teine  Katze\na cow\teine Kuh\na dog\tein Hund\n\t\n"
    texts = write(
        tmp_path,
        table,
        "ein Hund\nein  Pferd\n\n eine Katze\neine Kuh\n",
        "ein Pferd\na dog\na cow\nzwei Pferde\nzwei Pferde\n",
        held_out=HeldOut([given], [cut], cut_off=[cut]),
    )
    # A part that was given stays where else it stands, as in any run; one that was cut off leaves nothing behind.
    assert read(tmp_path / "text" / "train-1.en") == "a cow\na dog\n" and texts.pairs == [2]
    assert read(tmp_path / "text" / "monolingual-1.de") == "ein  Pferd\n"
    assert read(tmp_path / "text" / "monolingual-2.de") == "zwei Pferde\n"
    assert read(tmp_path / "text" / "valid.en") == "a dog\n" and read(tmp_path / "text" / "test.de") == "eine Katze\n"
    assert texts.lines == [1, 1]
    assert texts.tell() == (
        "10 lines of monolingual text, 2 to translate; left out: 1 blank, 3 that stand in the held-out parts, "
        "1 that the corpora have already, 1 that are source sentences of the corpora, 2 repeated"
    )


def test_translations_that_cannot_be_right_are_left_out():
    target = "ein Satz von ganz gewöhnlicher Länge"
    found = {
        "a sentence of quite usual length": target,
        "Yes, of course, my dear.": "Ja.",
        " ": target,
        "a": target,
        "very " * 30: target,
        f" {target}": target,
        "a cat": "eine Katze ",
    }
    losses = Counter[str]()
    kept = list(pair_up(found, found.values(), 1.0, {digest("a cat")}, losses))
    assert kept == list(found.items())[:2]
    assert losses == {
        "empty": 1,
        "too long or too short for their sentence": 2,
        "copied": 1,
        "that stand in the held-out parts": 1,
    }


def test_what_is_usual_is_the_languages_own():
    losses = Counter[str]()
    pair = ("a sentence that is long in this language, and not in that", "短い文です、この言語では。")
    assert list(pair_up([pair[0]], [pair[1]], 4.5, set(), losses)) == [pair]
    assert list(pair_up([pair[0]], [pair[1]], 1.0, set(), losses)) == []
