"""Pairs with other names in place of those that stand in both languages alike.

Few pairs have few names, and a model that has seen no others writes one of those for whatever it reads. Of the same sentences
with other names, half of them made up, it learns to carry over what stands there.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random

from headway.data.readers import Pair
from headway.data.split import digest
from headway.text.normalize import normalize

SHORTEST = 2  # characters: "I" is no name
KEPT_DIGITS = 2  # of a number, its last ones: in many languages they choose the form of the word beside it
MADE_UP = 0.5  # of the new names
_PART = r"\w[\w\u0300-\u036f]*"  # accents that no letter of their own has are not of \w
_WORD = re.compile(rf"{_PART}(?:-{_PART})*")


def gather_names(read: Callable[[], Iterable[Pair]]) -> list[str]:
    """Words with a capital that stand in both sentences of a pair, and do so more often than in one of the two alone (Mary is
    mostly Maria) and than anywhere without the capital: English and German may both begin with `In`, but mostly it is not
    written so. Reads twice, so as not to count every word.
    """
    alike: Counter[str] = Counter()
    for pair in read():
        alike.update(word for word in find_alike(pair) if word[0].isupper() and len(word) >= SHORTEST)
    lower, alone = dict.fromkeys((word.lower() for word in alike), 0), dict.fromkeys(alike, 0)
    for pair in read():
        source, target = map(find_words, pair)
        for word in {*source} ^ {*target}:
            if word in alone:
                alone[word] += 1
        for word in [*source, *target]:
            if word in lower:
                lower[word] += 1
    return sorted(word for word, times in alike.items() if times > max(alone[word], lower[word.lower()]))


class Renamer:
    """Draws new names: from those that it knows, unless others are given. The same pair is given the same ones, wherever it
    stands.
    """

    def __init__(self, known: Sequence[str], others: Sequence[str] | None = None) -> None:
        self._known, self._others = frozenset(known), known if others is None else others

    def rename(self, pair: Pair, times: int) -> list[Pair]:
        """Up to so many pairs like this one, with other names and numbers, none twice; none if there is nothing to replace."""
        words = {word for text in pair for word in find_words(text)}
        old = sorted(word for word in find_alike(pair) if word in self._known or _is_number(word))
        if not old or any(word != name and word.startswith(name) for name in old for word in words):  # Tom's, Toms
            return []
        draw = Random(digest("\t".join(pair)))
        drawn = [[self._draw_other(word, draw) for word in old] for _ in range(times)]
        new = [names for names in drawn if len({*names}) == len(names) and not words & {*names}]
        return list(dict.fromkeys(_replace(pair, dict(zip(old, names, strict=True))) for names in new))

    def _draw_other(self, word: str, draw: Random) -> str:
        if _is_number(word):
            changed = len(word) - KEPT_DIGITS
            return draw.choice("123456789") + "".join(draw.choices("0123456789", k=changed - 1)) + word[changed:]
        one, two = draw.choice(self._others), draw.choice(self._others)
        if draw.random() >= MADE_UP:
            return one
        return one[: (len(one) + 1) // 2] + two[len(two) // 2 :].lower()


def find_alike(pair: Pair) -> set[str]:
    """The words that both sentences have."""
    source, target = (set(find_words(text)) for text in pair)
    return source & target


def find_words(text: str) -> list[str]:
    return _WORD.findall(normalize(text))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) > KEPT_DIGITS


def _replace(pair: Pair, new: dict[str, str]) -> Pair:
    source, target = (_WORD.sub(lambda found: new.get(found[0], found[0]), normalize(text)) for text in pair)
    return source, target
