"""What comes after a run's last update: the average, the best model's fast form, its test, and the page of the run."""

from dataclasses import dataclass
from pathlib import Path

from headway.amounts import amount
from headway.architectures import AnyArchitecture
from headway.atomic import write_file
from headway.bundle import Bundle, Measured, read_bundle, read_manifest, write_bundle
from headway.data.prepare import Questions
from headway.engines.converted import find_form
from headway.errors import HeadwayError, RequestError
from headway.evaluation.evaluation import NOTHING, Evaluation
from headway.export.ctranslate2 import check_convertible
from headway.models.build import build
from headway.models.weights import average_weights, set_weights
from headway.progress import Display
from headway.reports.curves import draw_learning_curve
from headway.reports.runs.evaluation import evaluate_tested
from headway.reports.runs.page import write_run_page
from headway.reports.runs.record import read_run
from headway.reports.runs.tested import Tested, score_directions, write_tested
from headway.training.fast_form import make_fast_form
from headway.training.group import Group
from headway.training.loop import Trainer
from headway.training.state import list_checkpoints, load_judged_weights
from headway.training.team import build_validator
from headway.translator import load


@dataclass(frozen=True)
class TrainingResult:
    directory: Path
    model: Path  # the best bundle, by validation
    steps: int
    test: dict[str, float]  # figures of the test part by name: bleu, chrf and ter of a translator, else loss and accuracy
    tested: list[Tested]  # by a translator
    page: Path | None  # all of it for a person; None where it could not be written
    gained: str = ""  # what back-translation did, in words


def finish(trainer: Trainer, architecture: AnyArchitecture) -> TrainingResult:
    """Average, choose the best by validation, and only then look at the test part."""
    out, display, settings, prepared = trainer.directory, trainer.display, trainer.settings, trainer.prepared
    checkpoints = list_checkpoints(out / "checkpoints")[-settings.training.average :]
    if len(checkpoints) > 1:
        weights = average_weights([load_judged_weights(path) for path in checkpoints])
        model = build(architecture, pad=trainer.prepared.tokenizers.source.pad)
        set_weights(model, weights)
        found = build_validator(settings, architecture, prepared, Group()).validate(model)
        value = found.value(settings.training.metric or "loss")
        better = trainer.state.best is None or value > trainer.state.best
        told = ", ".join(found.tell_figures() or [f"loss {found.loss:.3f}"]) + (", best so far" if better else "")
        display.say(f"Average of the last {len(checkpoints)} checkpoints: validation {told}")
        if better:
            trainer.keep("best", trainer.state, found, weights)
    if settings.data.task == "translate":
        measured = _make_fast_form(trainer)
        questions = prepared.questions("test", read_manifest(out / "best").directions)
        figures, tested, evaluation = _test(questions, out, display, measured)
    else:
        figures, tested, evaluation = _test_by_loss(trainer, architecture), [], None
    return TrainingResult(out, out / "best", trainer.state.step, figures, tested, _write_page(out, evaluation, display))


def _write_page(out: Path, evaluation: Evaluation | None, display: Display) -> Path | None:
    """The learning curve, and the run on one page.

    All that matters is written by now: whatever goes wrong here, be it our own mistake, a night's training has not failed.
    """
    try:
        draw_learning_curve(out / "metrics.jsonl", out / "curves.png")
    except Exception as error:
        display.say(f"No learning curve: {_tell(error)}")
    try:
        return write_run_page(read_run(out), evaluation)
    except Exception as error:
        display.say(f"No page: {_tell(error)}")
        return None


def _tell(error: Exception) -> str:
    return str(error) if isinstance(error, HeadwayError) else f"{type(error).__name__}: {error}"


def _test_by_loss(trainer: Trainer, architecture: AnyArchitecture) -> dict[str, float]:
    """Of a model that does not translate: the loss on the test part, and what of it was right."""
    validator = build_validator(trainer.settings, architecture, trainer.prepared, Group(), "test")
    bundle = read_bundle(trainer.directory / "best")
    found = validator.validate(bundle.build_model())
    trainer.display.say(f"Test part: {found}.")
    write_file(trainer.directory / "test.txt", f"{found}\n")
    _write_metrics(bundle, found.metrics("test"), None)
    return {"loss": found.loss} | found.figures


def _write_metrics(bundle: Bundle, metrics: dict[str, float], measured: Measured | None) -> None:
    """Put what was found of a bundle into it."""
    provenance = bundle.manifest.provenance
    provenance = provenance.model_copy(update={"metrics": provenance.metrics | metrics})
    manifest = bundle.manifest.model_copy(update={"provenance": provenance, "ctranslate2": measured})
    write_bundle(bundle.directory, manifest, bundle.weights(), bundle.tokenizers)


def _make_fast_form(trainer: Trainer) -> Measured | None:
    """What production translates with; nothing for a model that only torch can run."""
    display = trainer.display
    best = read_bundle(trainer.directory / "best")
    try:
        check_convertible(best)
    except RequestError as error:
        display.say(f"No CTranslate2 form: {error.problem} It translates with torch.")
        return None

    if best.manifest.ctranslate2 and find_form(best):  # the run was complete before, and its best model is the same
        return best.manifest.ctranslate2

    def show(done: int, total: int) -> None:
        display.update("Measuring float32 and int8", done, total)

    measured = make_fast_form(best, trainer.prepared.questions("valid", best.manifest.directions), show)
    display.close()
    return measured


def _test(
    questions: Questions, out: Path, display: Display, measured: Measured | None
) -> tuple[dict[str, float], list[Tested], Evaluation]:
    """Translate the test part with the best bundle as a user would, evaluate it, and keep both readable."""

    def show(done: int, total: int) -> None:
        display.update("Testing", done, total)

    # In float32: which compute type is faster is a matter of the moment, and what is tested must not be.
    translator = load(out / "best", compute_type="float32")
    found = translator.translate(questions.sources, to=questions.to, from_=questions.from_, on_progress=show)
    several = len(translator.directions) > 1
    tested = [
        Tested(*pair, translation.text, str(direction) if several else "")
        for pair, translation, direction in zip(questions.pairs, found, questions.directions, strict=True)
    ]
    evaluation = evaluate_tested({out.absolute().name: [tested]}, out / "data", display.update)
    display.close()
    scores = evaluation.results[0].scores[0]
    lines = [f"{name} {value.score:.2f}  {value.signature}" for name, value in scores.named()]
    by_direction = score_directions(tested)
    lines += by_direction
    for one in tested:
        lines += ["", *(f"{name:12} {text}" for name, text in one.tell().items())]
    write_file(out / "test.txt", "\n".join(lines) + "\n")
    write_tested(out / "test.jsonl", tested)

    figures = {name.lower(): value.score for name, value in scores.named()}
    _write_metrics(read_bundle(out / "best"), {f"test_{name}": value for name, value in figures.items()}, measured)
    display.say(f"Test part, {amount(len(tested), 'sentence')}: BLEU {scores.bleu.score:.1f}, chrF {scores.chrf.score:.1f}.")
    for line in by_direction:
        display.say(line)
    if figures["bleu"] < NOTHING:
        display.say("It has not learned to translate yet: give it a larger budget, or more text.")
    return figures, tested, evaluation
