"""How many of the words that training hardly saw come out right."""

from collections import Counter
from collections.abc import Iterable, Sequence

from headway.evaluation.breakdowns.counting import Tally, mean_over_seeds
from headway.evaluation.breakdowns.words import cut_words
from headway.evaluation.evaluation import Breakdown, Bucket, System

FREQUENCIES = [(0, 0), (1, 4), (5, 19), (20, 99), (100, None)]


def break_by_rarity(
    systems: Sequence[System], references: Sequence[Sequence[str]], training: Iterable[str], *, lowercase: bool
) -> Breakdown:
    """The share of the references' words that a translation has, by how often training's target side has them."""

    def cut(text: str) -> list[str]:
        return cut_words(text.lower() if lowercase else text)

    wanted = [[Counter(cut(text)) for text in texts] for texts in zip(*references, strict=True)]
    known = {word for several in wanted for words in several for word in words}
    seen = Counter(word for text in training for word in cut(text) if word in known)

    def count(output: Sequence[str]) -> list[Tally]:
        tallies = [Tally() for _ in FREQUENCIES]
        for several, text in zip(wanted, output, strict=True):
            there = Counter(cut(text))
            words = max(several, key=lambda one: (one & there).total() / max(1, one.total()))
            _count_into(tallies, words, there, seen)
        return tallies

    of_first = [Tally() for _ in FREQUENCIES]
    for several in wanted:
        _count_into(of_first, several[0], Counter(), seen)
    counted = [[count(output) for output in system.outputs] for system in systems]
    buckets = []
    for place, (low, high) in enumerate(FREQUENCIES):
        tallies = [[seed[place] for seed in seeds] for seeds in counted]
        values = [mean_over_seeds(seeds, lambda tally: tally.percent) for seeds in tallies]
        buckets.append(Bucket(_name(low, high), of_first[place].wanted, values))
    more = "" if len(references) == 1 else (
        " Of several references each translation is held against the one that it shares most with; the first one's are counted."
    )  # fmt: skip
    return Breakdown(
        name="rare_words",
        title="By words rare in training",
        story=f"Words of the reference that the translation has too, by how often the training text has them.{more}",
        figure="% of words found",
        counted="words",
        higher_is_better=True,
        buckets=buckets,
    )


def _count_into(tallies: Sequence[Tally], words: Counter[str], there: Counter[str], seen: Counter[str]) -> None:
    for word, times in words.items():
        tally = tallies[_place(seen[word])]
        tally.wanted += times
        tally.found += min(times, there[word])


def _place(times: int) -> int:
    return next(place for place, (low, high) in enumerate(FREQUENCIES) if low <= times and (high is None or times <= high))


def _name(low: int, high: int | None) -> str:
    return "never seen" if high == 0 else f"{low} times and more" if high is None else f"{low}–{high} times"
