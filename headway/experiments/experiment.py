"""What all experiments share: what is asked of them, what they find, and how that is kept and shown.

An experiment is a module with a `CLAIM` (what the paper says, and where), the options that it `TAKES`, a `promise` of the
seconds that it needs, and `run`, which finds something out; those that take rows or changes also have a `check` of what is
asked. What it found stands in `request.out`, what it trained beside that: the same command goes on there.
"""

import json
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from headway import __version__
from headway.atomic import write_file, writing
from headway.bundle import read_manifest
from headway.config import Settings
from headway.cores import count_cores, name_processor
from headway.data.prepare import directions_of, fingerprint_corpora
from headway.errors import DataError, RequestError
from headway.progress import Display, duration
from headway.training.request import check_request, family_of
from headway.training.start import read_start

Option = Literal["train", "rows", "seeds", "model", "vary"]  # of the command line


@dataclass(frozen=True)
class Request:
    """What a user asks for: the settings that all models have in common, their budget among them."""

    settings: Settings
    out: Path
    seeds: int = 1
    rows: tuple[str, ...] = ()  # names of the only rows that are wanted; all if empty
    model: Path | None = None  # a trained one to look at, where an experiment needs but one
    vary: tuple[str, ...] = ()  # changes that are the user's own, each as words of a command line: dropout=0.1

    @property
    def pool(self) -> Path:
        """Where the models stand: what one experiment has trained, another one need not train."""
        return self.out.parent / "runs"

    @cached_property
    def corpora(self) -> dict[str, str]:
        """SHA-256 of each file of text, by its name."""
        return fingerprint_corpora(self.settings) if self.settings.data.train else {}

    def describe(self) -> dict[str, Any]:
        """All that the outcome depends on, for the record: files by their contents too."""
        return {
            "settings": self.settings.model_dump(by_alias=True, exclude_defaults=True),
            "seeds": self.seeds,
            "rows": list(self.rows),
            "corpora": self.corpora,
            "model": read_manifest(self.model).files if self.model else {},
            **({"vary": list(self.vary)} if self.vary else {}),
            **({"init": read_manifest(Path(init)).files} if (init := self.settings.training.init) else {}),
        }


@dataclass(frozen=True)
class Findings:
    """A table for people, the same for programs, and in words what it comes to."""

    columns: list[str]
    rows: list[list[str]]
    figures: list[dict[str, Any]]
    story: list[str]
    pictures: list[Path] = field(default_factory=list)


class Experiment(Protocol):
    CLAIM: str
    TAKES: Collection[Option]

    def check(self, request: Request) -> None:
        """Refuse rows or changes that cannot be, before any text is read. Only of experiments that take them."""

    def promise(self, request: Request, display: Display) -> float: ...

    def run(self, request: Request, display: Display) -> Findings: ...


