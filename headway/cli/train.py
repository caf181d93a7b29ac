"""For example:

    headway train --train data/train --from en --to de --out runs/en-de

reads data/train.en and data/train.de. Every setting has a default that follows from the corpus. The same command again goes
on where the run stood; Ctrl-C saves first.
"""

import inspect
import shlex
import sys
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from headway import config
from headway.cli.again import headway_command, resumable
from headway.errors import RequestError

COMMAND = {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}
SAMPLES = 5  # translations shown at the end
PANELS = {section: f"Settings: {section}" for section in config.Settings.model_fields}


def run(context: typer.Context, out: Path, config_file: Path | None, **options: Any) -> None:
    given = {name.partition("__")[::2]: value for name, value in options.items() if value not in (None, [])}
    _refuse_unknown(context.args)
    content = config.read_yaml(config_file) if config_file else {}
    settings = config.build_settings(config.merge(content, given))

    from headway.progress import Display
    from headway.training.run import run_training

    with Display() as display, resumable():
        result = run_training(settings, out, display)
    for one in result.tested[:SAMPLES]:
        print("\n".join(f"  {name:12} {text}" for name, text in vars(one).items()) + "\n", file=sys.stderr)
    print(f"Model: {result.model}  (learning curve, settings and test translations in {result.directory})", file=sys.stderr)
    print(f"Try:   echo 'Some text.' | {headway_command()} translate {shlex.quote(str(result.model))}", file=sys.stderr)


def _refuse_unknown(words: list[str]) -> None:
    """All unknown options at once, each with the one that was probably meant."""
    known = [f"--{name}" for name in config.options()]
    unknown = [word.split("=")[0] for word in words if word.startswith("--")]
    if unknown:
        lines = [f"Unknown setting {word}.{config.did_you_mean(word, known)}" for word in unknown]
        raise RequestError("\n".join(lines), "`headway train --help` lists every setting.")
    if words:
        raise RequestError(f"Not understood: {' '.join(words)}.", "Settings are given as --name value.")


def _parameters() -> list[inspect.Parameter]:
    """One option for each setting; its value stays text, so that all settings are checked together."""
    parameters = [
        _parameter("context", typer.Context),
        _parameter("out", Annotated[Path, typer.Option(help="directory of the run")]),
        _parameter("config_file", Annotated[Path | None, typer.Option("--config", help="settings as YAML; options win")], None),
    ]
    for name, (section, key, field) in config.options().items():
        kind: Any = str | None
        flags = {"metavar": _metavar(field.annotation)}
        spelling = f"--{name}"
        if field.annotation is bool:
            kind, spelling, flags = bool | None, f"--{name}/--no-{name}", {}
        elif field.annotation == list[str]:
            kind = list[str] | None
        default = "" if field.default_factory or field.default in (None, "") else f" [{field.default}]"
        described = f"{field.description}{default}".replace("[", "\\[")
        option = typer.Option(spelling, help=described, rich_help_panel=PANELS[section], show_default=False, **flags)  # type: ignore[arg-type]
        parameters.append(_parameter(f"{section}__{key}", Annotated[kind, option], None))
    return parameters


def _parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _metavar(annotation: Any) -> str:
    """What a value looks like: its choices, or its type."""
    kind = get_args(annotation)[0] if get_origin(annotation) in (Union, UnionType) else annotation
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return {int: "N", float: "X"}.get(kind, "TEXT")


run.__signature__ = inspect.Signature(_parameters())  # type: ignore[attr-defined]
