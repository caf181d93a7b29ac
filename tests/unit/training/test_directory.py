"""Which directories a run may be made in, and what is left of one that came to nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from headway.config import Settings, build_settings
from headway.errors import RequestError
from headway.training import directory
from headway.training.directory import check_directory, locked, refuse_other_settings


@pytest.mark.parametrize("name", ["data", "text"])
def test_what_a_run_would_make_anew_is_not_the_users(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    check_directory(tmp_path)
    (tmp_path / name / "train.en").write_text("mine\n")
    with pytest.raises(RequestError, match=f"holds something that is no run: {name}"):
        check_directory(tmp_path)


def test_a_directory_that_was_made_for_nothing_goes_with_its_lock(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "de" / "first"
    (tmp_path / "runs").mkdir()
    with pytest.raises(KeyError), locked(out):
        assert (out / "run.lock").exists() and (out / "run.owner").exists()
        (out / "forward").mkdir()
        raise KeyError
    assert list(tmp_path.rglob("*")) == [tmp_path / "runs"]


@pytest.mark.parametrize("kept", ["config.yaml", "forward/data/prepared.json"])
def test_a_directory_that_holds_something_stays_whole(tmp_path: Path, kept: str) -> None:
    out = tmp_path / "run"
    with pytest.raises(KeyError), locked(out):
        (out / "checkpoints").mkdir()
        (out / kept).parent.mkdir(parents=True, exist_ok=True)
        (out / kept).write_text("mine")
        raise KeyError
    assert (out / kept).exists() and (out / "checkpoints").exists()


def test_a_directory_that_was_there_stays(tmp_path: Path) -> None:
    with locked(tmp_path):
        pass
    assert tmp_path.exists()


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """`act` when a lock has been opened for the first time, and is not yet held."""
    acts = [act]

    class Late(FileLock):
        def acquire(self, *args: object, **options: object) -> object:
            found = super().acquire()
            if acts:
                acts.pop()()
            return found

    monkeypatch.setattr(directory, "FileLock", Late)


def test_the_lock_of_a_directory_that_was_taken_away_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else two would be let in: one by the lock that was there, one by that of the new directory."""
    out, third = tmp_path / "run", FileLock(tmp_path / "run" / "run.lock", timeout=0)

    def replace() -> None:
        out.rename(tmp_path / "gone")
        out.mkdir()
        third.acquire()

    meanwhile(monkeypatch, replace)
    with pytest.raises(RequestError, match=r"A run is in progress in .*: another process"), locked(out):
        pass
    third.release()
    with locked(out):  # nobody has the old one either
        pass


def test_a_directory_that_others_took_away_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run"
    meanwhile(monkeypatch, lambda: out.rename(tmp_path / "gone") and None)
    with locked(out):
        assert (out / "run.owner").exists()
    assert not out.exists()


def test_of_many_at_once_one_is_let_in(tmp_path: Path) -> None:
    """Each makes the directory, or finds it made by another, who may take it away again."""
    out = tmp_path / "runs" / "run"

    def enter(number: int) -> bool:
        try:
            with locked(out):
                (out / "mine").touch(exist_ok=False)
                (out / "mine").unlink()
        except RequestError as error:
            assert "A run is in progress" in error.problem
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert any(pool.map(enter, range(1_000)))


def test_another_run_is_told_by_the_names_that_users_give(tmp_path: Path) -> None:
    def ask(to: str) -> Settings:
        return build_settings({"data": {"train": ["data/train"], "from": "en", "to": to}})

    (tmp_path / "config.yaml").write_text(ask("de").to_yaml())
    refuse_other_settings(ask("de"), tmp_path)
    with pytest.raises(RequestError, match=r"data\.to was 'de', now 'fr'"):
        refuse_other_settings(ask("fr"), tmp_path)
