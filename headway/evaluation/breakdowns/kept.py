"""Whether numbers and names come through."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from headway.evaluation.breakdowns.counting import Tally, keep_common, mean_over_seeds
from headway.evaluation.breakdowns.words import cut_words, find_names, find_numbers, without_possessive
from headway.evaluation.evaluation import Breakdown, Bucket, System

DIGITS = {"1 digit": (1, 1), "2–3 digits": (2, 3), "4 and more digits": (4, None)}


def break_by_numbers(
    systems: Sequence[System], references: Sequence[Sequence[str]], sources: Sequence[str] | None
) -> Breakdown | None:
    """Numbers that must be in the translation. None where the test set has none."""
    wanted = _find_wanted(find_numbers, references, sources)
    there = [[[Counter(find_numbers(text)) for text in output] for output in system.outputs] for system in systems]
    buckets = []
    for name, (low, high) in DIGITS.items():
        some = [_choose(numbers, low, high) for numbers in wanted]
        values = [mean_over_seeds(seeds, partial(_share_kept, some)) for seeds in there]
        buckets.append(Bucket(name, sum(numbers.total() for numbers in some), values))
    if not any(bucket.count for bucket in buckets):
        return None
    return Breakdown(
        name="numbers",
        title="Numbers",
        story=f"Numbers that {_who(references, sources)} in figures: 1,000 is 1.000 and 1 000, and 3.5 is 3,5.",
        figure="% kept",
        counted="numbers",
        higher_is_better=True,
        buckets=[bucket for bucket in buckets if bucket.count],
    )


def break_by_names(
    systems: Sequence[System], references: Sequence[Sequence[str]], sources: Sequence[str], *, lowercase: bool
) -> Breakdown | None:
    """Names that must be in the translation as they stand in the source. None where the test set has none."""

    def read(word: str) -> str:
        return word.lower() if lowercase else word

    wanted = _find_wanted(lambda text: list(map(read, find_names(text))), references, sources)
    count = sum(names.total() for names in wanted)
    if not count:
        return None

    def share(output: Sequence[str]) -> float | None:
        return _share_kept(wanted, (Counter(read(without_possessive(word)) for word in cut_words(text)) for text in output))

    return Breakdown(
        name="names",
        title="Names",
        story=f"Words with a capital, not at a sentence's beginning, that {_who(references, sources)} alike: mostly names.",
        figure="% kept",
        counted="names",
        higher_is_better=True,
        buckets=[Bucket("names", count, [mean_over_seeds(system.outputs, share) for system in systems])],
    )


def _find_wanted(
    find: Callable[[str], list[str]], references: Sequence[Sequence[str]], sources: Sequence[str] | None
) -> list[Counter[str]]:
    """Of each sentence what all references have, and the source if it is there: the fewest that can be asked for."""
    streams = [*references, *([sources] if sources is not None else [])]
    return [keep_common(find(text) for text in texts) for texts in zip(*streams, strict=True)]


def _choose(numbers: Counter[str], low: int, high: int | None) -> Counter[str]:
    def fits(number: str) -> bool:
        return low <= (digits := len(number.replace(".", ""))) and (high is None or digits <= high)

    return Counter({number: times for number, times in numbers.items() if fits(number)})


def _share_kept(wanted: Sequence[Counter[str]], there: Iterable[Counter[str]]) -> float | None:
    tally = Tally()
    for some, found in zip(wanted, there, strict=True):
        tally.add(some, found)
    return tally.percent


def _who(references: Sequence[Sequence[str]], sources: Sequence[str] | None) -> str:
    if sources is None:
        return "the reference has" if len(references) == 1 else "all references have"
    return "source and reference both have" if len(references) == 1 else "source and all references have"
