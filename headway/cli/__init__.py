"""The command line: verbs, each in a module of its own that is imported only when it is asked for."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from keyword import iskeyword
from types import ModuleType
from typing import Any

import typer

from headway import __version__
from headway.cli.help import WIDTH, Command, Group
from headway.errors import HeadwayError, Interrupted

VERBS = {
    "demo": "Train a small English-German model on a phrasebook and look at what it learned.",
    "plan": "Tell what a training run will take and give, before it starts: memory, disk, hours, BLEU.",
    "train": "Train a translator from parallel text, or one of its relatives from other data.",
    "translate": "Translate lines of text.",
    "score": "Tell how likely a model finds given translations.",
    "evaluate": "Score translations: BLEU, chrF, TER.",
    "report": "Make the page of a run, or one page that compares several.",
    "encode": "Write the encoder's view of sentences, for search and classifiers.",
    "inspect": "Show where a model looks in a sentence or a picture: a page and pictures.",
    "experiment": "Repeat a claim of the paper on your own text: table 3, heads, positions, an RNN.",
    "generate": "Go on with a text (GPT).",
    "fill": "Tell what may stand where [MASK] does (BERT).",
    "classify": "Tell the class of texts (BERT) or pictures (ViT).",
    "import": "Read a model that others trained: Hugging Face's, or OPUS-MT's.",
    "average": "Average the weights of several checkpoints or models.",
    "export": "Write a model in another form, with proof: CTranslate2, ONNX, Hugging Face.",
}


def main() -> None:
    debug = "--debug" in sys.argv
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    try:
        build_app(next((word for word in arguments if word in VERBS), None))(arguments, prog_name="headway")
    except (HeadwayError, OSError) as error:
        if debug:
            raise
        print(f"headway: {error}", file=sys.stderr)
        sys.exit(error.exit_code if isinstance(error, HeadwayError) else 1)
    except KeyboardInterrupt:  # while a verb is still being imported
        sys.exit(Interrupted.exit_code)


def build_app(verb: str | None) -> typer.Typer:
    """The application, with the function of the verb that is asked for; the others show only their line in the help."""
    app = typer.Typer(
        cls=Group,
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"max_content_width": WIDTH},
    )
    app.callback(epilog="Begin with `headway demo`; then: headway train --train data/train --from en --to de --out runs/en-de")(
        _headway
    )
    for name, summary in VERBS.items():
        if name == verb:
            module = _import(name)
            options = {"cls": Command, **getattr(module, "COMMAND", {})}
            app.command(name, help=f"{summary}\n\n{module.__doc__}", **options)(_guarded(module.run))
        else:
            app.command(name, cls=Command, help=summary)(_placeholder(name))
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"headway {__version__}")
        raise typer.Exit


def _headway(
    version: bool = typer.Option(False, "--version", is_eager=True, callback=_print_version, help="Print the version."),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error; goes with any command."),
) -> None:
    """Turn the bilingual text that you have into a translator that you own."""


def _guarded(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb that takes Ctrl-C, and a reader who has seen enough, as what they are."""

    @wraps(verb)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            verb(*arguments, **options)
        except KeyboardInterrupt:
            raise Interrupted("Interrupted.") from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to flush goes nowhere
            raise typer.Exit(0) from None

    return run


def _placeholder(name: str) -> Callable[[], Any]:
    return lambda: _import(name).run()


def _import(verb: str) -> ModuleType:
    return import_module(f"headway.cli.{verb}_" if iskeyword(verb) else f"headway.cli.{verb}")
