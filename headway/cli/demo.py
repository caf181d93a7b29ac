"""For example:

    headway demo

writes a phrasebook of English and German, trains a small model on it, tests the model on sentences that combine words and
structures as it has never seen them, and draws where it looks. It takes some four minutes on two cores and leaves its
run in runs/demo. The same command again goes on with a run that was interrupted, and shows one that is complete.
"""

import os
import shlex
import sys
import textwrap
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.again import headway_command, resumable
from headway.errors import HeadwayError, RequestError

if TYPE_CHECKING:
    from rich.console import Console

    from headway.data.phrasebook import Pair, Parts
    from headway.progress import Display
    from headway.training.finish import TrainingResult

SETTINGS: dict[str, dict[str, Any]] = {
    "model": {"preset": "mini", "dropout": 0.0},  # no noise: a grammar has no exceptions
    "tokenizer": {"vocab_size": 1500},
    "data": {"from": "en", "to": "de"},
    "training": {
        "batch_tokens": 1024,
        "learning_rate": 0.003,
        "warmup": 300,
        "label_smoothing": 0.0,
        "average": 1,
        "patience": 0,
    },
}
MOST_TESTED = 1000  # pairs, for validation and for the test
SHOWN = 12  # translations
BAR = 16  # columns


def run(
    out: Annotated[Path, typer.Option(help="directory of the run; its phrasebook is written beside it")] = Path("runs/demo"),
    pairs: Annotated[int, typer.Option(min=500, help="pairs of sentences to train on")] = 80_000,
    max_steps: Annotated[int, typer.Option(min=1, help="updates to train for")] = 2000,
) -> None:
    from rich.console import Console

    from headway.progress import Display

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # rather a question mark than no table
    with Display() as display, resumable():
        parts, result = _train(out, pairs, max_steps, display)
        translations = {one.source: one.translation for one in result.tested}
        tested = [(pair, translations[pair.english]) for pair in parts.test if pair.english in translations]
        console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
        _show_accuracy(tested, console)
        _show_translations(tested, console)
        page = _draw_inside(tested, result, display)
    _show_what_next(result.model, page, console)


