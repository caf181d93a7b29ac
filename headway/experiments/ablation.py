"""The user's own settings, one change at a time: what each is worth on this text, with this budget."""

import shlex
from typing import Any

from headway.config import did_you_mean, options
from headway.errors import RequestError
from headway.experiments.comparing import draw_differences, gather, tabulate, tell_winners
from headway.experiments.experiment import Findings, Request, check_settings
from headway.experiments.variants import Variant, compare, look_at, promise_training, train_variants, vary
from headway.progress import Display

CLAIM = "One change at a time: what each setting is worth on this text."
TAKES = ("train", "seeds", "vary")
BASE = "base"


def check(request: Request) -> None:
    list_variants(request)


def promise(request: Request, display: Display) -> float:
    variants = list_variants(request)
    _check_test_part(request, variants, display)
    return promise_training(request, variants, display)


def run(request: Request, display: Display) -> Findings:
    trained = train_variants(request, list_variants(request), display)
    figures = gather(trained, compare(trained, display))
    story = "Test BLEU less that of base, with 95 % intervals of a paired bootstrap."
    pictures = draw_differences(figures, request.out / "ablation", "One change at a time", story)
    return Findings(*tabulate(figures), figures, tell_winners(figures), pictures)


def list_variants(request: Request) -> list[Variant]:
    """The settings as they are, and once for each change; each is a row that is named as it was given."""
    if not request.vary:
        raise RequestError("Nothing is to be varied.", "Give at least one change, as in: --vary dropout=0.1")
    variants = [Variant(BASE), *(Variant(words, _leave_shape(parse_changes(words))) for words in request.vary)]
    for one in variants:
        try:
            check_settings(vary(request.settings, one))
        except RequestError as error:
            raise RequestError(f"{one.name}: {error.problem}", error.remedy) if one.changes else error from None
    return variants


def _leave_shape(changes: dict[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
    """A model to begin with has a size of its own, whatever base's is."""
    return {("model", "preset"): None, **changes} if ("training", "init") in changes else changes


def parse_changes(words: str) -> dict[tuple[str, str], Any]:
    """`norm=post warmup=2000`: settings by the names of their options. Values stay text, and are checked with all others."""
    known = options()
    changes: dict[tuple[str, str], Any] = {}
    for word in _split(words):
        given, equals, value = word.partition("=")
        name = given.removeprefix("--").replace("_", "-")
        if not equals or not value:
            raise RequestError(f"--vary {words!r}: {word!r} is no change.", "Give a setting and its value, as in dropout=0.1.")
        if name not in known:
            raise RequestError(
                f"--vary {words!r}: there is no setting {given}.{did_you_mean(name, list(known))}",
                "`headway train --help` lists every setting.",
            )
        section, key, field = known[name]
        if (section, key) == ("training", "seed"):
            raise RequestError("A seed is not varied: all rows have the same.", "Give --seeds 3 to train each with three.")
        if field.annotation == list[str]:
            changes.setdefault((section, key), []).append(value)
        elif (section, key) in changes:
            raise RequestError(f"--vary {words!r} has {name} twice.", "Give each value a --vary of its own.")
        else:
            changes[section, key] = value
    if not changes:
        raise RequestError("--vary names no change.", "Give a setting and its value, as in --vary dropout=0.1.")
    return changes


def _split(words: str) -> list[str]:
    """As a shell does: a value with spaces stands in quotes."""
    try:
        return shlex.split(words)
    except ValueError as error:
        raise RequestError(f"--vary {words!r}: {error}.", "Close the quotation marks.") from None


def _check_test_part(request: Request, variants: list[Variant], display: Display) -> None:
    """Models are compared on the same sentences: settings of the data may change which ones are cut off for the test."""
    others = [one for one in variants if any(section == "data" for section, _ in one.changes)]
    if not others:
        return
    base, *tests = [look_at(request, vary(request.settings, one), display)[1].test for one in (variants[0], *others)]
    different = [one.name for one, test in zip(others, tests, strict=True) if test != base]
    if different:
        raise RequestError(
            f"{', '.join(different)}: the test part would be another one than base's.",
            "Name one with --test, and leave prefixes as they are.",
        )
