"""Tags: words such as `<2de> ` or `<news> ` before a source that tell a model what is wanted of it.

A vocabulary that was learned with a tag has it as one piece, a mark like those of begin and end. It is found where a text
begins with it, and no subword sampling cuts it. The same characters anywhere else are text, and are translated as such.
"""

import re
from collections.abc import Iterable, Sequence

from headway.errors import RequestError
from headway.text.normalize import normalize
from headway.text.subwords import MASK, SENTINELS

_TAGS = re.compile(r"(?:<[\w-]+> )+")
_UNENDED = re.compile(r"(?:<[\w-]+> )*<[\w-]+>")
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_TAKEN = {"<pad>", "<s>", "<unk>", MASK, *SENTINELS}


def find_tags(prefix: str) -> list[str]:
    """The tags that a prefix begins with; none if it begins with other words."""
    leading = _TAGS.match(prefix)
    tags = normalize(leading[0]).split() if leading else []
    if _UNENDED.fullmatch(prefix):
        raise RequestError(f"The prefix {prefix!r} is a tag without a space after it.", f"Give it one: {prefix + ' '!r}")
    if taken := [tag for tag in tags if tag in _TAKEN or _BYTE.fullmatch(tag)]:
        raise RequestError(f"The prefix {prefix!r} has {taken[0]}, which means something else.", "Take another word.")
    return tags


def list_prefixes(prefixes: Iterable[str]) -> list[str]:
    """Those that are not blank, each once, the longest first: a text is to be held against them in this order."""
    return sorted({*prefixes} - {""}, key=lambda prefix: (-len(prefix), prefix))


def without_prefix(text: str, prefixes: Sequence[str]) -> str:
    """The text without the one of the prefixes, as `list_prefixes` orders them, that it begins with."""
    return text.removeprefix(next((prefix for prefix in prefixes if text.startswith(prefix)), ""))


def put_before(prefix: str, text: str) -> str:
    """A blank text stays blank. One that itself begins like a tag gets a space more, and so stays text."""
    if not prefix or not text.strip():
        return text
    return f"{prefix} {text}" if _TAGS.match(text) and _TAGS.fullmatch(prefix) else prefix + text