def _train(out: Path, pairs: int, max_steps: int, display: "Display") -> tuple["Parts", "TrainingResult"]:
    """Write the phrasebook, and train on it."""
    from headway.bundle import Scope
    from headway.config import build_settings
    from headway.data.phrasebook import make_parts, words_of
    from headway.training.run import run_training

    display.say("A phrasebook, a model, a test: about four minutes on two cores. Writing the phrasebook, from a grammar.")
    held_out = min(MOST_TESTED, pairs // 10)
    parts = make_parts(pairs, held_out, on_progress=lambda done, total: display.update("Writing", done, total))
    display.close()
    corpus = out.with_name(f"{out.name}-phrasebook")
    _write(corpus, parts, out)
    settings = {section: dict(values) for section, values in SETTINGS.items()}
    settings["data"] |= {"train": [str(corpus / "train")], "valid": str(corpus / "valid"), "test": str(corpus / "test")}
    settings["training"] |= {"max_steps": max_steps, "valid_every": -(-max_steps // 4)}
    words = sorted({word.lower() for pair in parts.train for word in words_of(pair.english)})
    scope = Scope(name=f"Headway's phrasebook ({len(words):,} words)", words=words)
    return parts, run_training(build_settings(settings), out, display, scope)


def _write(corpus: Path, parts: "Parts", out: Path) -> None:
    """The phrasebook as files; not over another one whose run stands in `out`."""
    from headway.atomic import write_file, writing

    texts = {
        corpus / f"{name}.{language}": "".join(f"{line}\n" for line in lines)
        for name, part in vars(parts).items()
        for language, lines in (("en", [pair.english for pair in part]), ("de", [pair.german for pair in part]))
    }
    if (out / "config.yaml").exists() and any(
        path.exists() and path.read_text("utf-8") != text for path, text in texts.items()
    ):
        raise RequestError(f"{out} holds a run on another phrasebook.", f"Delete {out}, or give another --out.")
    with writing(corpus):
        corpus.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        write_file(path, text)


def _show_accuracy(tested: "list[tuple[Pair, str]]", console: "Console") -> None:
    from headway.data.phrasebook import PHENOMENA
    from headway.evaluation.accuracy import accuracy_by_label

    right = [translation == pair.german for pair, translation in tested]
    found = accuracy_by_label(right, [{"all", *pair.phenomena} for pair, _ in tested])
    console.print("\nExactly right, in sentences with combinations of words or\nstructures that training never had:\n")
    for name, example in {"all": "", **PHENOMENA}.items():
        if name in found:
            share = found[name]
            bar = "█" * round(BAR * share.percent / 100)
            console.print(f"  {name:20} {share.percent:5.1f} % of {share.total:5,}  {bar:{BAR}}", end="")
            console.print(f"  {example}" if console.width >= 100 else "", style="dim")


def _show_translations(tested: "list[tuple[Pair, str]]", console: "Console") -> None:
    """One of each phenomenon, none twice, none chosen for being right."""
    from headway.data.phrasebook import PHENOMENA

    console.print("\nTranslations, each beside its reference:")
    shown: set[str] = set()
    for phenomenon in PHENOMENA:
        fresh = ((p, text) for p, text in tested if phenomenon in p.phenomena and p.english not in shown)
        pair, translation = next(fresh, (None, ""))
        if pair is None or len(shown) == SHOWN:
            continue
        shown.add(pair.english)
        is_right = translation == pair.german
        console.print(f"\n  {phenomenon}", style="dim")
        console.print(_wrap("", pair.english, console), style="bold")
        console.print(_wrap("Headway", translation, console))
        console.print(_wrap("reference", pair.german, console), end="  ")
        console.print("✓" if is_right else "✗", style="green" if is_right else "red")


def _wrap(name: str, text: str, console: "Console") -> str:
    """The text after its name, broken between words where a terminal is narrow."""
    width = console.width - 3 if console.is_terminal else 1000
    return textwrap.fill(text, width, initial_indent=f"  {name:10} ", subsequent_indent=" " * 13)


def _draw_inside(tested: "list[tuple[Pair, str]]", result: "TrainingResult", display: "Display") -> Path | None:
    """Where the model looks in a sentence whose verb it had to take apart and to move."""
    from headway import load
    from headway.reports.inside.page import write_inside

    hard = (pair.english for pair, _ in tested if {"verb second", "separable verbs"} <= pair.phenomena)
    sentence = next(hard, tested[0][0].english)
    try:
        return write_inside(load(result.model).inspect(sentence), sentence, result.directory / "inside", display)
    except HeadwayError as error:
        display.say(f"\nNo pictures: {error}")
        return None


def _show_what_next(model: Path, page: Path | None, console: "Console") -> None:
    headway, where = headway_command(), shlex.quote(str(model))
    phrasebook = model.parent.with_name(f"{model.parent.name}-phrasebook") / "train.en"
    python = os.path.relpath(sys.executable) if Path(sys.executable).is_relative_to(Path.cwd()) else sys.executable
    walk = Path(__file__).parent.parent.parent / "docs" / "paper.md"  # in a clone
    lines = {
        "See where it looked, head by head, in a browser": page.absolute().as_uri() if page else "",
        f"Translate (sentences like those of {phrasebook}, which is all it knows)": (
            f"echo 'The tired boy gets up.' | {headway} translate {where}"
        ),
        "Look inside another sentence": f'{headway} inspect {where} "The tired boy gets up."',
        "Train on your own text, text.en and text.de": f"{headway} train --train text --from en --to de --out runs/en-de",
        "The same from Python": (
            f"{python} -c \"import headway; print(headway.load({str(model)!r}).translate(['Anna sleeps.'])[0].text)\""
        ),
        "Walk through the paper with this model": os.path.relpath(walk) if walk.exists() else "",
    }
    console.print(f"\nThe model is {model}. What to try next:")
    for what, how in lines.items():
        if how:
            console.print(f"\n  {what}:\n    {how}")
