"""One option for every setting, for the verbs that take a run's settings: train and plan."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer

from headway import config
from headway.errors import RequestError

COMMAND = {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}
PANELS = {section: f"{section.capitalize()} settings" for section in config.Settings.model_fields}
Given = dict[tuple[str, str], Any]  # values by section and name
ConfigFile = Annotated[Path | None, typer.Option("--config", help="settings as YAML; options win")]


def takes_settings(verb: Callable[..., None]) -> Callable[..., None]:
    """Put an option for each setting in place of the verb's `**options`."""
    own = [one for one in inspect.signature(verb).parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    verb.__signature__ = inspect.Signature([*keywords, *_parameters()])  # type: ignore[attr-defined]
    return verb


def given_settings(context: typer.Context, options: Mapping[str, Any]) -> Given:
    """The settings among the options that were given; what is no option is refused."""
    _refuse_unknown(context)
    given = {name: value for name, value in options.items() if value not in (None, [])}
    return {(name.split("__")[0], name.split("__")[1]): value for name, value in given.items()}


def as_options(given: Given) -> list[str]:
    """The settings as words of a command line."""
    words = []
    for name, (section, key, _) in config.options().items():
        value = given.get((section, key))
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
        elif value is not None:
            words += [word for one in (value if isinstance(value, list) else [value]) for word in (f"--{name}", str(one))]
    return words


def _refuse_unknown(context: typer.Context) -> None:
    """All unknown options at once, each with the one that was probably meant."""
    known = [spelling for parameter in context.command.params for spelling in parameter.opts]
    unknown = [word.split("=")[0] for word in context.args if word.startswith("--")]
    if unknown:
        lines = [f"Unknown setting {word}.{config.did_you_mean(word, known)}" for word in unknown]
        raise RequestError("\n".join(lines), f"`headway {context.info_name} --help` lists every setting.")
    if context.args:
        raise RequestError(f"Not understood: {' '.join(context.args)}.", "Settings are given as --name value.")


def _parameters() -> list[inspect.Parameter]:
    """One option for each setting; its value stays text, so that all settings are checked together."""
    parameters = []
    for name, (section, key, field) in config.options().items():
        kind: Any = str | None
        flags = {"metavar": _metavar(field.annotation)}
        spelling = f"--{name}"
        if field.annotation is bool:
            kind, spelling, flags = bool | None, f"--{name}/--no-{name}", {}
        elif field.annotation == list[str]:
            kind = list[str] | None
        default = "" if field.default_factory or field.default in (None, "") else f" [{field.default}]"
        described = f"{field.description}{default}"
        option = typer.Option(spelling, help=described, rich_help_panel=PANELS[section], show_default=False, **flags)  # type: ignore[arg-type]
        annotation = Annotated[kind, option]
        keyword_only = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(f"{section}__{key}", keyword_only, default=None, annotation=annotation))
    return parameters


def _metavar(annotation: Any) -> str:
    """What a value looks like: its choices, or its type."""
    if get_origin(annotation) in (Union, UnionType):
        return "|".join(_metavar(kind) for kind in get_args(annotation) if kind is not type(None))
    if get_origin(annotation) is Annotated:
        return _metavar(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    return {int: "N", float: "X"}.get(annotation, "TEXT")
