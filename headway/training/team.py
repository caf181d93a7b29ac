"""A trainer in each process of a group: the first one plans, tells the others, and all build and run the same.

`lead` is for the first process, `follow` for every other.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from headway.amounts import amount
from headway.architectures import AnyArchitecture, Architecture, T5Architecture, VitArchitecture
from headway.bundle import read_bundle, read_manifest
from headway.config import Settings, TrainingSettings, build_settings
from headway.data.objectives import Objective, PictureClasses, build_objective
from headway.data.prepare import Prepared, load_prepared
from headway.errors import TrainingError
from headway.models.build import build
from headway.models.model import Model, count_parameters
from headway.models.weights import get_weights
from headway.progress import Display
from headway.training.directory import best_so_far
from headway.training.group import Group
from headway.training.learner import Learner
from headway.training.loop import Keep, Trainer, Weights
from headway.training.loss import Loss
from headway.training.machine import DTYPES, bound_products, keep_memory, threads
from headway.training.r_drop import RDropLoss
from headway.training.recompute import recompute_layers
from headway.training.replicas import Replicas
from headway.training.start import take_over
from headway.training.state import State
from headway.training.transfer import plan_transfer
from headway.training.validation import TranslationValidator, Validation, Validator
from headway.training.workers import start_group


@dataclass(frozen=True)
class Orders:
    """What all processes must know. With `rehearsal`, so many seconds of updates are made, and nothing is kept."""

    settings: Settings  # resolved
    architecture: AnyArchitecture
    out: Path  # the run's directory, with its data
    checkpoint: Path | None = None  # where to go on from
    rehearsal: float | None = None

    def to_json(self) -> str:
        sections = {"settings": self.settings, "architecture": self.architecture}
        content: dict[str, Any] = {name: section.model_dump(by_alias=True) for name, section in sections.items()}
        checkpoint = self.checkpoint and str(self.checkpoint)
        return json.dumps(content | {"out": str(self.out), "checkpoint": checkpoint, "rehearsal": self.rehearsal})

    @classmethod
    def from_json(cls, text: str) -> "Orders":
        content = json.loads(text)
        return cls(
            settings=build_settings(content["settings"]),
            architecture=TypeAdapter(AnyArchitecture).validate_python(content["architecture"]),
            out=Path(content["out"]),
            checkpoint=content["checkpoint"] and Path(content["checkpoint"]),
            rehearsal=content["rehearsal"],
        )


@contextmanager
def lead(orders: Orders, prepared: Prepared, display: Display, keep: Keep, torchrun: Group | None = None) -> Iterator[Trainer]:
    """The first process's trainer, in a group of those that torchrun started or of as many as the settings say."""
    with threads(orders.settings.training.threads), _group(torchrun, orders.settings) as group:
        group.tell(orders.to_json())
        yield _build_trainer(orders, prepared, display, group, keep)


def follow(group: Group) -> None:
    """What every process but the first does: hear what is to be done, and do it in step with the others."""
    orders = Orders.from_json(group.tell(""))
    prepared = load_prepared(orders.out / "data", orders.settings)
    with threads(orders.settings.training.threads), Path(os.devnull).open("w") as nowhere, Display(nowhere) as display:
        trainer = _build_trainer(orders, prepared, display, group, _keep_nothing)
        if orders.rehearsal:
            trainer.rehearse(orders.rehearsal)
        else:
            trainer.run()
    group.leave()


def build_run_objective(settings: Settings, architecture: AnyArchitecture, prepared: Prepared, *, moved: bool) -> Objective:
    """What the run learns from. `moved`: pictures are moved about, as in training."""
    data = settings.data
    if isinstance(architecture, VitArchitecture):
        a = architecture
        half = [0.5] * a.channels
        shift = data.shift if moved else 0
        return PictureClasses(channels=a.channels, size=a.image_size, patches=a.patches, mean=half, deviation=half, shift=shift)
    longest = getattr(architecture, "max_positions", data.max_length)
    return build_objective(
        data.task, prepared.tokenizers, hidden=data.hidden or 0.0, span=data.span, whole_words=data.whole_words, longest=longest
    )


