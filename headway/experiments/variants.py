"""Models that are trained alike but for one thing, each once for each seed, and tested on the same sentences."""

import hashlib
import json
import math
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from headway.architectures import Architecture
from headway.atomic import write_file
from headway.bundle import read_manifest
from headway.config import Section, Settings, build_settings, merge
from headway.data.prepare import Prepared
from headway.errors import RequestError
from headway.evaluation.evaluate import evaluate
from headway.evaluation.evaluation import Evaluation, System
from headway.experiments.experiment import Request
from headway.models.build import assemble
from headway.models.model import count_parameters
from headway.progress import Display
from headway.training.forecast import USED, count_updates, read_epoch
from headway.training.group import Group
from headway.training.machine import measure_joint_peak
from headway.training.run import prepare_run, run_training
from headway.training.team import Orders

TESTING = 30.0  # seconds: what follows the training of a model; averaging, converting, testing
MINUTES = 5.0  # of training a model, where the user names no budget


@dataclass(frozen=True)
class Variant:
    """A model of an experiment: what is changed, and what the paper found for the like change."""

    name: str
    changes: Mapping[tuple[str, str], Any] = field(default_factory=dict)  # by section and name of the setting
    row: str = ""  # where it stands in the paper
    paper: Mapping[str, float] = field(default_factory=dict)  # bleu, perplexity


@dataclass(frozen=True)
class Record:
    """One trained and tested model, as it is kept."""

    seed: int
    parameters: int
    updates: int
    seconds: float  # with all that follows the training
    perplexity: float  # of the validation part, a piece
    sources: list[str]
    references: list[str]
    translations: list[str]


@dataclass(frozen=True)
class Trained:
    variant: Variant
    records: list[Record]  # one a seed

    @property
    def first(self) -> Record:
        return self.records[0]

    @cached_property
    def perplexity(self) -> float:
        return math.exp(sum(math.log(one.perplexity) for one in self.records) / len(self.records))

    def as_system(self) -> System:
        return System(self.variant.name, [one.translations for one in self.records])


def complete(settings: Settings) -> Settings:
    """What experiments take where the user does not say: the smallest model, five minutes each, and no early end."""
    training, model = settings.training, settings.model
    unlimited = not (training.max_minutes or training.max_steps or training.max_epochs)
    budget = {"max_minutes": MINUTES} if unlimited else {}
    return settings.model_copy(
        update={
            "model": model.model_copy(update={"preset": model.preset or "tiny"}),
            "training": training.model_copy(update={"patience": 0, **budget}),
        }
    )


def choose_rows(request: Request, variants: Sequence[Variant]) -> list[Variant]:
    """Those that are asked for, by row or by name, beside the first one, which the others are compared with."""
    known = {name.lower() for one in variants for name in (one.row, one.name) if name}
    unknown = [name for name in request.rows if name.lower() not in known]
    if unknown:
        raise RequestError(f"There is no row {', '.join(unknown)}.", f"There are: {', '.join(sorted(known))}.")
    wanted = {name.lower() for name in request.rows}
    return [one for at, one in enumerate(variants) if not wanted or at == 0 or wanted & {one.row.lower(), one.name.lower()}]


def promise_training(request: Request, variants: Sequence[Variant]) -> float:
    """Seconds that training and testing the models takes, each for each seed. Of updates or epochs it is an estimate."""
    first = request.settings.training.seed
    wanted = [vary(request.settings, variant, seed=first + seed) for variant in variants for seed in range(request.seeds)]
    missing = [one for one in wanted if not find_run(request, one).with_suffix(".json").exists()]
    minutes = request.settings.training.max_minutes
    if minutes:
        return len(missing) * (60 * minutes + TESTING)
    seconds = 0.0
    for settings in missing:
        orders, prepared = look_at(request, settings)
        assert isinstance(orders.architecture, Architecture)
        training = orders.settings.training
        epoch = read_epoch(prepared.store_of_epoch(0), orders.architecture, training)
        flops = epoch.flops / epoch.updates * count_updates(training, epoch, 1.0)
        seconds += flops / (USED * measure_joint_peak(training, Group().device)) + TESTING
    return seconds


def vary(settings: Settings, variant: Variant, **training: Any) -> Settings:
    """The settings of one of the models."""
    changes = {**variant.changes, **{("training", name): value for name, value in training.items()}}
    return build_settings(merge(settings.model_dump(by_alias=True), changes))


def train_variants(request: Request, variants: Sequence[Variant], display: Display) -> list[Trained]:
    """Those that are trained already are not trained again; one that was interrupted goes on."""
    jobs = [(variant, seed) for seed in range(request.seeds) for variant in variants]
    records: dict[str, list[Record]] = {variant.name: [] for variant in variants}
    for number, (variant, seed) in enumerate(jobs, start=1):
        of_seed = f", seed {seed + 1} of {request.seeds}" if request.seeds > 1 else ""
        display.say(f"\n[{number}/{len(jobs)}] {variant.name}{of_seed}")
        records[variant.name].append(train_variant(request, variant, request.settings.training.seed + seed, display))
    return [Trained(variant, records[variant.name]) for variant in variants]


def train_variant(request: Request, variant: Variant, seed: int, display: Display) -> Record:
    """Train and test one, in a run of its own on data that all runs share; what is kept of it is small."""
    settings = vary(request.settings, variant, seed=seed)
    run = find_run(request, settings)
    kept = run.with_suffix(".json")
    if kept.exists():
        display.say(f"It stands in {kept}.")
        return Record(**json.loads(kept.read_text(encoding="utf-8")))
    begun = time.monotonic()
    with _shared_data(request, settings):
        result = run_training(settings, run, display)
    manifest = read_manifest(result.model)
    record = Record(
        seed=seed,
        parameters=count_parameters(assemble(manifest.architecture, pad=0)),
        updates=result.steps,
        seconds=round(time.monotonic() - begun, 1),
        perplexity=math.exp(manifest.provenance.metrics["valid_loss"]),
        sources=[one.source for one in result.tested],
        references=[one.reference for one in result.tested],
        translations=[one.translation for one in result.tested],
    )
    write_file(kept, json.dumps(asdict(record), ensure_ascii=False) + "\n")
    return record


def find_run(request: Request, settings: Settings) -> Path:
    """Where a model's run stands: by its settings, since other experiments may want the same."""
    return request.pool / _digest(settings)


def _digest(*sections: Section) -> str:
    return hashlib.sha256("".join(one.model_dump_json() for one in sections).encode()).hexdigest()[:12]


def look_at(request: Request, settings: Settings) -> tuple[Orders, Prepared]:
    """A model's shape and its data, which are prepared if they are not there."""
    with _shared_data(request, settings):
        return prepare_run(settings, find_run(request, settings), Display(StringIO()))


@contextmanager
def _shared_data(request: Request, settings: Settings) -> Iterator[None]:
    """What was prepared for one run serves the others."""
    common, own = request.pool / f"data-{_digest(settings.data, settings.tokenizer)}", find_run(request, settings) / "data"
    if common.exists() and not own.exists():
        shutil.copytree(common, own)
    yield
    if not common.exists():
        shutil.copytree(own, common)


def compare(trained: Sequence[Trained], display: Display) -> Evaluation:
    """All against the first one, on the test part."""
    first = trained[0].first
    evaluation = evaluate(
        [one.as_system() for one in trained],
        [first.references],
        sources=first.sources,
        on_progress=display.update,
    )
    display.close()
    return evaluation
