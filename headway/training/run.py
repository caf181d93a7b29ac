"""A run, from settings to a tested bundle: prepare, begin or go on, train, average, test."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.amounts import amount
from headway.architectures import AnyArchitecture, VitArchitecture
from headway.bundle import (
    Bundle,
    Lines,
    Manifest,
    Pictures,
    Provenance,
    Scope,
    read_manifest,
    write_bundle,
)
from headway.config import ModelSettings, Settings, read_settings
from headway.data.picture_store import picture_shape
from headway.data.prepare import Prepared, directions_of, prepare, reads_pictures, why_rebuild
from headway.errors import HeadwayError, RequestError
from headway.models.flops import Lengths, training_flops
from headway.models.presets import Needs, build_family
from headway.progress import Display
from headway.text.sentences import share_of_sentences
from headway.text.tags import list_prefixes
from headway.training.choices import (
    ASKED,
    Reading,
    choose_data,
    choose_preset,
    choose_size,
    count_tokens,
    estimate_epochs,
    resolve,
    with_budget,
)
from headway.training.directory import (
    changed_files,
    check_directory,
    locked,
    refuse_other_data,
    refuse_other_settings,
    with_stored_choices,
)
from headway.training.finish import TrainingResult, finish
from headway.training.group import Group, join_torchrun
from headway.training.loop import Keep, Trainer, Weights
from headway.training.machine import choose_division
from headway.training.request import DROPOUTS, check_request, family_of
from headway.training.start import describe_start, open_start, shape_of
from headway.training.state import State, newest_whole
from headway.training.team import Orders, build_run_objective, describe, follow, lead
from headway.training.transfer import plan_transfer
from headway.training.update import count_readings
from headway.training.validation import Validation

SENTENCES = 0.8  # share of lines with one sentence from which on a corpus is one of sentences


def train(
    out: str | Path, *, config: str | Path | None = None, display: Display | None = None, **sections: Any
) -> TrainingResult:
    """Train a translator: `headway.train("runs/en-de", data={"train": ["data/train"], "from": "en", "to": "de"})`.

    `data={"task": "lm", ...}` and others train its relatives. The sections are those of the settings file (model, tokenizer,
    data, training, decoding), each a dictionary; they win over the file. Calling it again with the same settings goes on
    where the run stood.
    """
    overrides = {(section, name): value for section, values in sections.items() for name, value in values.items()}
    with display or Display() as shown:
        return run_training(read_settings(Path(config) if config else None, overrides), Path(out), shown)


def run_training(settings: Settings, out: Path, display: Display, scope: Scope | None = None) -> TrainingResult:
    """Train, or go on; `scope` is written into the model, for those who translate with it.

    Of the processes that torchrun started, the first one comes back; the others end with their work.
    """
    check_request(settings)
    if settings.data.monolingual_target:
        from headway.training.back_translation import train_in_stages  # each of which comes back here

        return train_in_stages(settings, out, display, scope)
    torchrun = join_torchrun()
    if torchrun and not torchrun.first:
        try:
            follow(torchrun)
        except HeadwayError as error:  # which the first process tells too
            raise SystemExit(error.exit_code) from None
        os._exit(0)  # at once: taken down in order, a thread of gloo's that is still ending can abort the process
    check_directory(out)
    with locked(out):
        orders, prepared = prepare_run(settings, out, display, torchrun)
        with lead(orders, prepared, display, _bundle_writer(orders, prepared, scope), torchrun) as trainer:
            display.say(describe(trainer))
            _refuse_smaller_budget(trainer)
            if orders.checkpoint:
                display.say(f"Going on from update {trainer.state.step:,}, as saved in {orders.checkpoint}.")
            if trainer.done():
                display.say(f"This run is complete; to train longer, give it a larger {_what_ended(trainer)}.")
            trainer.write_settings()
            try:
                trainer.run()
            finally:
                display.close()
        if trainer.stopped_early():
            training = trainer.settings.training
            figures = "loss" if training.metric == "loss" else f"{training.metric} or loss"
            display.say(f"Stopped early: no better validation {figures} for {amount(training.patience, 'validation')}.")
        return finish(trainer, orders.architecture)


def prepare_run(settings: Settings, out: Path, display: Display, torchrun: Group | None = None) -> tuple[Orders, Prepared]:
    """Look at what stands in `out`, prepare the data, and make every choice; another run than the one asked for is refused."""
    checkpoint = newest_whole(out / "checkpoints", display.say)
    given, (settings, start) = settings, open_start(settings)
    if start and settings.tokenizer.vocabulary == "new" != given.tokenizer.vocabulary:
        known = ", ".join(map(str, start.manifest.directions))
        display.say(f"{start.directory} translates {known}: others want a new vocabulary; --vocabulary own keeps its own.")
    described = describe_start(start, settings) if start else None
    if checkpoint:
        refuse_other_settings(settings, out)
        refuse_other_data(out, why_rebuild(settings, out / "data", described))
        settings = with_stored_choices(settings, out)
    prepared = prepare(settings, out / "data", display.update, described)
    display.close()
    for line in [*([prepared.note] if prepared.note else []), *prepared.summary()]:
        display.say(line)
    if start and settings.tokenizer.vocabulary == "new":
        for line in plan_transfer(start, prepared.tokenizers).summary():
            display.say(line)
    asked = settings
    settings, architecture = make_choices(settings, prepared, start, torchrun)
    for line in [] if checkpoint else _tell_choices(asked, settings, prepared, start):
        display.say(line)
    if checkpoint:
        refuse_other_settings(settings, out)  # now with what the corpus chose
        refuse_other_data(out, changed_files(prepared.fingerprints, out))
    return Orders(settings, architecture, out, checkpoint), prepared


def make_choices(
    settings: Settings, prepared: Prepared, start: Bundle | None = None, torchrun: Group | None = None
) -> tuple[Settings, AnyArchitecture]:
    """The settings with every choice made that the corpus, the model to begin with, and the machine decide; and the shape."""
    pictures = reads_pictures(settings)
    family = family_of(settings)
    model = settings.model.model_copy(update={"family": family})
    settings = settings.model_copy(update={"model": model, "data": choose_data(settings.data)})
    pairs = prepared.pairs_per_epoch

    def build_shape(model: ModelSettings) -> AnyArchitecture:
        if start:
            return shape_of(start, settings, prepared.tokenizers)
        return build_family(family, model, _needs(settings, prepared, pictures=pictures))

    def look_ahead(model: ModelSettings) -> Reading:
        return _look_ahead(settings, prepared, build_shape(model))

    model, reading = (model, look_ahead(model)) if start else choose_size(model, settings.training, pairs, look_ahead)
    settings, architecture = settings.model_copy(update={"model": model}), build_shape(model)
    if settings.training.r_drop and not any(getattr(architecture, name, 0) for name in DROPOUTS):
        raise RequestError(
            "Without dropout both readings of a batch are the same, and --r-drop has nothing to compare.",
            "Give it a dropout, or leave --r-drop out.",
        )
    shape = {name: value for name, value in vars(architecture).items() if name in ModelSettings.model_fields}
    model = settings.model.model_copy(update={name: v for name, v in shape.items() if not isinstance(v, bool)})
    chosen = settings.model_copy(update={"model": model})
    chosen = resolve(chosen, pairs=pairs, target_tokens=reading.target_tokens, epochs=reading.epochs)
    tokenizer = chosen.tokenizer.model_copy(update={"vocab_size": prepared.facts.vocab_asked or None})
    training = choose_division(chosen.training, architecture.d_model, torchrun.size if torchrun else None)
    return chosen.model_copy(update={"model": model, "tokenizer": tokenizer, "training": training}), architecture


def _tell_choices(asked: Settings, chosen: Settings, prepared: Prepared, start: Bundle | None) -> Iterator[str]:
    """What one might not expect."""
    warmup, steps = chosen.training.warmup, chosen.training.max_steps
    if warmup and steps and warmup >= steps:
        yield (
            f"The warm-up of {amount(warmup, 'update')} is as long as the training or longer: the rate gets no further than "
            f"{steps / warmup:.0%} of its peak. --warmup makes it shorter."
        )
    if start:
        kept = {str(one) for one in directions_of(asked)}
        left = [str(one) for one in start.manifest.directions if str(one) not in kept]
        if left and asked.tokenizer.vocabulary != "new":
            yield f"Not gone on with, and soon forgotten: {', '.join(left)}."
        return
    fitting = choose_preset(asked.model, prepared.pairs_per_epoch)
    if fitting != chosen.model.preset:
        yield (
            f"The size is {chosen.model.preset}: for {fitting} this training is too short. A run keeps its size; one that is "
            f"to go on for longer takes --preset {fitting} from the start."
        )


def _look_ahead(settings: Settings, prepared: Prepared, a: AnyArchitecture) -> Reading:
    sizes = build_run_objective(settings, a, prepared, moved=False).sizes(prepared.train)
    target_tokens, training = count_tokens(prepared.train, sizes), settings.training
    lengths = Lengths.of(sizes.read, sizes.written, sizes.judged)
    operations = count_readings(training) * training_flops(a, lengths) * target_tokens / lengths.target
    epochs = estimate_epochs(training, d_model=a.d_model, target_tokens=target_tokens, operations=operations)
    return Reading(target_tokens, epochs)


def _needs(settings: Settings, prepared: Prepared, *, pictures: bool) -> Needs:
    tokenizers, task = prepared.tokenizers, settings.data.task
    channels, image_size = picture_shape(settings) if pictures else (1, 0)
    return Needs(
        source_vocab=tokenizers.source.size,
        target_vocab=tokenizers.target.size,
        shared=tokenizers.shared,
        classifies=task == "classify",
        longest=settings.data.max_length + (0 if task == "lm" else 2),
        channels=channels,
        image_size=image_size,
    )


def _bundle_writer(orders: Orders, prepared: Prepared, scope: Scope | None) -> Keep:
    settings, a = orders.settings, orders.architecture
    init = None if settings.tokenizer.vocabulary == "new" else settings.training.init
    kept = read_manifest(Path(init)) if init else None
    sentences = share_of_sentences([source for source, _ in prepared.valid]) >= SENTENCES
    half = [0.5] * a.channels if isinstance(a, VitArchitecture) else []
    asked = directions_of(settings, kept.directions if kept else ())
    learned = [one for one in asked if str(one) not in prepared.facts.missing]
    manifest = Manifest(
        architecture=a,
        task=settings.data.task,
        source_language=",".join(dict.fromkeys(one.source for one in learned)),
        target_language=",".join(dict.fromkeys(one.target for one in learned)),
        tokenizer=kept.tokenizer if kept else settings.tokenizer,
        decoding=settings.decoding,
        scope=scope,
        lines=Lines(sentences=sentences, longest=max(1, int(prepared.train.source_lengths.max()))),
        directions=learned,
        prefixes=list_prefixes(settings.data.prefix),
        pictures=Pictures(mean=half, deviation=half) if half else None,
    )

    def keep(name: str, state: State, found: Validation | None, weights: Weights) -> None:
        metrics = found.metrics() if found else {}
        chosen = with_budget(settings, state.budget).model_dump(by_alias=True)
        provenance = Provenance(step=state.step, settings=chosen, data=prepared.fingerprints, metrics=metrics)
        write_bundle(orders.out / name, manifest.model_copy(update={"provenance": provenance}), weights, prepared.tokenizers)

    return keep


def _refuse_smaller_budget(trainer: Trainer) -> None:
    """Before anything is written: what a run has learned is not taken back."""
    training, state = trainer.settings.training, trainer.state
    if state.budget:  # the one that it has had
        return
    budgets = [
        ("max_steps", state.step, "update"),
        ("max_epochs", trainer.count_epochs(), "epoch"),
        ("max_minutes", state.seconds / 60, "minute"),
    ]
    for name, made, unit in budgets:
        asked = getattr(training, name)
        if asked and asked != trainer.asked_before.get(name) and made > asked:
            told = amount(made if isinstance(made, int) else float(f"{made:.3g}"), unit)
            raise RequestError(
                f"{trainer.directory} has made {told} already, more than --{name.replace('_', '-')} {asked:.12g}.",
                "Give it a larger budget, or a shorter training an --out of its own.",
            )


def _what_ended(trainer: Trainer) -> str:
    """The option whose budget is spent."""
    if trainer.stopped_early():
        return "--patience, or a larger budget"
    given = (name for name in ASKED if name != "patience" and getattr(trainer.settings.training, name) is not None)
    return f"--{next(given, 'max_steps').replace('_', '-')}"
