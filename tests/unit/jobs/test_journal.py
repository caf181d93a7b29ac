"""A file that is whole or not there."""

import json
from pathlib import Path

import pytest

from headway.errors import HeadwayError, RequestError
from headway.jobs import journal
from headway.jobs.journal import Part

REQUEST = {"what": ("a", 1)}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "EVERY", 0)


def listing(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def begin(path: Path) -> None:
    """Two blocks, then something happens."""
    with pytest.raises(ZeroDivisionError), Part(path, REQUEST) as part:
        part.write(b"one\n", 1)
        part.write(b"two\nthree\n", 2)
        raise ZeroDivisionError


def test_nothing_has_the_name_until_it_is_whole(tmp_path: Path):
    path = tmp_path / "out"
    path.write_bytes(b"of yesterday")
    with Part(path, REQUEST) as part:
        part.write(b"one\n", 1)
        assert path.read_bytes() == b"of yesterday"
        part.finish()
    part.forget()
    assert path.read_bytes() == b"one\n"
    assert listing(tmp_path) == ["out"]


def test_it_goes_on_and_cuts_off_what_was_not_entered(tmp_path: Path):
    path = tmp_path / "out"
    begin(path)
    assert listing(tmp_path) == [".out.journal", ".out.part"]
    with (tmp_path / ".out.part").open("ab") as part_file:
        part_file.write(b"half a blo")
    with Part(path, REQUEST) as part:
        assert (part.blocks, part.lines, part.finished) == (2, 3, False)
        part.write(b"four\n", 1)
        part.finish()
    assert path.read_bytes() == b"one\ntwo\nthree\nfour\n"


def test_a_journal_never_claims_more_than_there_is(tmp_path: Path):
    begin(tmp_path / "out")
    (tmp_path / ".out.part").write_bytes(b"one\n")  # lost, however
    with Part(tmp_path / "out", REQUEST) as part:
        assert (part.blocks, part.bytes) == (0, 0)
    assert (tmp_path / ".out.part").read_bytes() == b""


def test_entries_come_after_what_they_tell_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def check(path: Path, text: str) -> None:
        assert (tmp_path / ".out.part").stat().st_size == json.loads(text)["bytes"] > 0
        checked.append(path)

    checked: list[Path] = []
    monkeypatch.setattr(journal, "write_file", check)
    begin(tmp_path / "out")
    assert len(checked) == 3


def test_not_more_often_than_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal, "EVERY", 60)
    with Part(tmp_path / "out", REQUEST) as part:
        for _ in range(10):
            part.write(b"line\n", 1)
        assert not (tmp_path / ".out.journal").exists()
    assert (tmp_path / ".out.journal").exists()


def test_another_request_starts_anew(tmp_path: Path):
    begin(tmp_path / "out")
    with Part(tmp_path / "out", {"what": "b"}) as part:
        assert part.starts_anew and part.blocks == 0
        part.finish()
    assert (tmp_path / "out").read_bytes() == b""


def test_a_journal_that_is_none_is_passed_over(tmp_path: Path):
    (tmp_path / ".out.journal").write_text("{")
    with Part(tmp_path / "out", REQUEST) as part:
        assert part.blocks == 0


def test_what_is_finished_is_not_done_again(tmp_path: Path):
    path = tmp_path / "out"
    with Part(path, REQUEST) as part:
        part.write(b"one\n", 1)
        part.finish()
    with Part(path, REQUEST) as again:
        assert again.finished and again.lines == 1
    path.rename(tmp_path / ".out.part")  # as if killed before it got its name
    with Part(path, REQUEST) as again:
        assert again.finished
    assert path.read_bytes() == b"one\n"
    path.unlink()
    with Part(path, REQUEST) as again:
        assert not again.finished and again.blocks == 0


def test_two_at_once_are_refused(tmp_path: Path):
    with Part(tmp_path / "out", REQUEST), pytest.raises(RequestError, match="another process"), Part(tmp_path / "out", REQUEST):
        pass


def test_input_that_cannot_be_read_again_leaves_nothing(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), Part(tmp_path / "out", REQUEST, keep=False) as part:
        part.write(b"one\n", 1)
        raise ZeroDivisionError
    assert listing(tmp_path) == []


def test_a_place_that_cannot_be(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(HeadwayError, match="cannot be written"), Part(tmp_path / "file" / "out", REQUEST):
        pass


def test_an_old_entry_does_not_speak_for_what_overwrote_it(tmp_path: Path):
    """Interrupted, then begun with other input that cannot be read again and killed, then the first once more."""
    path = tmp_path / "out"
    begin(path)
    other = Part(path, {"what": "other"}, keep=False).__enter__()
    other.write(b"something else, and longer than that\n", 1)
    other._release()  # killed: nothing is tidied up
    with Part(path, REQUEST) as part:
        assert (part.blocks, part.bytes) == (0, 0)
        part.write(b"whole\n", 1)
        part.finish()
    assert path.read_bytes() == b"whole\n"


def test_an_entry_that_is_damaged_is_none(tmp_path: Path):
    begin(tmp_path / "out")
    (tmp_path / ".out.journal").write_text('{"request": 1}')
    with Part(tmp_path / "out", REQUEST) as part:
        assert part.blocks == 0
