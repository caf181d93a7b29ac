"""A run, from settings to a tested bundle: prepare, begin or go on, train, average, test."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.atomic import write_file
from headway.bundle import Lines, Manifest, Measured, Provenance, Scope, read_bundle, write_bundle
from headway.config import Architecture, ModelSettings, Settings, build_settings, merge, read_yaml
from headway.data.prepare import Prepared, prepare, why_rebuild
from headway.engines.converted import find_form
from headway.errors import HeadwayError, RequestError
from headway.evaluation.metrics import Scores, score
from headway.export.ctranslate2 import check_convertible
from headway.models.presets import build_architecture
from headway.models.transformer import build
from headway.models.weights import average_weights, set_weights
from headway.progress import Display
from headway.reports.curves import draw_learning_curve
from headway.text.sentences import share_of_sentences
from headway.training.choices import ASKED, resolve, with_budget
from headway.training.directory import (
    changed_files,
    check_directory,
    locked,
    refuse_other_data,
    refuse_other_settings,
    with_stored_precision,
)
from headway.training.fast_form import make_fast_form
from headway.training.group import Group, join_torchrun
from headway.training.loop import Keep, Trainer, Weights
from headway.training.machine import choose_division
from headway.training.state import State, list_checkpoints, load_weights, newest_whole
from headway.training.team import Orders, build_validator, describe, follow, lead
from headway.training.validation import Validation
from headway.translator import load

SENTENCES = 0.8  # share of lines with one sentence from which on a corpus is one of sentences


@dataclass(frozen=True)
class Tested:
    """A sentence of the test part."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class TrainingResult:
    directory: Path
    model: Path  # the best bundle
    steps: int
    test: Scores
    tested: list[Tested]


def train(
    out: str | Path, *, config: str | Path | None = None, display: Display | None = None, **sections: Any
) -> TrainingResult:
    """Train a translator: `headway.train("runs/en-de", data={"train": ["data/train"], "from": "en", "to": "de"})`.

    The sections are those of the settings file (model, tokenizer, data, training, decoding), each a dictionary; they win over
    the file. Calling it again with the same settings goes on where the run stood.
    """
    content = read_yaml(Path(config)) if config else {}
    overrides = {(section, name): value for section, values in sections.items() for name, value in values.items()}
    with display or Display() as shown:
        return run_training(build_settings(merge(content, overrides)), Path(out), shown)


def run_training(settings: Settings, out: Path, display: Display, scope: Scope | None = None) -> TrainingResult:
    """Train, or go on; `scope` is written into the model, for those who translate with it.

    Of the processes that torchrun started, the first one comes back; the others end with their work.
    """
    _check_request(settings)
    torchrun = join_torchrun()
    if torchrun and not torchrun.first:
        try:
            follow(torchrun)
        except HeadwayError as error:  # which the first process tells too
            raise SystemExit(error.exit_code) from None
        raise SystemExit(0)
    check_directory(out)
    with locked(out):
        orders, prepared = prepare_run(settings, out, display, torchrun)
        with lead(orders, prepared, display, _bundle_writer(orders, prepared, scope), torchrun) as trainer:
            display.say(describe(trainer))
            if orders.checkpoint:
                display.say(f"Going on from update {trainer.state.step:,}, as saved in {orders.checkpoint}.")
            if trainer.done():
                display.say(f"This run is complete; to train longer, give it a larger {_what_ended(trainer)}.")
            trainer.write_settings()
            try:
                trainer.run()
            finally:
                display.close()
        if trainer.out_of_patience():
            training = trainer.settings.training
            display.say(f"Stopped early: no better validation {training.metric} for {training.patience} validations.")
        return _finish(trainer, orders.architecture)


def prepare_run(settings: Settings, out: Path, display: Display, torchrun: Group | None = None) -> tuple[Orders, Prepared]:
    """Look at what stands in `out`, prepare the data, and make every choice; another run than the one asked for is refused."""
    checkpoint = newest_whole(out / "checkpoints", display.say)
    if checkpoint:
        refuse_other_settings(settings, out)
        refuse_other_data(out, why_rebuild(settings, out / "data"))
        settings = with_stored_precision(settings, out)
    prepared = prepare(settings, out / "data", display.update)
    display.close()
    for line in [*([prepared.note] if prepared.note else []), *prepared.summary()]:
        display.say(line)
    settings, architecture = _resolve(settings, prepared, torchrun)
    if checkpoint:
        refuse_other_settings(settings, out)  # now with what the corpus chose
        refuse_other_data(out, changed_files(prepared.fingerprints, out))
    return Orders(settings, architecture, out, checkpoint), prepared


def _resolve(settings: Settings, prepared: Prepared, torchrun: Group | None) -> tuple[Settings, Architecture]:
    """The settings with every choice made that the corpus and the machine decide, and the model's shape."""
    chosen = resolve(settings, pairs=prepared.pairs_per_epoch, target_tokens=prepared.target_tokens)
    source, target = prepared.tokenizers.source, prepared.tokenizers.target
    architecture = build_architecture(
        chosen.model, source_vocab=source.size, target_vocab=target.size, shared=prepared.tokenizers.shared
    )
    shape = {name: value for name, value in vars(architecture).items() if name in ModelSettings.model_fields}
    model = chosen.model.model_copy(update=shape)
    tokenizer = chosen.tokenizer.model_copy(update={"vocab_size": prepared.facts.vocab_asked})
    training = choose_division(chosen.training, torchrun.size if torchrun else None)
    return chosen.model_copy(update={"model": model, "tokenizer": tokenizer, "training": training}), architecture


