"""Pairs with other names in place of those that stand in both languages alike.

Few pairs have few names, and a model that has seen no others writes one of those for whatever it reads. Of the same sentences
with other names, half of them made up, it learns to carry over what stands there.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from headway.data.readers import Pair
from headway.data.split import digest

SHORTEST = 2  # characters: "I" is no name
KEPT_DIGITS = 2  # of a number, its last ones: in many languages they choose the form of the word beside it
MADE_UP = 0.5  # of the new names
_WORD = re.compile(r"\w+(?:-\w+)*")


def gather_names(pairs: Iterable[Pair]) -> list[str]:
    """Words with a capital that stand in both sentences of a pair, and do so more often than anywhere without the capital:
    English and German may both begin with `In`, but mostly it is not written so.
    """
    alike: Counter[str] = Counter()
    lower: Counter[str] = Counter()
    for pair in pairs:
        alike.update(word for word in find_alike(pair) if word[0].isupper() and len(word) >= SHORTEST)
        lower.update(word for text in pair for word in _WORD.findall(text) if word[0].islower())
    return sorted(word for word, times in alike.items() if times > lower[word.lower()])


class Renamer:
    """Draws new names: from those that it knows, unless others are given. The same pair is given the same ones, wherever it
    stands.
    """

    def __init__(self, known: Sequence[str], others: Sequence[str] | None = None) -> None:
        self._known, self._others = frozenset(known), others or known

    def rename(self, pair: Pair, times: int) -> list[Pair]:
        """So many pairs like this one, each with other names and numbers; none if there is nothing in it to replace."""
        old = sorted(word for word in find_alike(pair) if word in self._known or _is_number(word))
        if not old:
            return []
        draw = Random(digest("\t".join(pair)))
        return [_replace(pair, {word: self._draw_other(word, draw) for word in old}) for _ in range(times)]

    def _draw_other(self, word: str, draw: Random) -> str:
        if _is_number(word):
            changed = len(word) - KEPT_DIGITS
            return str(draw.randrange(10 ** (changed - 1), 10**changed)) + word[changed:]
        one, two = draw.choice(self._others), draw.choice(self._others)
        if draw.random() >= MADE_UP:
            return one
        return one[: (len(one) + 1) // 2] + two[len(two) // 2 :].lower()


def find_alike(pair: Pair) -> set[str]:
    """The words that both sentences have."""
    source, target = (set(_WORD.findall(text)) for text in pair)
    return source & target


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) > KEPT_DIGITS


def _replace(pair: Pair, new: dict[str, str]) -> Pair:
    source, target = (_WORD.sub(lambda found: new.get(found[0], found[0]), text) for text in pair)
    return source, target
