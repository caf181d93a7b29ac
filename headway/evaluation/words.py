"""Words, numbers and names of a sentence, for counting: of any script, by rules that anybody can check by eye."""

import re
import unicodedata
from collections.abc import Iterable

from headway.text.sentences import is_unspaced

_SENTENCE_END = (".", "!", "?", ":", "…", '."', '!"', '?"', ".“", "!“", "?“", ".”", "!”", "?”")
_POSSESSIVE = re.compile(r"['’]s?$")
_SPACES = " \u00a0\u2009\u202f"
_NUMBER = re.compile(rf"(?<!\d)\d{{1,3}}(?:[{_SPACES}]\d{{3}})+(?!\d)|\d+(?:[.,:'’]\d+)*")
SHORTEST_NAME = 2  # characters: "I" is no name


def cut_words(text: str) -> list[str]:
    """What stands between spaces, without the punctuation around it; of a script that sets no spaces, each character."""
    words: list[str] = []
    for token in text.split():
        if token.isascii() or not any(map(is_unspaced, token)):
            words += [word] if (word := _strip(token)) else []
        else:
            words += _cut_token(token)
    return words


def _cut_token(token: str) -> list[str]:
    parts: list[str] = [""]
    for character in token:
        if is_unspaced(character):
            parts += [character, ""]
        else:
            parts[-1] += character
    return [word for part in parts if (word := _strip(part))]


def _strip(token: str) -> str:
    """Without punctuation and symbols at its ends. Combining marks belong to the word, so `\\w` will not do."""
    if token.isalnum():
        return token
    start, end = 0, len(token)
    while start < end and unicodedata.category(token[start])[0] in "PSZC":
        start += 1
    while end > start and unicodedata.category(token[end - 1])[0] in "PSZC":
        end -= 1
    return token[start:end]


def is_mostly_unspaced(texts: Iterable[str]) -> bool:
    """Whether most letters are of a script that sets no spaces, as Chinese, Japanese and Thai."""
    unspaced = letters = 0
    for text in texts:
        for character in text:
            if character.isalpha():
                letters += 1
                unspaced += is_unspaced(character)
    return 2 * unspaced > letters


def find_numbers(text: str) -> list[str]:
    """Numbers by their digits alone, so that 1,000 and 1.000 and 1 000 are one, and ٣ is 3."""
    return ["".join(str(int(c)) for c in found[0] if c.isdecimal()) for found in _NUMBER.finditer(text)]


def find_names(text: str) -> list[str]:
    """Words with a capital that do not begin a sentence, without a possessive's s."""
    names: list[str] = []
    begins = True
    for token in text.split():
        word = _POSSESSIVE.sub("", _strip(token))
        if not begins and len(word) >= SHORTEST_NAME and word[0].isupper():
            names.append(word)
        begins = token.endswith(_SENTENCE_END)
    return names


def without_possessive(word: str) -> str:
    return _POSSESSIVE.sub("", word)
