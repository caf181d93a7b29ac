from pathlib import Path

import pytest

from headway.data.readers import count_lines, open_corpora, open_corpus, read_lines
from headway.directions import list_directions
from headway.errors import DataError, RequestError


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def stem(tmp_path: Path) -> Path:
    write(tmp_path / "train.en", "a\nb\nc\n")
    write(tmp_path / "train.de", "A\nB\nC")
    return tmp_path / "train"


def fails(spec: Path | str, source: str = "en", target: str = "de") -> str:
    """The message of the DataError that reading the corpus gives; it always says what to do."""
    with pytest.raises(DataError) as raised:
        list(open_corpus(str(spec), source, target))
    assert raised.value.remedy
    return raised.value.problem


def test_a_stem_stands_for_two_files(stem: Path) -> None:
    corpus = open_corpus(f"{stem}:0.5", "en", "de")
    assert list(corpus) == list(corpus) == [("a", "A"), ("b", "B"), ("c", "C")]
    assert (corpus.name, corpus.weight) == (str(stem), 0.5)
    assert corpus.files == [Path(f"{stem}.en"), Path(f"{stem}.de")]


def test_a_stem_may_hold_a_dot(tmp_path: Path) -> None:
    write(tmp_path / "news.v2.en", "a\n")
    write(tmp_path / "news.v2.de", "A\n")
    assert list(open_corpus(str(tmp_path / "news.v2"), "en", "de")) == [("a", "A")]


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    odd = "a\u2028b\x0cc\x85d\re\x0bf\x1cg\u2029h"
    path = write(tmp_path / "odd", f"{odd}\n\n{odd}\r\nlast\r")
    assert list(read_lines(path)) == [odd, "", odd, "last"]


def test_a_byte_order_mark_counts_only_at_the_start(tmp_path: Path) -> None:
    path = write(tmp_path / "bom", b"\xef\xbb\xbf\xef\xbb\xbfa\n\xef\xbb\xbfb\n")
    assert list(read_lines(path)) == ["\ufeffa", "\ufeffb"]


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path / "empty", ""))) == []


def test_lines_are_counted(tmp_path: Path) -> None:
    assert count_lines(write(tmp_path / "long", "x\u2028\r\n" * 300_000)) == 300_000  # more than a block
    assert count_lines(write(tmp_path / "empty", "")) == 0


def test_unequal_files(stem: Path) -> None:
    write(Path(f"{stem}.de"), "A\n" * 1005)
    assert fails(stem) == f"{stem}.en has 3 lines, but {stem}.de has 1,005."
    assert fails(stem, "de", "en") == f"{stem}.de has 1,005 lines, but {stem}.en has 3."


def test_not_utf8(stem: Path) -> None:
    write(Path(f"{stem}.de"), b"A\nGr\xc3\xbc\xdfe\nC\n")
    assert fails(stem) == f"{stem}.de is not UTF-8: line 2 has the byte 0xdf at offset 4."


def test_not_utf8_after_a_byte_order_mark_counts_it(stem: Path) -> None:
    write(Path(f"{stem}.de"), b"\xef\xbb\xbfA\xff\nB\nC\n")
    assert "line 1 has the byte 0xff at offset 4" in fails(stem)


def test_utf16_is_recognised(stem: Path) -> None:
    write(Path(f"{stem}.de"), "A\nB\nC\n".encode("utf-16"))
    with pytest.raises(DataError, match=r"byte 0xff at offset 0.*\n.*-f UTF-16"):
        list(open_corpus(str(stem), "en", "de"))


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file(stem: Path, content: bytes) -> None:
    write(Path(f"{stem}.en"), content)
    assert fails(stem) == f"{stem}.en is empty."


def test_a_missing_file_tells_what_is_there(stem: Path) -> None:
    assert fails(stem, "en", "fr") == f"There is no file {stem}.fr. There are train.de, train.en beside it."
    assert fails(stem.with_name("trian")).endswith("trian.en. Did you mean train.en?")
    assert "no directory" in fails(stem.parent / "nowhere" / "train")


def test_a_directory(stem: Path) -> None:
    Path(f"{stem}.en").unlink()
    Path(f"{stem}.en").mkdir()
    assert fails(stem) == f"{stem}.en is a directory, not a file."
    (stem.parent / "x.tsv").mkdir()
    assert "is a directory" in fails(stem.parent / "x.tsv")


def test_identical_files(stem: Path) -> None:
    write(Path(f"{stem}.de"), Path(f"{stem}.en").read_bytes())
    assert fails(stem) == f"{stem}.en and {stem}.de have the same content."
    assert fails(stem, "en", "en") == f"Source and target are the same file, {stem}.en."
    for side in ("en", "de"):
        write(Path(f"{stem}.{side}"), "\n \n\n")
    assert fails(stem) == f"{stem}.en and {stem}.de have nothing but blank lines."


def test_a_single_file_of_no_known_kind(tmp_path: Path) -> None:
    path = write(tmp_path / "memory.docx", "x")
    with pytest.raises(DataError, match=r"memory\.docx is a file of no known kind\.\n.*\.tsv.*STEM\.en and STEM\.de"):
        open_corpus(str(path), "en", "de")
    for side in ("en", "de"):
        one = write(tmp_path / f"memory.{side}", "x")
    with pytest.raises(DataError, match=rf"STEM\.de\. Did you mean {tmp_path}/memory\?"):
        open_corpus(str(one), "en", "de")


def test_languages_are_needed(stem: Path) -> None:
    with pytest.raises(RequestError, match="--from en --to de"):
        open_corpus(str(stem), "", "de")


def test_tsv_without_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tsv", 'a "quoted\tA\textra\r\nb\tB\n\n')
    corpus = open_corpus(f"{path}:2", "en", "de")
    assert list(corpus) == [('a "quoted', "A"), ("b", "B"), ("", "")]
    assert corpus.weight == 2 and corpus.files == [path]


def test_tsv_columns_are_found_by_their_names(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tsv", "\ufeffid\tDE\ten\n1\tA\ta\n")
    assert list(open_corpus(str(path), "en", "de")) == [("a", "A")]
    assert list(open_corpus(str(path), "en", "fr")) == [("id", "DE"), ("1", "A")]


def test_tsv_row_that_is_too_short(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tsv", "a\tA\nb B\n")
    assert fails(path) == f"{path} has 1 column in line 2, and needs 2."


def test_a_stem_is_read_in_each_direction_that_it_has(stem: Path) -> None:
    found = open_corpora(f"{stem}:0.3", list_directions("en,fr,de", "en,de"), "<news> ")
    assert [(one.direction, one.weight) for one in found] == [("en → de", 0.3), ("de → en", 0.3)]
    assert [next(iter(one)) for one in found] == [("<2de> <news> a", "A"), ("<2en> <news> A", "a")]


def test_a_stem_of_other_languages(stem: Path) -> None:
    with pytest.raises(DataError, match=r"none of the directions en → fr, en → twi: looked for .*train\.en, .*train\.twi\."):
        open_corpora(str(stem), list_directions("en", "fr,twi"))


def test_tsv_of_several_directions_must_name_them(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tsv", "fr\tde\ten\nun\tein\ta\n")
    directions = list_directions("en,fr", "de,twi")
    assert [(one.direction, list(one)) for one in open_corpora(str(path), directions)] == [
        ("en → de", [("<2de> a", "ein")]),
        ("fr → de", [("<2de> un", "ein")]),
    ]
    write(path, "un\tein\n")
    with pytest.raises(DataError, match="does not say in which languages its columns are"):
        open_corpora(str(path), directions)
