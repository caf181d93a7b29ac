"""Two sentences side by side, word by word: which words they share, which one of them lacks, which stand elsewhere.

Words are cut otherwise than for counting (headway/evaluation/breakdowns/words.py), since a page shows every character:
punctuation is a word of its own there, and spaces are kept.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from headway.text.sentences import is_unspaced

Kind = Literal["same", "moved", "only"]
_ORDER: list[Kind] = ["same", "moved", "only"]


@dataclass(frozen=True)
class Words:
    """A stretch of a sentence whose words are all of one kind: in both sentences, in both but elsewhere, in this one only."""

    text: str
    kind: Kind


def mark_words(translation: str, reference: str) -> list[Words]:
    """The translation in stretches, by what the reference has of it."""
    words = split_words(translation)
    return _join(words, _compare(words, split_words(reference)))


def mark_missing(reference: str, translations: Sequence[str]) -> list[Words]:
    """The reference in stretches, by what at least one of the translations has of it."""
    words = split_words(reference)
    found = [_compare(words, split_words(translation)) for translation in translations]
    return _join(words, [min(kinds, key=_ORDER.index) for kinds in zip(*found, strict=True)])


def find_nearest(translation: str, references: Sequence[str]) -> str:
    """Of several references, the one that shares most words with a translation."""
    words = _bare(split_words(translation))
    return max(references, key=lambda one: SequenceMatcher(None, words, _bare(split_words(one)), autojunk=False).ratio())


def split_words(text: str) -> list[str]:
    """Words and signs in order; white space goes with what stands before it. Without spaces each character is a word."""
    words: list[str] = []
    before = ""
    for character in text:
        what = _describe(character)
        if words and (what in ("space", "accent") or what == before == "letter"):
            words[-1] += character
        else:
            words.append(character)
        before = before if what == "accent" else what
    return words


def _describe(character: str) -> str:
    if character.isspace():
        return "space"
    kind = unicodedata.category(character)[0]
    if kind == "M":  # what stands above or below a letter, vowels of Hindi too
        return "accent"
    if kind in "PSC" or is_unspaced(character):
        return "sign"
    return "letter"


def _bare(words: Sequence[str]) -> list[str]:
    return [word.strip() for word in words]


def _compare(words: Sequence[str], others: Sequence[str]) -> list[Kind]:
    mine, theirs = _bare(words), _bare(others)
    kinds: list[Kind] = ["only"] * len(mine)
    left = Counter(theirs)
    for start, _, size in SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks():
        kinds[start : start + size] = ["same"] * size
        left.subtract(mine[start : start + size])
    for at, word in enumerate(mine):
        if kinds[at] == "only" and left[word] > 0:
            kinds[at] = "moved"
            left[word] -= 1
    return kinds


def _join(words: Sequence[str], kinds: Sequence[Kind]) -> list[Words]:
    """Neighbours of one kind together; the space after a stretch belongs to nobody."""
    joined: list[Words] = []
    for word, kind in zip(words, kinds, strict=True):
        if joined and joined[-1].kind == kind:
            joined[-1] = Words(joined[-1].text + word, kind)
            continue
        if joined and joined[-1].kind != "same":
            last = joined.pop()
            bare = last.text.rstrip()
            joined.append(Words(bare, last.kind))
            if space := last.text[len(bare) :]:
                joined.append(Words(space, "same"))
                if kind == "same":
                    joined[-1] = Words(space + word, "same")
                    continue
        joined.append(Words(word, kind))
    return joined
