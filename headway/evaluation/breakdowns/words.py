"""Words, numbers and names of a sentence, for counting: of any script, by rules that anybody can check by eye."""

import re
import unicodedata
from collections.abc import Iterable

from headway.text.sentences import is_unspaced

_SENTENCE_END = (".", "!", "?", ":", "…", '."', '!"', '?"', ".“", "!“", "?“", ".”", "!”", "?”")
_POSSESSIVE = re.compile(r"['’]s?$")
_SPACES = " \u00a0\u2009\u202f"
# Where a number may be parted; ٬ and ٫ are the Arabic marks of thousands and of decimals. A space parts thousands alone.
_NUMBER = re.compile(rf"(?<!\d)\d{{1,3}}(?:[{_SPACES}]\d{{3}})+(?!\d)(?:[.,٫]\d+)?|\d+(?:[.,:'’٬٫]\d+)*")
_THOUSANDS = re.compile(rf"([1-9]\d?\d?)((?P<mark>[.,'’٬{_SPACES}])\d{{3}}(?:(?P=mark)\d{{3}})*)(?!(?P=mark))([.,٫]\d+)?")
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
    """Numbers in one way of writing: 1,000 and 1.000 and 1 000 are 1000, 3,5 is 3.5, ٣ is 3.

    What parts groups of three digits parts thousands, and is left out; anything else between digits becomes a point.
    """
    if not text.isascii():
        text = "".join(str(int(character)) if character.isdecimal() else character for character in text)
    return [_write_plainly(found[0]) for found in _NUMBER.finditer(text)]


def _write_plainly(number: str) -> str:
    if found := _THOUSANDS.fullmatch(number):
        number = found[1] + re.sub(r"\D", "", found[2]) + (found[4] or "")
    return re.sub(r"\D", ".", number)


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
