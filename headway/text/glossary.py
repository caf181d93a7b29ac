"""A glossary: which of its words a text holds, and how they are to be translated."""

import re
from collections.abc import Mapping
from pathlib import Path

from headway.errors import DataError
from headway.text.normalize import normalize


class Glossary:
    """Words and phrases of the source with their translations: found whole, in small or capital letters, the longest first."""

    def __init__(self, terms: Mapping[str, str]) -> None:
        self._translations = {_key(term): translation for term, translation in terms.items() if term.strip()}
        longest_first = sorted(self._translations, key=len, reverse=True)
        self._pattern = re.compile("|".join(rf"(?<!\w){re.escape(term)}(?!\w)" for term in longest_first) or r"(?!)")

    def find(self, text: str) -> list[str]:
        """The translations of the words that stand in the text, each once."""
        return list(dict.fromkeys(self._translations[found[0]] for found in self._pattern.finditer(_key(text))))


def read_glossary(path: Path) -> dict[str, str]:
    """A file with a word, a tab and its translation in each line."""
    terms = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The glossary {path} cannot be read: {error}", "It is a UTF-8 file.") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        term, tab, translation = line.partition("\t")
        if not tab or not term.strip() or not translation.strip() or "\t" in translation:
            raise DataError(
                f"{path} has no word, tab and translation in line {number:,}.",
                "Each line has two columns with a tab between them.",
            )
        terms[term.strip()] = translation.strip()
    return terms


def _key(text: str) -> str:
    return normalize(text).casefold().strip()