def _check_request(settings: Settings) -> None:
    """What can be known to be wrong before anything is read."""
    data = settings.data
    needed = (("--train", data.train), ("--from", data.source_language), ("--to", data.target_language))
    missing = [option for option, value in needed if not value]
    if missing:
        raise RequestError(
            f"Not given: {', '.join(missing)}.", "As in: headway train --train data/train --from en --to de --out runs/en-de"
        )
    if settings.model.preset or settings.model.d_model:
        build_architecture(settings.model, source_vocab=1, target_vocab=1, shared=settings.tokenizer.shared)


def _bundle_writer(orders: Orders, prepared: Prepared, scope: Scope | None) -> Keep:
    settings = orders.settings
    manifest = Manifest(
        architecture=orders.architecture,
        source_language=settings.data.source_language,
        target_language=settings.data.target_language,
        tokenizer=settings.tokenizer,
        decoding=settings.decoding,
        scope=scope,
        lines=Lines(
            sentences=share_of_sentences([source for source, _ in prepared.valid]) >= SENTENCES,
            longest=int(prepared.train.source_lengths.max()),
        ),
    )

    def keep(name: str, state: State, found: Validation | None, weights: Weights) -> None:
        metrics = {f"valid_{key}": value for key, value in vars(found).items()} if found else {}
        chosen = with_budget(settings, state.budget).model_dump(by_alias=True)
        provenance = Provenance(step=state.step, settings=chosen, data=prepared.fingerprints, metrics=metrics)
        write_bundle(orders.out / name, manifest.model_copy(update={"provenance": provenance}), weights, prepared.tokenizers)

    return keep


def _what_ended(trainer: Trainer) -> str:
    """The option whose budget is spent."""
    if trainer.out_of_patience():
        return "--patience"
    given = (name for name in ASKED if name != "patience" and getattr(trainer.settings.training, name) is not None)
    return f"--{next(given, 'max_steps').replace('_', '-')}"


def _finish(trainer: Trainer, architecture: Architecture) -> TrainingResult:
    """Average, choose the best by validation, and only then look at the test part."""
    out, display, settings = trainer.directory, trainer.display, trainer.settings
    checkpoints = list_checkpoints(out / "checkpoints")[-settings.training.average :]
    if len(checkpoints) > 1:
        weights = average_weights([load_weights(path) for path in checkpoints])
        model = build(architecture, pad=trainer.prepared.tokenizers.source.pad)
        set_weights(model, weights)
        found = build_validator(settings, trainer.prepared, Group()).validate(model)
        value = found.value(settings.training.metric)
        better = trainer.state.best is None or value > trainer.state.best
        told = f"validation BLEU {found.bleu:.1f}, chrF {found.chrf:.1f}{', best so far' if better else ''}"
        display.say(f"Average of the last {len(checkpoints)} checkpoints: {told}")
        if better:
            trainer.keep("best", trainer.state, found, weights)
    measured = _make_fast_form(trainer, architecture)
    scores, tested = _test(trainer.prepared.test, out, display, measured)
    try:
        draw_learning_curve(out / "metrics.jsonl", out / "curves.png")
    except HeadwayError as error:
        display.say(f"No learning curve: {error}")
    return TrainingResult(out, out / "best", trainer.state.step, scores, tested)


def _make_fast_form(trainer: Trainer, architecture: Architecture) -> Measured | None:
    """What production translates with; nothing for a model that only torch can run."""
    display = trainer.display
    try:
        check_convertible(architecture)
    except RequestError as error:
        display.say(f"No CTranslate2 form: {error.problem} It translates with torch.")
        return None

    best = read_bundle(trainer.directory / "best")
    if best.manifest.ctranslate2 and find_form(best):  # the run was complete before, and its best model is the same
        return best.manifest.ctranslate2

    def show(done: int, total: int) -> None:
        display.update("Measuring float32 and int8", done, total)

    measured = make_fast_form(best, trainer.prepared.valid, show)
    display.close()
    return measured


def _test(pairs: list[tuple[str, str]], out: Path, display: Display, measured: Measured | None) -> tuple[Scores, list[Tested]]:
    """Translate the test part with the best bundle as a user would, score it, and keep both readable."""
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]

    def show(done: int, total: int) -> None:
        display.update("Testing", done, total)

    # In float32: which compute type is faster is a matter of the moment, and what is tested must not be.
    found = load(out / "best", compute_type="float32").translate(sources, on_progress=show)
    display.close()
    tested = [Tested(*pair, translation.text) for pair, translation in zip(pairs, found, strict=True)]
    scores = score([one.translation for one in tested], [references])
    lines = [f"{name} {value.score:.2f}  {value.signature}" for name, value in scores.named()]
    for one in tested:
        lines += ["", *(f"{name:12} {text}" for name, text in vars(one).items())]
    write_file(out / "test.txt", "\n".join(lines) + "\n")

    bundle = read_bundle(out / "best")
    metrics = bundle.manifest.provenance.metrics | {f"test_{name.lower()}": value.score for name, value in scores.named()}
    provenance = bundle.manifest.provenance.model_copy(update={"metrics": metrics})
    write_bundle(
        out / "best",
        bundle.manifest.model_copy(update={"provenance": provenance, "ctranslate2": measured}),
        bundle.weights(),
        bundle.tokenizers,
    )

    display.say(f"Test part, {len(pairs):,} sentences: BLEU {scores.bleu.score:.1f}, chrF {scores.chrf.score:.1f}.")
    return scores, tested
