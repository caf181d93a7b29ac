"""A glossary: which of its words a text holds, and how they are to be translated."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from headway.errors import DataError
from headway.text.normalize import normalize
from headway.text.sentences import is_unspaced

_WORD = re.compile(r"\w+|[^\w\s]")
_GOES_ON = re.compile(r"\w\w")


class Glossary:
    """Words and phrases of the source with their translations: found whole, in small or capital letters, the longest first.

    They are looked up by the word that they begin with, so that a text is read once however many there are.
    """

    def __init__(self, terms: Mapping[str, str]) -> None:
        self._translations = {_key(term): translation for term, translation in terms.items() if term.strip()}
        self._by_beginning: dict[str, list[str]] = {}
        for term in sorted(self._translations, key=len, reverse=True):
            self._by_beginning.setdefault(_beginning(term, 0), []).append(term)

    def find(self, text: str) -> list[str]:
        """The translations of the words that stand in the text, each once."""
        text, found, end = _key(text), [], 0
        for start in _beginnings(text):
            terms = self._by_beginning.get(_beginning(text, start), []) if start >= end else []
            if term := next(
                (term for term in terms if text.startswith(term, start) and _ends_at(text, start + len(term))), None
            ):
                found.append(self._translations[term])
                end = start + len(term)
        return list(dict.fromkeys(found))


def read_glossary(path: Path) -> dict[str, str]:
    """A file with a word, a tab and its translation in each line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise DataError(f"There is no glossary {path}.", "Check the name.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The glossary {path} cannot be read: {error}", "It is a UTF-8 file.") from None
    terms: dict[str, str] = {}
    seen: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        term, _, translation = (part.strip() for part in line.partition("\t"))
        if not term or not translation or "\t" in translation:
            raise DataError(
                f"{path} has no word, tab and translation in line {number:,}.",
                "Each line has two columns with a tab between them.",
            )
        if seen.setdefault(_key(term), translation) != translation:
            raise DataError(f"{path} has a second translation of {term} in line {number:,}.", "Leave one of them out.")
        terms[term] = translation
    return terms


def _key(text: str) -> str:
    return normalize(text).casefold().strip()


def _beginnings(text: str) -> Iterator[int]:
    """Where a word may begin: in scripts without spaces anywhere."""
    for word in _WORD.finditer(text):
        yield word.start()
        yield from (place for place in range(word.start() + 1, word.end()) if _parts(text, place))


def _beginning(text: str, start: int) -> str:
    """What a term that begins here is looked up by: the word, or in scripts without spaces the character."""
    found = _WORD.match(text, start)
    return text[start] if found is None or is_unspaced(text[start]) else found[0]


def _ends_at(text: str, end: int) -> bool:
    return end == len(text) or not _GOES_ON.match(text, end - 1) or _parts(text, end)


def _parts(text: str, place: int) -> bool:
    """Whether words may meet here without a space between them."""
    return is_unspaced(text[place - 1]) or is_unspaced(text[place])
