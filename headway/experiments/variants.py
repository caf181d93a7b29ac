"""Models that are trained alike but for one thing, each once for each seed, and tested on the same sentences."""

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from io import StringIO
from pathlib import Path
from typing import Any

from headway.architectures import Architecture
from headway.atomic import new_directory, write_file
from headway.bundle import read_manifest
from headway.config import Section, Settings, build_settings, merge
from headway.data.prepare import Prepared, fingerprint_corpora, prepare
from headway.errors import DataError, RequestError
from headway.evaluation.evaluate import evaluate
from headway.evaluation.evaluation import Evaluation, System
from headway.experiments.experiment import Request, read_json
from headway.models.build import assemble
from headway.models.model import count_parameters
from headway.progress import Display, duration
from headway.training.forecast import USED, count_updates, read_epoch
from headway.training.group import Group
from headway.training.machine import measure_joint_peak
from headway.training.run import prepare_run, run_training
from headway.training.start import describe_start, open_start
from headway.training.team import Orders
from headway.translator import load

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


def complete(settings: Settings, *, of_paper: bool) -> Settings:
    """What experiments take where the user does not say: tiny models, five minutes each, and no early end; for the
    paper's claims its optimiser.
    """
    training, model = settings.training, settings.model
    unlimited = not (training.max_minutes or training.max_steps or training.max_epochs)
    budget = {"max_minutes": MINUTES} if unlimited else {}
    optimizer = training.optimizer or ("adam" if of_paper else None)
    return settings.model_copy(
        update={
            "model": model.model_copy(update={"preset": model.preset or (None if training.init else "tiny")}),
            "training": training.model_copy(update={"patience": 0, "optimizer": optimizer, **budget}),
        }
    )


def settle(request: Request, display: Display) -> Request:
    """The request with what text and budget decide of dropout and batch, once for all models: rows differ in what they say."""
    given = request.settings
    if given.model.dropout is not None and given.training.batch_tokens:
        return request
    looked_at = find_run(request, given)
    chosen = look_at(request, given, display)[0].settings
    shutil.rmtree(looked_at)  # no model will have these settings
    updates = {name: getattr(chosen.training, name) for name in ("batch_tokens", "accumulate")}
    sections = {
        "model": given.model.model_copy(update={"dropout": chosen.model.dropout}),
        "training": given.training.model_copy(update=updates),
    }
    return replace(request, settings=given.model_copy(update=sections))


def choose_rows(request: Request, variants: Sequence[Variant]) -> list[Variant]:
    """Those that are asked for, by row or by name, beside the first one, which the others are compared with."""
    known = list(dict.fromkeys(name for one in variants[1:] for name in (one.row, one.name) if name))
    unknown = [name for name in request.rows if name.lower() not in map(str.lower, known)]
    if unknown:
        raise RequestError(f"There is no row {', '.join(unknown)}.", f"There are: {', '.join(known)}.")
    wanted = {name.lower() for name in request.rows}
    return [one for at, one in enumerate(variants) if not wanted or at == 0 or wanted & {one.row.lower(), one.name.lower()}]


def promise_training(request: Request, variants: Sequence[Variant], display: Display) -> float:
    """Seconds that training and testing the models takes, each for each seed. Of updates or epochs it is an estimate."""
    first = request.settings.training.seed
    wanted = [vary(request.settings, variant, seed=first + seed) for variant in variants for seed in range(request.seeds)]
    trained = {find_run(request, one): one for one in (with_common_search(request, settings) for settings in wanted)}
    tested = {find_run(request, one) for one in wanted} | trained.keys()
    missing = {run for run in tested if not is_trained(run)}
    return len(missing) * TESTING + sum(_estimate(request, trained[run], display) for run in missing & trained.keys())


def _estimate(request: Request, settings: Settings, display: Display) -> float:
    """Seconds of training a model."""
    if settings.training.max_minutes:
        return 60 * settings.training.max_minutes
    orders, prepared = look_at(request, settings, display)
    assert isinstance(orders.architecture, Architecture)
    training = orders.settings.training
    epoch = read_epoch(prepared.store_of_epoch(0), orders.architecture, training)
    flops = epoch.flops / epoch.updates * count_updates(training, epoch, 1.0)
    return flops / (USED * measure_joint_peak(training, Group().device))


def vary(settings: Settings, variant: Variant, **training: Any) -> Settings:
    """The settings of one of the models."""
    changes = {**variant.changes, **{("training", name): value for name, value in training.items()}}
    return build_settings(merge(settings.model_dump(by_alias=True), changes))