def conduct(name: str, experiment: Experiment, request: Request, display: Display) -> Findings:
    """Promise, run, and keep what was found: `results.json` and `table.md` beside the pictures."""
    with _sitting(name, request) as record:
        display.say(experiment.CLAIM)
        left = experiment.promise(request, display)
        display.close()
        until = datetime.now() + timedelta(seconds=left)
        if "promised_seconds" in record:
            display.say(f"Going on after {duration(record['seconds'])}: about {duration(left)} left, until {until:%H:%M}.")
        else:
            display.say(f"This takes about {duration(left)}: until {until:%H:%M}.")
        promised = record.setdefault("promised_seconds", round(left, 1))
        _write_record(request.out, record)
        findings = experiment.run(request, display)
    took = _read_record(request.out)["seconds"]
    display.say(f"It took {duration(took)}; {duration(promised)} were promised.")
    results = {
        "experiment": name,
        "claim": experiment.CLAIM,
        "machine": describe_machine(),
        "request": request.describe(),
        "promised_seconds": promised,
        "seconds": took,
        "rows": findings.figures,
        "story": findings.story,
    }
    write_file(request.out / "results.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    table = "\n".join([*format_markdown(findings.columns, findings.rows), "", *findings.story])
    write_file(request.out / "table.md", f"{experiment.CLAIM}\n\n{table}\n")
    return findings


def check_experiment(name: str, experiment: Experiment, request: Request) -> None:
    """What an experiment does not take would be ignored: it is refused."""
    given: dict[Option, bool] = {
        "train": bool(request.settings.data.train),
        "rows": bool(request.rows),
        "seeds": request.seeds > 1,
        "model": request.model is not None,
        "vary": bool(request.vary),
    }
    foreign = [f"--{option}" for option, is_given in given.items() if is_given and option not in experiment.TAKES]
    if foreign:
        raise RequestError(f"The experiment {name} has no {', '.join(foreign)}.", "Leave that out.")
    if "train" in experiment.TAKES and not request.model:
        check_settings(request.settings)
    if {"rows", "vary"} & {*experiment.TAKES}:
        experiment.check(request)


def check_settings(settings: Settings) -> None:
    """Of one of an experiment's models."""
    if settings.data.monolingual_target:
        raise RequestError("Experiments train on the corpora alone.", "Leave out --monolingual-target.")
    check_request(settings)
    if family_of(settings) != "transformer":
        raise RequestError("Experiments are about the paper's model.", "Leave out --family.")
    read_start(settings)
    if len(directions_of(settings)) > 1:
        raise RequestError("Experiments have one direction.", "Give one language to --from, and one to --to.")


def format_markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["-" * 3 + (":" if at else "") for at in range(len(columns))]
    return [f"| {' | '.join(cells)} |" for cells in (columns, rule, *rows)]


def describe_machine() -> dict[str, Any]:
    """What a figure was measured on."""
    import torch

    return {
        "processor": name_processor(),
        "cores": count_cores(),
        "gpus": torch.cuda.device_count(),
        "torch": torch.__version__,
        "headway": __version__,
    }


@contextmanager
def _sitting(name: str, request: Request) -> Iterator[dict[str, Any]]:
    """The experiment's record, with the time that it has taken so far; whatever ends the sitting, its time is counted."""
    wanted = {"experiment": name, **request.describe()}  # which looks whether the files are there
    with writing(request.out):
        request.out.mkdir(parents=True, exist_ok=True)
    anew = {**wanted, "seconds": 0.0}
    record = _read_record(request.out) or anew
    if set(record.get("vary", [])) < set(request.vary):  # more rows of the same table
        record = {**anew, **{key: record.get(key) for key in wanted if key != "vary"}}
    other = [key for key, value in wanted.items() if record.get(key) != value]
    if other:
        raise RequestError(
            f"{request.out} holds another experiment: its {', '.join(other)} differ.",
            "Give another --out, or the same request.",
        )
    begun, before = time.monotonic(), record["seconds"]
    try:
        yield record
    finally:
        if "promised_seconds" in record:
            _write_record(request.out, {**record, "seconds": round(before + time.monotonic() - begun, 1)})
        elif not any(request.out.iterdir()):  # it was not even a request that can be met
            request.out.rmdir()


def _write_record(out: Path, record: dict[str, Any]) -> None:
    write_file(out / "experiment.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def _read_record(out: Path) -> dict[str, Any]:
    path = out / "experiment.json"
    if not path.exists():
        if any(file.name[0] != "." for file in out.iterdir()):
            raise RequestError(f"{out} holds something that is no experiment.", "Give --out a new directory.")
        return {}
    record = read_json(path)
    if not isinstance(record.get("seconds"), float | int):
        raise _damaged(path)
    return record


def read_json(path: Path) -> dict[str, Any]:
    """An object that an experiment has written."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise _damaged(path) from None
    if not isinstance(found, dict):
        raise _damaged(path)
    return found


def _damaged(path: Path) -> DataError:
    return DataError(f"{path} is damaged.", "Delete it to find it out anew, or give another --out.")
