"""A run's directory: what may stand in it, whose it is, and whether it is the run that is asked for."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from headway.atomic import write_file, writing
from headway.bundle import read_manifest
from headway.config import Settings, build_settings, read_yaml
from headway.errors import RequestError
from headway.training.choices import ASKED, FOLLOWING, HOW
from headway.training.validation import Validation

OWN_FILES = {
    "config.yaml",
    "data",
    "forecast",
    "run.lock",
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


def check_directory(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise RequestError(f"{out} is a file.", "Give --out a directory.")
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
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
    """Two runs at once in one directory are refused; the lock goes with the process that holds it."""
    held, owner = FileLock(out / "run.lock", timeout=0), out / "run.owner"
    with writing(out):
        try:
            held.acquire()
        except Timeout:
            whose = owner.read_text() if owner.exists() else "another process"
            raise RequestError(
                f"A run is in progress in {out}: {whose}.", "Wait for it or stop it, or give another --out."
            ) from None
    try:
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        write_file(owner, f"process {os.getpid()} on {socket.gethostname()}, since {now}")
        yield
    finally:
        owner.unlink(missing_ok=True)
        held.release()


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
        old, new = (vars(getattr(which, section)) for which in (stored, settings))
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
