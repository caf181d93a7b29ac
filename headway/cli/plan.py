"""For example:

    headway plan --train data/train --from en --to de --out runs/en-de

prepares the corpus as `headway train` does, makes updates for half a minute, and keeps nothing of them. It takes every option
of `headway train`. With --quality it also trains on an eighth, a quarter and a half of the corpus, in 7/8 of the time that all
of it takes, and says what BLEU and chrF to expect:

    headway plan --train data/train --from en --to de --max-minutes 60 --quality --out runs/en-de

For a corpus that is not there yet, and for the paper's training, here and on eight GPUs:

    headway plan --pairs 100000

    headway plan --paper --gpus 8 --tflops 9.5 --utilisation 0.3
"""

import json
import math
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.amounts import amount
from headway.cli.again import headway_command, resumable
from headway.cli.plan_table import tell_plan, tell_quality
from headway.cli.settings import COMMAND, ConfigFile, Given, as_options, given_settings, takes_settings
from headway.config import read_settings
from headway.errors import RequestError

if TYPE_CHECKING:
    from headway.architectures import Architecture
    from headway.config import ModelSettings, Settings
    from headway.data.prepare import Prepared
    from headway.experiments.learning_curve import Quality
    from headway.progress import Display
    from headway.training.forecast import Epoch, Figures, Gpus, Speed
    from headway.training.team import Orders

__all__ = ["COMMAND", "run"]
LENGTH = 27.0  # pieces of a sentence, if not given: about those of news, in pieces of the paper's vocabulary
CHARACTERS = 4.5  # of a piece, the space before it included
PAPER_PAIRS, PAPER_VOCABULARY = 4_500_000, 37_000
USED_THERE = 0.3  # share of the peak of GPUs elsewhere, if not given


