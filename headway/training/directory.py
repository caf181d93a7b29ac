"""A run's directory: what may stand in it, whose it is, and whether it is the run that is asked for."""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from headway.atomic import write_file, writing
from headway.bundle import read_manifest
from headway.config import Settings, build_settings, read_yaml
from headway.errors import RequestError
from headway.training.choices import ASKED, FOLLOWING, HOW
from headway.training.validation import Validation

LOCK = "run.lock"
OWN_FILES = {
    "config.yaml",
    "data",
    "forecast",
    LOCK,
    "run.owner",
    "metrics.jsonl",
    "checkpoints",
    "best",
    "best.ctranslate2",
    "last",
    "test.txt",
    "test.jsonl",
    "curves.png",
    "report.html",
    # of back-translation
    "text",
    "forward",
    "reverse",
    "synthetic",
    "stages.json",
    "gained.json",
}


RECORDS = {"data": "prepared.json", "text": "text.json"}  # by which those are known as a run's
ATTEMPTS = 5  # at a lock whose directory others take away


def check_directory(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise RequestError(f"{out} is a file.", "Give --out a directory.")
    names: list[str] = []
    with writing(out), suppress(FileNotFoundError):
        names = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
    other = [name for name in names if name not in OWN_FILES or _is_foreign(out / name)]
    if other and "config.yaml" not in names:
        raise RequestError(f"{out} holds something that is no run: {', '.join(other[:5])}.", "Give --out a new directory.")


def _is_foreign(directory: Path) -> bool:
    """What bears the name of something that a run makes anew, and is not a run's."""
    record = RECORDS.get(directory.name)
    return record is not None and not (directory / record).exists() and any(directory.iterdir())


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Two runs at once in one directory are refused; the lock goes with the process that holds it.

    The directory is made, if it is not there; if nothing came of it then, it is taken away again.
    """
    owner = out / "run.owner"
    with writing(out):
        held, made = _acquire(out, owner)
    try:
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        write_file(owner, f"process {os.getpid()} on {socket.gethostname()}, since {now}")
        yield
    finally:
        owner.unlink(missing_ok=True)
        with suppress(OSError):
            _take_away(made)
        held.release()


def _acquire(out: Path, owner: Path) -> tuple[FileLock, list[Path]]:
    """The lock, and the directories that were made for it, `out` first.

    Another command may take away the directory that it made, between our opening of the lock and our getting it. A lock counts
    only if the directory in which it was opened stands there still.
    """
    for left in reversed(range(ATTEMPTS)):
        made = [path for path in (out, *out.parents) if not path.exists()]
        held = FileLock(out / LOCK, timeout=0)
        try:
            out.mkdir(parents=True, exist_ok=True)
            with _watching(out) as unmoved:
                held.acquire()
                if unmoved():
                    return held, made
        except Timeout:
            break
        except (FileNotFoundError, FileExistsError):  # or it was there, and is gone while mkdir looks what it is
            held.release()
            if not left:
                raise
        else:
            held.release()
    try:
        whose = owner.read_text()
    except OSError:
        whose = "another process"
    raise RequestError(f"A run is in progress in {out}: {whose}.", "Wait for it or stop it, or give another --out.")


@contextmanager
def _watching(directory: Path) -> Iterator[Callable[[], bool]]:
    """Whether the directory is still the one that it was: while it is open, no other can get its number."""
    if os.name == "nt":  # where a directory with an open lock can neither be opened nor moved
        yield lambda: True
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        yield lambda: os.path.samestat(os.fstat(descriptor), directory.stat())
    finally:
        os.close(descriptor)


def _take_away(made: list[Path]) -> None:
    """What was made for a run, if there is nothing in it but the lock, which is held, and empty directories.

    It is moved before its lock is deleted: whoever wants the same directory makes a new one, with a lock of its own.
    """
    if not made:
        return
    out, *parents = made
    others = [path for path in out.iterdir() if path.name != LOCK]
    if any(not path.is_dir() or any(path.iterdir()) for path in others):
        return
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    out.rename(aside)
    for path in others:
        (aside / path.name).rmdir()
    (aside / LOCK).unlink()
    for path in (aside, *parents):
        path.rmdir()


def refuse_other_data(out: Path, changes: list[str]) -> None:
    if changes:
        raise RequestError(
            f"{out} holds a run on other data: {'; '.join(changes)}.", f"Give a new --out, or delete {out} to start anew."
        )


def changed_files(fingerprints: Mapping[str, str], out: Path) -> list[str]:
    """Against what the run's model was trained on, for data/ may have been deleted and made anew."""
    if not (out / "last").exists():
        return []
    before = read_manifest(out / "last").provenance.data
    return [f"{name} changed" for name, digest in fingerprints.items() if before.get(name) != digest]


def refuse_other_settings(settings: Settings, out: Path) -> None:
    """Only the budget and the work's division may differ from the run that stands here; what is not given is as it was then.

    A setting that is younger than the run was off.
    """
    stored = _read_settings(out)
    differing = []
    for section in Settings.model_fields:
        old, new = (getattr(which, section).model_dump(by_alias=True) for which in (stored, settings))
        for name, value in new.items():
            if value is not None and (value or None) != (old[name] or None) and name not in (*ASKED, *HOW):
                differing.append(f"{section}.{name} was {old[name]!r}, now {value!r}")
    if differing:
        raise RequestError(
            f"{out} holds another run: {'; '.join(differing)}.",
            f"To go on with it, leave its settings as they were; to start anew, give a new --out or delete {out}.",
        )


def with_stored_choices(settings: Settings, out: Path) -> Settings:
    """Another machine or another budget might choose otherwise: a run keeps the model and the training that it began with."""
    stored = _read_settings(out)
    kept = {}
    for section in ("model", "training"):
        new, old = getattr(settings, section), vars(getattr(stored, section))
        free = (*ASKED, *HOW, *FOLLOWING)
        chosen = {name: old[name] for name, value in vars(new).items() if value is None and name not in free}
        kept[section] = new.model_copy(update=chosen)
    return settings.model_copy(update=kept)


def _read_settings(out: Path) -> Settings:
    """Of the run that stands here. Before there was another optimiser, it was Adam."""
    stored = build_settings(read_yaml(out / "config.yaml"))
    optimizer = stored.training.optimizer or "adam"
    return stored.model_copy(update={"training": stored.training.model_copy(update={"optimizer": optimizer})})


def best_so_far(out: Path, metric: str) -> float | None:
    """What validation found of the model in best/."""
    if not (out / "best").exists():
        return None
    found = read_manifest(out / "best").provenance.metrics
    return Validation.from_metrics(found).value(metric)
