"""A run of `headway train`, read back from its directory: what it was told, what it found, how fast it was."""

import json
import math
import os
import shlex
import statistics
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from headway.bundle import Manifest, read_manifest
from headway.config import Settings, build_settings, read_yaml
from headway.data.facts import Facts
from headway.errors import DataError
from headway.reports.curves import Record, read_metrics
from headway.reports.runs.tested import Tested, read_tested

LISTED = 8  # runs of a directory that are named


@dataclass(frozen=True)
class RunRecord:
    directory: Path
    name: str  # that tells it from others
    settings: Settings
    records: list[Record]
    manifest: Manifest | None  # of the best model
    parameters: int | None  # of it
    tested: list[Tested]  # by a translator
    facts: Facts | None
    missing: list[str]  # what is not there, and why, for a person
    saved: int = 0  # updates that the newest checkpoint holds

    @property
    def task(self) -> str:
        return self.settings.data.task

    @property
    def steps(self) -> int:
        return int(self.records[-1]["step"]) if self.records else self.saved

    @property
    def seconds(self) -> float | None:
        return self.records[-1].get("seconds") if self.records else None

    @property
    def tokens_per_second(self) -> float | None:
        return self._usual("tokens_per_second")

    @property
    def mfu(self) -> float | None:
        """Share of the machine's peak."""
        return self._usual("mfu")

    @property
    def test(self) -> dict[str, float]:
        """Figures of the test part, as bleu or loss."""
        return self._found("test_")

    @property
    def valid(self) -> dict[str, float]:
        """What validation found of the best model."""
        return self._found("valid_")

    def points(self, figure: str, over: str = "step") -> list[tuple[float, float]]:
        """A figure of the reports over the updates, or over another figure."""
        pairs = [(record.get(over), record.get(figure)) for record in self.records]
        return [(x, y) for x, y in pairs if x is not None and y is not None]

    def _found(self, part: str) -> dict[str, float]:
        metrics = self.manifest.provenance.metrics if self.manifest else {}
        return {name.removeprefix(part): value for name, value in metrics.items() if name.startswith(part)}

    def _usual(self, figure: str) -> float | None:
        values = [value for _, value in self.points(figure)]
        return statistics.median(values) if values else None


def read_run(directory: Path) -> RunRecord:
    """What is in the directory of a run; of one that has not ended, what there is yet."""
    if not _is_run(directory):
        raise _tell_no_run(directory)
    settings = build_settings(read_yaml(directory / "config.yaml"))
    missing = []
    records = read_metrics(directory / "metrics.jsonl") if (directory / "metrics.jsonl").exists() else []
    manifest, parameters, saved = None, None, _read_saved(directory / "checkpoints")
    if (directory / "best").exists():
        manifest = read_manifest(directory / "best")
        parameters = count_parameters(directory / "best" / "weights.safetensors")
    else:
        goes_on = f"goes on after update {saved:,}, the last that was saved" if saved else "begins it, since nothing is saved"
        missing.append(f"This run has not been validated yet. Its `headway train` command, given again, {goes_on}.")
    tested: list[Tested] = []
    if manifest and not any(name.startswith("test_") for name in manifest.provenance.metrics):
        missing.append("The run is not complete: its best model is not tested yet.")
    elif manifest and settings.data.task == "translate":
        if (directory / "test.jsonl").exists():
            tested = read_tested(directory / "test.jsonl")
        else:
            missing.append("There is no test.jsonl: an earlier Headway tested this run. Its `headway train` command makes it.")
    facts = _read_facts(directory / "data" / "prepared.json")
    if facts is None:
        missing.append("The prepared data is not there any more, and with it what was read and dropped.")
    name = directory.absolute().name
    return RunRecord(directory, name, settings, records, manifest, parameters, tested, facts, missing, saved)


def _is_run(directory: Path) -> bool:
    return (directory / "config.yaml").is_file()


def _tell_no_run(directory: Path) -> DataError:
    """What it is instead, if it is near to one."""
    place = directory.absolute()
    around = next((parent for parent in (place.parent, place.parent.parent) if _is_run(parent)), None)
    if around is not None and directory.is_dir():
        meant = os.path.relpath(around) if not directory.is_absolute() else str(around)
        return DataError(f"{directory} is a part of a run, not the run.", f"Did you mean {meant}?")
    inside = sorted(path for path in directory.iterdir() if _is_run(path)) if directory.is_dir() else []
    if inside:
        more = f" and {len(inside) - LISTED:,} more" if len(inside) > LISTED else ""
        told = ", ".join(path.name for path in inside[:LISTED])
        example = " ".join(shlex.quote(str(path)) for path in inside[:2])
        return DataError(
            f"{directory} is no run, but holds some: {told}{more}.", f"Name those to report: headway report {example}"
        )
    what = "holds no run: it has no config.yaml" if directory.is_dir() else "is no directory"
    return DataError(f"{directory} {what}.", "Give the directory that was the --out of `headway train`, as runs/en-de.")


def _read_saved(checkpoints: Path) -> int:
    """Updates of the newest checkpoint that can be read; 0 where there is none."""
    for state in sorted(checkpoints.glob("step-*/state.json"), reverse=True):
        try:
            return int(json.loads(state.read_text(encoding="utf-8"))["step"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return 0


def count_parameters(weights: Path) -> int | None:
    """From the head of the file alone, without torch."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, framework="np") as file:
            names = file.keys()
            shapes = [file.get_slice(name).get_shape() for name in names]
    except (OSError, SafetensorError):
        return None
    return sum(math.prod(shape) for shape in shapes)


def _read_facts(path: Path) -> Facts | None:
    try:
        return TypeAdapter(Facts).validate_python(json.loads(path.read_text(encoding="utf-8"))["facts"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
