"""The CTranslate2 form of a bundle: made once, used again, made again when it is not what it was."""

from pathlib import Path

import pytest
from small_models import write_model

import headway
from headway.bundle import read_bundle
from headway.engines.converted import SUMS, find_form, make_form
from headway.errors import HeadwayError


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "best")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def stamps(form: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in form.iterdir()}


def translate(model: Path) -> str:
    return headway.load(model, engine="ctranslate2").translate(["copy oak elm"], max_extra=5)[0].text


def names(directory: Path) -> set[str]:
    """Of what a person would see; a lock stays behind."""
    return {path.name for path in directory.iterdir() if not path.name.startswith(".")}


def only(directory: Path) -> Path:
    (found,) = names(directory)
    return directory / found


def test_it_is_made_once_beside_the_bundle(model: Path, cache: Path) -> None:
    assert find_form(read_bundle(model)) is None
    first = translate(model)
    form = only(model.with_name("best.ctranslate2"))
    assert (form / "model.bin").is_file() and not cache.exists()
    assert find_form(read_bundle(model)) == form
    before = stamps(form)
    assert translate(model) == first
    assert stamps(form) == before


@pytest.mark.parametrize("damage", ["truncated", "missing", "no sums", "sums that are none", "sums of another kind"])
def test_a_damaged_form_is_made_again(model: Path, damage: str) -> None:
    first = translate(model)
    form = only(model.with_name("best.ctranslate2"))
    weights = (form / "model.bin").read_bytes()
    if damage == "truncated":
        (form / "model.bin").write_bytes(weights[:-100])
    elif damage == "missing":
        (form / "model.bin").unlink()
    elif damage == "no sums":
        (form / SUMS).unlink()
    else:
        (form / SUMS).write_text("{" if damage == "sums that are none" else "[1]")
    assert find_form(read_bundle(model)) is None
    assert translate(model) == first
    assert only(model.with_name("best.ctranslate2")) == form
    assert (form / "model.bin").read_bytes() == weights


def test_other_weights_have_another_form_and_the_old_one_goes(model: Path) -> None:
    translate(model)
    old = only(model.with_name("best.ctranslate2"))
    (old.parent / "mine.txt").write_text("not a form")
    write_model(model, seed=2)
    assert find_form(read_bundle(model)) is None
    translate(model)
    assert not old.exists()
    new = find_form(read_bundle(model))
    assert new and names(old.parent) == {new.name, "mine.txt"}


def test_where_nothing_can_be_written_the_cache_takes_its_place(model: Path, cache: Path) -> None:
    blocked = model.with_name("best.ctranslate2")
    blocked.write_text("in the way")
    first = translate(model)
    form = only(cache / "headway" / "ctranslate2")
    assert find_form(read_bundle(model)) == form
    before = stamps(form)
    assert translate(model) == first
    assert stamps(form) == before
    assert blocked.read_text() == "in the way"


def test_where_nothing_can_be_written_at_all_it_is_said(model: Path, cache: Path) -> None:
    model.with_name("best.ctranslate2").write_text("in the way")
    cache.write_text("in the way too")
    with pytest.raises(HeadwayError, match="cannot be written"):
        translate(model)


def test_a_failure_of_another_kind_is_not_hidden(model: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def fail(*_: object) -> None:
        raise HeadwayError("it cannot be converted")

    monkeypatch.setattr("headway.engines.converted.write_ctranslate2", fail)
    with pytest.raises(HeadwayError, match="it cannot be converted"):
        make_form(read_bundle(model))
    assert not cache.exists()


def test_the_form_is_found_from_another_directory_too(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    assert make_form(read_bundle(Path("best"))) == find_form(read_bundle(model))
    monkeypatch.chdir(model)
    assert find_form(read_bundle(Path("../best")))