def build_validator(
    settings: Settings,
    architecture: AnyArchitecture,
    prepared: Prepared,
    group: Group,
    part: Literal["valid", "test"] = "valid",
) -> Validator:
    objective = build_run_objective(settings, architecture, prepared, moved=False)
    if settings.data.task == "translate":
        pairs, extra = prepared.valid, settings.decoding.max_extra
        return TranslationValidator(pairs, prepared.tokenizers, objective, settings.training, extra, group)
    accuracy = settings.data.task in ("classify", "mlm")
    return Validator(prepared.held_out(part), objective, group, accuracy=accuracy)


def describe(trainer: Trainer) -> str:
    training, model, group = trainer.settings.training, trainer.learner.model, trainer.group
    a = model.architecture
    layers, tokens = amount(a.n_layers, "layer"), "tokens"
    if isinstance(a, Architecture | T5Architecture):
        layers, tokens = f"{a.n_layers}+{a.n_decoder_layers} layers", "target tokens"
    start, preset = training.init, trainer.settings.model.preset
    named = f"of {start}" if start else f"{preset}" if a.kind == "transformer" else f"{a.kind} {preset}"
    assert training.threads  # which are chosen by now
    cores = f"{group.size} x {amount(training.threads, 'core')}"
    where = amount(group.size, "GPU") if group.device.type == "cuda" else cores
    return (
        f"Model {named}: {layers}, d_model {a.d_model}, "
        f"{amount(a.n_heads, 'head')}, {count_parameters(model):,} parameters; {training.batch_tokens:,} {tokens} an update, "
        f"dropout {a.dropout:g}, {(training.optimizer or 'adam').capitalize()}; {where}, {training.precision}."
    )


@contextmanager
def _group(torchrun: Group | None, settings: Settings) -> Iterator[Group]:
    if torchrun:
        try:
            yield torchrun
        finally:
            torchrun.leave()
    else:
        assert isinstance(settings.training.processes, int)
        with start_group(settings.training.processes) as group:
            yield group


def _build_trainer(orders: Orders, prepared: Prepared, display: Display, group: Group, keep: Keep) -> Trainer:
    keep_memory()
    bound_products()
    training = orders.settings.training

    start = read_bundle(Path(training.init)) if training.init else None
    new_vocabulary = orders.settings.tokenizer.vocabulary == "new"
    transfer = plan_transfer(start, prepared.tokenizers) if start and new_vocabulary else None

    def begin() -> Model:
        model = build(orders.architecture, pad=prepared.tokenizers.source.pad, seed=training.seed)
        if start:
            if read_manifest(start.directory) != start.manifest:
                raise TrainingError(f"{start.directory} was replaced while this run began with it.", "Start the run anew.")
            take_over(model, start, prepared.tokenizers, transfer)
        return model

    model = begin().to(group.device)
    if training.recompute:
        recompute_layers(model)
    trainer = Trainer(
        settings=orders.settings,
        prepared=prepared,
        objective=build_run_objective(orders.settings, orders.architecture, prepared, moved=True),
        first_weights=lambda: get_weights(begin()),
        learner=_build_learner(_build_loss(model, training), group, training),
        group=group,
        validator=build_validator(orders.settings, orders.architecture, prepared, group),
        directory=orders.out,
        display=display,
        keep=keep,
    )
    if orders.checkpoint:
        trainer.go_on_from(orders.checkpoint, best_so_far(orders.out, training.metric or "loss"))
    return trainer


def _build_loss(model: Model, training: TrainingSettings) -> Loss:
    smoothing, dtype = training.label_smoothing or 0.0, DTYPES[training.precision or "fp32"]
    if training.r_drop:
        return RDropLoss(model, smoothing=smoothing, strength=training.r_drop, dtype=dtype)
    return Loss(model, smoothing=smoothing, dtype=dtype)


def _build_learner(loss: Loss, group: Group, training: TrainingSettings) -> Learner:
    if group.size == 1 or not training.shard:
        return Replicas(loss, group, training.ema, training.optimizer)
    from headway.training.shards import Shards  # FSDP takes a second to import

    return Shards(loss, group, training.ema)


def _keep_nothing(name: str, state: State, found: Validation | None, weights: Weights) -> None:
    """The first process writes."""