def train_variants(request: Request, variants: Sequence[Variant], display: Display) -> list[Trained]:
    """Those that are trained already are not trained again; one that was interrupted goes on."""
    jobs = [(variant, seed) for seed in range(request.seeds) for variant in variants]
    records: dict[str, list[Record]] = {variant.name: [] for variant in variants}
    taken: list[float] = []
    for number, (variant, seed) in enumerate(jobs, start=1):
        of_seed = f", seed {seed + 1} of {request.seeds}" if request.seeds > 1 else ""
        left = f", about {duration(sum(taken) / len(taken) * (len(jobs) + 1 - number))} left" if taken else ""
        display.say(f"\n[{number}/{len(jobs)}] {variant.name}{of_seed}{left}")
        begun = time.monotonic()
        records[variant.name].append(train_variant(request, variant, request.settings.training.seed + seed, display))
        if time.monotonic() - begun > 1:  # it did not stand there already
            taken.append(time.monotonic() - begun)
    return [Trained(variant, records[variant.name]) for variant in variants]


def train_variant(request: Request, variant: Variant, seed: int, display: Display, *, keep_checkpoints: bool = False) -> Record:
    """Train and test one, in a run of its own on data that all runs share. When it is tested, its checkpoints may go."""
    settings = vary(request.settings, variant, seed=seed)
    run = find_run(request, settings)
    kept = run.with_suffix(".json")
    if is_trained(run):
        display.say(f"Trained before: {kept}")
        return _read_record(kept)
    if settings != with_common_search(request, settings):
        record = _search_anew(request, variant, settings, display)
        write_file(kept, json.dumps(asdict(record), ensure_ascii=False) + "\n")
        return record
    begun = time.monotonic()
    _share_data(request, settings, display)
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
    if not keep_checkpoints:
        shutil.rmtree(run / "checkpoints")
    return record


def with_common_search(request: Request, settings: Settings) -> Settings:
    """A model that is searched in another manner than the others is trained as if it were not."""
    return settings.model_copy(update={"decoding": request.settings.decoding})


def _search_anew(request: Request, variant: Variant, settings: Settings, display: Display) -> Record:
    """What a model trained before writes with another search; it is trained first if it is not there."""
    changes = {place: value for place, value in variant.changes.items() if place[0] != "decoding"}
    record = train_variant(request, replace(variant, changes=changes), settings.training.seed, display)
    model = find_run(request, with_common_search(request, settings)) / "best"
    begun = time.monotonic()
    translated = load(model, compute_type="float32").translate(
        record.sources, on_progress=partial(display.update, f"Testing {variant.name}"), **settings.decoding.model_dump()
    )
    display.close()
    return replace(record, translations=[one.text for one in translated], seconds=round(time.monotonic() - begun, 1))


def _read_record(path: Path) -> Record:
    try:
        return Record(**read_json(path))
    except TypeError:
        raise DataError(f"{path} is no record of a trained model.", "Delete it to train that model anew.") from None


def find_run(request: Request, settings: Settings) -> Path:
    """Where a model's run stands: by its settings and its text, since other experiments may want the same."""
    return request.pool / _digest(request, settings, settings)


def is_trained(run: Path) -> bool:
    """Trained, and tested."""
    return run.with_suffix(".json").exists()


def _digest(request: Request, settings: Settings, *sections: Section) -> str:
    """Of the sections, and of the files that a model with these settings reads, the model that it begins with among them."""
    corpora = request.corpora if settings.data == request.settings.data else fingerprint_corpora(settings)
    start = read_manifest(Path(settings.training.init)).files if settings.training.init else {}
    told = "".join(one.model_dump_json() for one in sections) + json.dumps(corpora) + (json.dumps(start) if start else "")
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def look_at(request: Request, settings: Settings, display: Display) -> tuple[Orders, Prepared]:
    """A model's shape and its data, which are prepared if they are not there."""
    _share_data(request, settings, display)
    return prepare_run(settings, find_run(request, settings), Display(StringIO()))


def _share_data(request: Request, settings: Settings, display: Display) -> None:
    """What is prepared for one run serves the others: the same files, under names of their own."""
    common = request.pool / f"data-{_digest(request, settings, settings.data, settings.tokenizer)}"
    followed, start = open_start(settings)
    prepare(followed, common, display.update, describe_start(start, followed) if start else None)
    display.close()
    own = find_run(request, settings) / "data"
    if not own.exists():
        with new_directory(own) as new:
            shutil.copytree(common, new, copy_function=_link, dirs_exist_ok=True)


def _link(made: str, wanted: str) -> None:
    try:
        os.link(made, wanted)
    except OSError:  # no links on this disk
        shutil.copy2(made, wanted)


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
