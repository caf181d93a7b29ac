"""What goes wrong in whole sentences: words said twice, and sentences that end too early."""

from collections.abc import Sequence
from functools import partial

from headway.evaluation.breakdowns.counting import mean_over_seeds
from headway.evaluation.breakdowns.words import cut_words
from headway.evaluation.evaluation import Breakdown, Bucket, System

LONGEST_REPEAT = 8  # words
SHORT = 0.5  # of the reference's characters: less is an omission
LEAST = 10  # characters of a reference: "Yes." may rightly become much shorter

Repeats = set[tuple[str, ...]]


def break_by_repetition(systems: Sequence[System], references: Sequence[Sequence[str]]) -> Breakdown:
    """Sentences that say something twice in a row where no reference does."""
    allowed = [set().union(*map(find_repeats, texts)) for texts in zip(*references, strict=True)]
    repeats = [
        [[find_repeats(text) - fine for text, fine in zip(output, allowed, strict=True)] for output in system.outputs]
        for system in systems
    ]
    total = len(allowed)
    buckets = []
    for name, is_long in (("one word twice", False), ("several words twice", True)):
        values = [mean_over_seeds(seeds, partial(_share_repeating, is_long=is_long)) for seeds in repeats]
        buckets.append(Bucket(name, total, values))
    which = "the reference does not" if len(references) == 1 else "no reference does"
    return Breakdown(
        name="repetition",
        title="Said twice",
        story=f"Sentences that have a word, or up to {LONGEST_REPEAT} words, twice in a row where {which}.",
        figure="% of sentences",
        counted="sentences",
        higher_is_better=False,
        buckets=buckets,
    )


def _share_repeating(sentences: Sequence[Repeats], is_long: bool) -> float:
    return 100 * sum(any((len(run) > 1) == is_long for run in found) for found in sentences) / len(sentences)


def find_repeats(text: str) -> Repeats:
    """The runs of words that follow themselves. A word three times is a repeat of one word, not of two."""
    words = [word.casefold() for word in cut_words(text)]
    found: Repeats = set()
    for length in range(1, min(LONGEST_REPEAT, len(words) // 2) + 1):
        same = 0  # words in a row that stand again `length` words later
        for at in range(len(words) - length):
            same = same + 1 if words[at] == words[at + length] else 0
            if same >= length:
                run = tuple(words[at - length + 1 : at + 1])
                if length == 1 or len(set(run)) > 1:
                    found.add(run)
    return found


def break_by_omission(systems: Sequence[System], references: Sequence[Sequence[str]]) -> Breakdown | None:
    """Sentences that are missing, or far shorter than any reference. None where the references are blank."""
    shortest = [min(map(_count_characters, texts)) for texts in zip(*references, strict=True)]
    total = sum(length > 0 for length in shortest)
    if not total:
        return None

    def share_empty(output: Sequence[str]) -> float:
        return 100 * sum(not text.strip() for text, length in zip(output, shortest, strict=True) if length) / total

    def share_short(output: Sequence[str]) -> float:
        pairs = [(_count_characters(text), length) for text, length in zip(output, shortest, strict=True) if length >= LEAST]
        return 100 * sum(0 < found < SHORT * length for found, length in pairs) / total

    which = "the reference" if len(references) == 1 else "the shortest reference"
    return Breakdown(
        name="omission",
        title="Left out",
        story=f"Sentences without a translation, or with one that has less than half the characters of {which}, where that has "
        f"{LEAST} or more.",
        figure="% of sentences",
        counted="sentences",
        higher_is_better=False,
        buckets=[
            Bucket("empty", total, [mean_over_seeds(system.outputs, share_empty) for system in systems]),
            Bucket("under half as long", total, [mean_over_seeds(system.outputs, share_short) for system in systems]),
        ],
    )


def _count_characters(text: str) -> int:
    return sum(not character.isspace() for character in text)