@takes_settings
def run(
    context: typer.Context,
    out: Annotated[Path | None, typer.Option(help="directory of the run to come; its data is prepared there")] = None,
    config_file: ConfigFile = None,
    paper: Annotated[bool, typer.Option("--paper", help="the paper's training: base, or big with --preset big")] = False,
    pairs: Annotated[int | None, typer.Option(min=1, help="size of a corpus that is not there, instead of --train")] = None,
    source_length: Annotated[float | None, typer.Option(min=1, help="mean pieces of its source sentences [27]")] = None,
    target_length: Annotated[float | None, typer.Option(min=1, help="mean pieces of its target sentences [27]")] = None,
    seconds: Annotated[float, typer.Option(help="how long updates are measured; 0 estimates instead")] = 30.0,
    gpus: Annotated[int | None, typer.Option(min=1, help="GPUs of another machine")] = None,
    tflops: Annotated[float | None, typer.Option(help="TFLOP/s of one of them at its peak")] = None,
    utilisation: Annotated[
        float | None,
        typer.Option(help="share of the peak that is used: of the GPUs' [0.3]; without GPUs, of this machine's [0.5]"),
    ] = None,
    quality: Annotated[
        bool, typer.Option("--quality", help="also forecast BLEU and chrF, from runs on an eighth, a quarter and a half")
    ] = False,
    quality_minutes: Annotated[
        float | None,
        typer.Option(help="the same in at most so many minutes, of a training that is shorter in proportion"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    **options: Any,
) -> None:
    given = given_settings(context, options)
    settings = read_settings(config_file, given)
    if paper:
        given = _settings_of_paper(settings) | given
        settings = read_settings(config_file, given)
        pairs = pairs if pairs or settings.data.train else PAPER_PAIRS
    _check_request(settings, pairs, source_length or target_length, seconds)
    if quality or quality_minutes is not None:
        _check_quality(settings, paper, quality_minutes)
        quality, out = True, out or _default_out(settings)
    others = _other_machine(gpus, tflops, utilisation)
    if utilisation and not others and settings.data.train and seconds:
        raise RequestError("This machine is measured, so it needs no --utilisation.", "Give --tflops too, or --seconds 0.")
    from headway.progress import Display
    from headway.training.forecast import USED

    used = utilisation if utilisation and not others else USED
    expected: Quality | None = None

    with Display() as display, resumable() if quality else nullcontext():
        if settings.data.train:
            with _place(out) as place:
                orders, prepared = _prepare(settings, place, display, kept=out is not None)
                if quality:
                    from headway.experiments.learning_curve import check_size

                    check_size(prepared)  # before anything is measured
                figures = _plan_corpus(orders, prepared, seconds, used, others, display)
                if quality:
                    expected = _forecast_quality(settings, orders, prepared, figures, quality_minutes, place, display)
        else:
            assert pairs
            figures = _plan_unseen(settings, pairs, source_length or LENGTH, target_length or LENGTH, used, others)
    command = _command(config_file, given, settings, out)
    if as_json:
        told = {"quality": asdict(expected)} if expected else {}
        print(json.dumps({**asdict(figures), **told, "command": command}), flush=True)
        return
    lines = [*tell_plan(figures), *(tell_quality(expected, figures) if expected else [])]
    print("\n".join([*lines, "", "To start:", f"  {command}"]), flush=True)


def _settings_of_paper(settings: "Settings") -> Given:
    from headway.training.forecast import PAPER_BATCH, PUBLISHED

    preset = settings.model.preset or "base"
    if preset not in PUBLISHED:
        raise RequestError(f"The paper has no {preset} model.", "It has base and big: --paper, or --paper --preset big.")
    return {
        ("model", "preset"): preset,
        ("tokenizer", "vocab_size"): PAPER_VOCABULARY,
        ("training", "batch_tokens"): PAPER_BATCH,
        ("training", "schedule"): "paper",
        ("training", "max_steps"): PUBLISHED[preset].steps,
    }


def _check_request(settings: "Settings", pairs: int | None, length: float | None, seconds: float) -> None:
    """What can be known to be wrong before anything is read."""
    if settings.data.task != "translate" or settings.model.family not in (None, "transformer"):
        raise RequestError("Plans are made for translators only.", "Try the run with --max-steps 50: it tells its speed.")
    if settings.training.init:
        raise RequestError("Plans are made for models that begin anew.", "Leave out --init, or init in the settings file.")
    if settings.data.monolingual_target:
        raise RequestError(
            "Plans are made for one training, and --monolingual-target makes three.",
            "Leave it out: each of the three takes about what the plan says.",
        )
    if not settings.data.train and pairs is None:
        raise RequestError(
            "There is nothing to plan for.",
            "Name a corpus: --train data/train --from en --to de; or say how large it will be: --pairs 100000; or --paper.",
        )
    if settings.data.train and (pairs or length):
        raise RequestError(
            "--pairs, --source-length and --target-length are for a corpus that is not there.", "Leave them out, or --train."
        )
    if not 0 <= seconds < math.inf:
        raise RequestError(f"--seconds is {seconds:g}.", "Give how long to measure, or 0 to estimate.")
    if settings.model.preset or settings.model.d_model:
        from headway.models.presets import build_architecture

        build_architecture(settings.model, source_vocab=1, target_vocab=1, shared=settings.tokenizer.shared)
    if settings.data.train:
        from headway.training.request import check_request

        check_request(settings)  # what training would refuse, before it is planned


def _check_quality(settings: "Settings", paper: bool, minutes: float | None) -> None:
    if not settings.data.train or paper:
        raise RequestError(
            "How good a translator will be cannot be told without training some on its text.",
            "Name the corpus with --train, and leave out --pairs and --paper; or leave out --quality.",
        )
    if "," in settings.data.source_language + settings.data.target_language:
        raise RequestError("--quality foretells one direction.", "Give one language to --from, and one to --to.")
    if minutes is not None and not 0 < minutes < math.inf:
        raise RequestError(f"--quality-minutes is {minutes:g}.", "Give how many minutes the three runs may take together.")


def _other_machine(gpus: int | None, tflops: float | None, utilisation: float | None) -> "Gpus | None":
    if utilisation is not None and not 0 < utilisation <= 1:
        raise RequestError(f"--utilisation is {utilisation:g}.", "It is a share: above 0, and at most 1.")
    if tflops is not None and not 0 < tflops < math.inf:
        raise RequestError(f"--tflops is {tflops:g}.", "Give what one GPU can do at its peak: 9.5 is a P100's.")
    if gpus and tflops is None:
        raise RequestError("How fast is one of the GPUs?", "Its data sheet tells its peak: --tflops 9.5 is a P100's.")
    from headway.training.forecast import Gpus

    return Gpus(gpus or 1, tflops, utilisation or USED_THERE) if tflops else None


@contextmanager
def _place(out: Path | None) -> Iterator[Path]:
    """The run's directory, nobody else's meanwhile; or one that is removed again."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="headway-plan-") as made:
            yield Path(made)
    else:
        from headway.training.directory import check_directory, locked

        check_directory(out)
        with locked(out):
            yield out


def _prepare(settings: "Settings", place: Path, display: "Display", *, kept: bool) -> "tuple[Orders, Prepared]":
    """As training does. A run that stands there keeps its data: other settings are refused."""
    from headway.training.run import prepare_run

    orders, prepared = prepare_run(settings, place, display)
    if orders.checkpoint:
        step = int(orders.checkpoint.name.split("-")[1])
        display.say(f"A run stands in {place}, at update {step:,}: the plan is for all of it.")
    elif kept:
        display.say(f"{prepared.directory} is ready: `headway train` with the same options and --out uses it.")
    return orders, prepared


def _plan_corpus(
    orders: "Orders",
    prepared: "Prepared",
    seconds: float,
    used: float,
    others: "Gpus | None",
    display: "Display",
) -> "Figures":
    from headway.architectures import Architecture
    from headway.training.forecast import Size, forecast, read_epoch
    from headway.training.group import Group

    settings, architecture = orders.settings, orders.architecture
    assert isinstance(architecture, Architecture)
    epoch = read_epoch(prepared.store_of_epoch(0), architecture, settings.training)
    speed = _assume_speed(settings, epoch, used)
    if seconds:
        speed = _measure_speed(orders, prepared, seconds, epoch, speed, display)
    size = Size(prepared.facts.pairs_read, prepared.facts.pairs_kept, prepared.tokenizers.shared)
    return forecast(settings, architecture, size, epoch, speed, gpus=others, device=Group().device.type)


def _forecast_quality(
    settings: "Settings",
    orders: "Orders",
    prepared: "Prepared",
    figures: "Figures",
    minutes: float | None,
    place: Path,
    display: "Display",
) -> "Quality":
    """From short runs below the run's directory. Where they are to take less time, so does the training that they foretell."""
    from headway.experiments.learning_curve import TOGETHER, forecast_quality, plan_curve
    from headway.progress import duration
    from headway.training.directory import with_stored_choices
    from headway.training.run import make_choices

    resolved = orders.settings
    if minutes and minutes * 60 < TOGETHER * figures.seconds:
        afforded = minutes / TOGETHER
        shorter = {"max_minutes": afforded}
        settings = settings.model_copy(update={"training": settings.training.model_copy(update=shorter)})
        begun = with_stored_choices(settings, place) if orders.checkpoint else settings
        resolved, _ = make_choices(begun, prepared)  # as that training would: less time, less dropout, a smaller model
    curve = plan_curve(settings, resolved, prepared, figures, place, display)
    left = curve.promise()
    if left:
        until = datetime.now() + timedelta(seconds=left)
        display.say(
            f"The forecast takes about {duration(left)}: until {until:%H:%M}. Its runs stand in {place / 'forecast'}; what "
            "they call their test part is the validation part, for the test part is not looked at."
        )
    return forecast_quality(curve, display)


def _plan_unseen(
    settings: "Settings", pairs: int, source_length: float, target_length: float, used: float, others: "Gpus | None"
) -> "Figures":
    """For a corpus of which only the size is known."""
    from headway.models.presets import build_architecture
    from headway.text.tokenizer import choose_vocab_size
    from headway.training.choices import Reading, choose_size, estimate_epochs, resolve
    from headway.training.forecast import Size, forecast, imagine_epoch
    from headway.training.group import Group
    from headway.training.machine import choose_division

    characters, target_tokens = round(pairs * (source_length + target_length) * CHARACTERS), round(pairs * (target_length + 1))
    vocabulary, shared = settings.tokenizer.vocab_size or choose_vocab_size(characters), settings.tokenizer.shared

    def imagine(model: "ModelSettings", epochs: float = math.inf) -> "tuple[Settings, Architecture, Epoch]":
        given = settings.model_copy(update={"model": model})
        chosen = resolve(given, pairs=pairs, target_tokens=target_tokens, epochs=epochs)
        a = build_architecture(chosen.model, source_vocab=vocabulary, target_vocab=vocabulary, shared=shared)
        return chosen, a, imagine_epoch(pairs, source_length, target_length, a, chosen.training)

    def look_ahead(model: "ModelSettings") -> Reading:
        _, a, epoch = imagine(model)
        epochs = estimate_epochs(settings.training, d_model=a.d_model, target_tokens=target_tokens, operations=epoch.flops)
        return Reading(target_tokens, epochs)

    model, reading = choose_size(settings.model, settings.training, pairs, look_ahead)
    chosen, a, epoch = imagine(model, reading.epochs)
    settings = chosen.model_copy(update={"training": choose_division(chosen.training, a.d_model)})
    size, speed = Size(None, pairs, shared), _assume_speed(settings, epoch, used)
    return forecast(settings, a, size, epoch, speed, gpus=others, device=Group().device.type)


def _assume_speed(settings: "Settings", epoch: "Epoch", used: float) -> "Speed":
    """From the best matrix product of the cores or GPUs that will be used, and the share of it that is assumed."""
    from headway.training.forecast import Speed
    from headway.training.group import Group
    from headway.training.machine import measure_joint_peak

    peak = measure_joint_peak(settings.training, Group().device)
    return Speed(used * peak * epoch.lengths.target / epoch.flops, used, measured=False)


def _measure_speed(
    orders: "Orders",
    prepared: "Prepared",
    seconds: float,
    epoch: "Epoch",
    assumed: "Speed",
    display: "Display",
) -> "Speed":
    """Make updates with all processes, as training does. Where an update is too long for that, each of its passes is taken for
    one: as many tokens at once, only the optimiser steps more often, and so is the cheaper one.
    """
    from headway.training.forecast import Speed
    from headway.training.team import lead

    settings, training = orders.settings, orders.settings.training
    assert training.batch_tokens and training.accumulate
    if epoch.tokens_per_update / assumed.tokens_per_second > seconds / 10:
        one_pass = {"batch_tokens": training.batch_tokens // training.accumulate, "accumulate": 1, "optimizer": "adam"}
        settings = settings.model_copy(update={"training": training.model_copy(update=one_pass)})
    display.update("Starting", 0, None)
    knows_memory = _forget_peak_memory()
    rehearsal = replace(orders, settings=settings, checkpoint=None, rehearsal=seconds)
    with lead(rehearsal, prepared, display, lambda *_: None) as trainer:
        tokens_per_second, mfu = trainer.rehearse(seconds)
    display.close()
    memory_bytes = _peak_memory() if knows_memory else None
    if not tokens_per_second:
        display.say(
            f"An update takes longer than {amount(seconds, 'second')}: its speed is assumed. "
            "To measure it, give more --seconds."
        )
        return replace(assumed, memory_bytes=memory_bytes)
    return Speed(tokens_per_second, mfu, measured=True, memory_bytes=memory_bytes)


def _forget_peak_memory() -> bool:
    """So that the peak is training's and not the preparation's. Linux can, for a processor's memory."""
    import torch

    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return not torch.cuda.is_available()


def _peak_memory() -> int:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines["VmHWM"].split()[0])


def _command(config_file: Path | None, given: Given, settings: "Settings", out: Path | None) -> str:
    """What to type next."""
    data = settings.data
    if not data.train:
        source, target = _languages(settings)
        given = {("data", "train"): ["data/train"], ("data", "from"): source, ("data", "to"): target} | given
    file = ["--config", str(config_file)] if config_file else []
    words = [*file, *as_options(given), "--out", str(out or _default_out(settings))]
    return f"{headway_command()} train {shlex.join(words)}"


def _default_out(settings: "Settings") -> Path:
    return Path("runs") / "-".join(_languages(settings))


def _languages(settings: "Settings") -> tuple[str, str]:
    return settings.data.source_language or "en", settings.data.target_language or "de"
