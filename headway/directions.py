"""The directions of a model: from which language into which, and what is put before a source to say so."""

import re
from collections.abc import Mapping, Sequence

from headway.config import Section
from headway.errors import RequestError

_LANGUAGE = re.compile(r"[\w-]+")


class Direction(Section):
    """`prefix` is the tag of the target language, where there are several; a user never writes or sees it."""

    source: str
    target: str
    prefix: str = ""

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"


def list_directions(source_languages: str, target_languages: str) -> list[Direction]:
    """All directions from one of the first into one of the second languages, which commas separate, in that order."""
    sources, targets = (
        list(dict.fromkeys(language.strip() for language in given.split(","))) for given in (source_languages, target_languages)
    )
    if len(sources) == len(targets) == 1:
        return [Direction(source=sources[0], target=targets[0])]
    if wrong := [language for language in [*sources, *targets] if not _LANGUAGE.fullmatch(language)]:
        raise RequestError(
            f"{wrong[0]!r} is no name of a language.", "Separate them by single commas: --from en,fr --to de,twi"
        )
    tags = {target: f"<2{target}> " if len(targets) > 1 else "" for target in targets}
    directions = [Direction(source=a, target=b, prefix=tags[b]) for a in sources for b in targets if a != b]
    used = {language for one in directions for language in (("from", one.source), ("to", one.target))}
    given = [("from", language) for language in sources] + [("to", language) for language in targets]
    if idle := [f"{language} of --{option}" for option, language in given if (option, language) not in used]:
        raise RequestError(f"There is no other language to translate to or from: {idle[0]}.", "Leave it out.")
    return directions


def keep_tags(asked: Sequence[Direction], learned: Sequence[Direction]) -> list[Direction]:
    """The directions with the tags that a model has learned for their targets, where it has: for a target itself, or for the
    one that stands for it and no other, as de for de-AT.
    """
    tags = {one.target: one.prefix for one in learned if one.prefix}
    return [one.model_copy(update={"prefix": _find_tag(one, asked, tags)}) for one in asked]


def _find_tag(one: Direction, asked: Sequence[Direction], tags: Mapping[str, str]) -> str:
    close = [target for target in tags if is_same(one.target, target)]
    if one.target in tags or not close:
        return tags.get(one.target, one.prefix)
    if len(close) > 1:
        problem = f"The model translates into {' and '.join(close)}; {one.target} may be any of them."
        raise RequestError(problem, f"Say which, for example --to {close[0]}")
    rivals = {other.target for other in asked if is_same(other.target, one.target)}
    return tags[close[0]] if len(rivals) == 1 else one.prefix


def match_directions(directions: Sequence[Direction], to: str = "", from_: str = "") -> list[Direction]:
    """Those that are asked for, where the model does the same for all of them; otherwise a word on what must be said."""
    if not directions:  # of a model that nobody asked for its languages
        return [Direction(source=from_, target=to)]
    asked = f"{from_ or 'any language'} to {to or 'any language'}"
    named = ", ".join(map(str, directions))
    found = [one for one in directions if (not to or to == one.target) and (not from_ or from_ == one.source)]
    found = found or [one for one in directions if is_same(to, one.target) and is_same(from_, one.source)]
    if not found:
        raise RequestError(f"The model does not translate from {asked}; it translates {named}.", "Ask for one of these.")
    if len({(one.target, one.prefix) for one in found}) > 1:
        example = f"--to {found[0].target}"
        raise RequestError(f"The model translates in several directions: {named}.", f"Say which one, for example {example}")
    return found


def tell_option(directions: Sequence[Direction]) -> str:
    """What an example of `headway translate` has to say: ` --to de`; nothing where there is nothing to choose."""
    return f" --to {directions[0].target}" if len({one.target for one in directions}) > 1 else ""


def is_same(asked: str, has: str) -> bool:
    """Whether one language may stand for the other, as de for de-AT; what is not told may be any."""
    return not asked or not has or base_of(asked) == base_of(has)


def base_of(language: str) -> str:
    """de for de-AT and de_AT."""
    return language.replace("_", "-").partition("-")[0].casefold()
