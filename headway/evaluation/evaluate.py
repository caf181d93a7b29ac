"""From translations and references to all that an evaluation tells."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from headway.amounts import amount, are
from headway.errors import DataError, RequestError
from headway.evaluation.breakdowns.directions import break_by_direction
from headway.evaluation.breakdowns.faults import break_by_omission, break_by_repetition
from headway.evaluation.breakdowns.kept import break_by_names, break_by_numbers
from headway.evaluation.breakdowns.lengths import break_by_length
from headway.evaluation.breakdowns.rare import break_by_rarity
from headway.evaluation.breakdowns.words import is_mostly_unspaced
from headway.evaluation.compounds import score_split
from headway.evaluation.evaluation import TITLES, Breakdown, Comparison, Evaluation, Result, System
from headway.evaluation.extremes import find_extremes
from headway.evaluation.formulas import compute
from headway.evaluation.metrics import Metric, Score, Scores, check_lengths
from headway.evaluation.resampling import DRAWS, OnDraw, average_seeds, draw_seeds, estimate_interval, read_seed, resample
from headway.evaluation.significance import FEWEST_DIFFERENT, TRIALS, count_different, find_bootstrap_p, find_seeds_p, randomise
from headway.evaluation.statistics import OnProgress, Statistics, extract

FEWEST = 30  # sentences: a bootstrap of fewer draws too few different ones, and its intervals are too narrow
FEWEST_DRAWS = 100  # fewer leave two or none beyond each end of an interval
NAMED = 5  # lines with blank references
TOLD = 10_000  # lines of training text read before progress is told


@dataclass(frozen=True)
class _Measured:
    """A system's seeds: statistics of each, what each draw of sentences scored, and which seeds each draw has.

    There are no draws of too few sentences.
    """

    system: System
    seeds: list[Statistics]
    drawn: list[dict[Metric, np.ndarray]]
    weights: np.ndarray  # [draws, seeds]

    def mean(self, metric: Metric) -> float:
        return sum(seed.scores[metric] for seed in self.seeds) / len(self.seeds)

    def mean_drawn(self, metric: Metric) -> np.ndarray:
        return average_seeds([drawn[metric] for drawn in self.drawn], self.weights)


def evaluate(
    systems: Sequence[System],
    references: Sequence[Sequence[str]],
    *,
    sources: Sequence[str] | None = None,
    directions: Sequence[str] | None = None,
    training: Iterable[str] | None = None,
    lowercase: bool = False,
    compound_split: bool = False,
    draws: int = DRAWS,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Score each system, compare the others with the first one, and look where they are good and bad.

    `references` are streams, a list for each translator. `directions` names that of each sentence. `training` is the target
    side of the training text. `draws` is the number of resampled test sets; randomisation has ten times as many trials.

    Intervals and p-values tell of the luck in the choice of sentences and, where a system has several seeds, of that in its
    training: each draw takes other sentences, the same for all systems, and of each system other seeds. Of a system with one
    seed nobody knows how lucky it was, and all is sacreBLEU's.
    """
    _check(systems, references, sources, draws)
    draws = draws if len(references[0]) >= FEWEST else 0
    measured = _measure(systems, references, lowercase, draws, on_progress)
    comparisons, notes = _compare(measured, draws, on_progress)
    is_unspaced = is_mostly_unspaced(references[0])
    best, worst, apart = find_extremes(systems, [one.seeds[0] for one in measured], references, sources)
    compounds = [
        score_split(one.system, references, lowercase=lowercase, weights=one.weights) if compound_split else None
        for one in measured
    ]
    told = None if training is None or is_unspaced else _tell_lines(training, on_progress)
    breakdowns: list[Breakdown | None] = [
        None if directions is None else break_by_direction(directions, [one.seeds for one in measured]),
        break_by_length(references, [one.seeds for one in measured]),
        None if told is None else break_by_rarity(systems, references, told, lowercase=lowercase),
        break_by_numbers(systems, references, sources),
        None if sources is None else break_by_names(systems, references, sources, lowercase=lowercase),
        break_by_repetition(systems, references),
        break_by_omission(systems, references),
    ]
    return Evaluation(
        sentences=len(references[0]),
        results=[_report(one, compound) for one, compound in zip(measured, compounds, strict=True)],
        comparisons=comparisons,
        breakdowns=[breakdown for breakdown in breakdowns if breakdown],
        best=best,
        worst=worst,
        apart=apart,
        notes=[*_note(systems, references, is_unspaced, training is not None), *notes],
    )


def _check(systems: Sequence[System], references: Sequence[Sequence[str]], sources: Sequence[str] | None, draws: int) -> None:
    if not systems:
        raise RequestError("There is no system to evaluate.", "Give a model, or a file of translations.")
    check_draws(draws)
    for system in systems:
        for output in system.outputs:
            try:
                check_lengths(output, references)
            except DataError as error:
                raise DataError(f"{system.name}: {error.problem}", error.remedy) if len(systems) > 1 else error from None
    if sources is not None:
        check_sources(sources, references)
    check_references(references)


def check_references(references: Sequence[Sequence[str]]) -> None:
    """Something must be written in them: without that every score is 0, and means nothing."""
    if references and references[0] and len(_find_blank(references)) == len(references[0]):
        raise DataError("All references are blank: there is nothing to compare with.", "Give the right file of references.")


def _find_blank(references: Sequence[Sequence[str]]) -> list[int]:
    """Lines, counted from 1, that no reference has anything on."""
    lines = enumerate(zip(*references, strict=True), start=1)
    return [number for number, texts in lines if not any(text.strip() for text in texts)]


def check_draws(draws: int) -> None:
    """Enough of them, and a seed to begin with."""
    if draws < FEWEST_DRAWS:
        raise RequestError(
            f"{amount(draws, 'draw')} {are(draws)} too few for an interval of 95 %.",
            f"Take {FEWEST_DRAWS} or more; 1,000 are usual.",
        )
    read_seed()


def check_sources(sources: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    for stream in references:
        if len(stream) != len(sources):
            raise DataError(
                f"There {are(len(sources))} {amount(len(sources), 'line')} of source, but {len(stream):,} of references.",
                "Each source needs its reference on the same line.",
            )


def _measure(
    systems: Sequence[System],
    references: Sequence[Sequence[str]],
    lowercase: bool,
    draws: int,
    on_progress: OnProgress | None,
) -> list[_Measured]:
    outputs = [output for system in systems for output in system.outputs]
    seeds = extract(outputs, references, lowercase=lowercase, on_progress=on_progress)
    drawn: list[dict[Metric, np.ndarray]] = []
    if draws:
        sums = iter(resample([seed.counts[name] for seed in seeds for name in TITLES], draws, _told("Drawing", on_progress)))
        drawn = [{name: compute(name, next(sums)) for name in TITLES} for _ in seeds]
    measured = []
    for number, system in enumerate(systems):
        many = len(system.outputs)
        measured.append(_Measured(system, seeds[:many], drawn[:many], draw_seeds(many, draws, number)))
        seeds, drawn = seeds[many:], drawn[many:]
    return measured


def _told(work: str, on_progress: OnProgress | None) -> OnDraw | None:
    return (lambda done, total: on_progress(work, done, total)) if on_progress else None


def _report(one: _Measured, compound_split: Score | None) -> Result:
    scores = []
    for place, seed in enumerate(one.seeds):
        intervals = {name: estimate_interval(one.drawn[place][name]) if one.drawn else None for name in TITLES}
        scores.append(Scores(*(Score(seed.scores[name], seed.signatures[name], intervals[name]) for name in TITLES)))
    mean = {name: one.mean(name) for name in TITLES}
    interval = {name: estimate_interval(one.mean_drawn(name)) if one.drawn else None for name in TITLES}
    spread = {name: _deviation([seed.scores[name] for seed in one.seeds]) for name in TITLES}
    return Result(one.system.name, scores, mean, interval, spread, compound_split)


def _deviation(values: Sequence[float]) -> float | None:
    """The standard deviation that a few seeds let expect of all."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _compare(measured: Sequence[_Measured], draws: int, on_progress: OnProgress | None) -> tuple[list[Comparison], list[str]]:
    first, *others = measured
    comparisons, notes = [], []
    alone = [place for place, other in enumerate(others) if len(first.seeds) == len(other.seeds) == 1 and draws]
    randomised: dict[int, dict[Metric, float]] = {}
    if alone:
        singles = [others[place].seeds[0] for place in alone]
        told = _told("Swapping", on_progress)
        randomised = dict(zip(alone, randomise(first.seeds[0], singles, draws * TRIALS, told), strict=True))
    for place, other in enumerate(others):
        few = []
        for metric in TITLES:
            difference = other.mean(metric) - first.mean(metric)
            interval = bootstrap = randomisation = None
            if draws:
                differences = other.mean_drawn(metric) - first.mean_drawn(metric)
                find_p = find_bootstrap_p if place in alone else find_seeds_p
                interval, bootstrap = estimate_interval(differences), find_p(difference, differences)
                randomisation = randomised.get(place, {}).get(metric)
                counts = [[seed.counts[metric] for seed in one.seeds] for one in (first, other)]
                if (different := count_different(counts[0], counts[1])) < FEWEST_DIFFERENT:
                    bootstrap = randomisation = None
                    few.append((different, TITLES[metric]))
            comparisons.append(Comparison(other.system.name, metric, difference, interval, bootstrap, randomisation))
        if few:
            most = max(different for different, _ in few)
            where = f"{amount(most, 'sentence')} at most"
            notes.append(
                f"{other.system.name} and {first.system.name} differ in {where} by {', '.join(title for _, title in few)}: "
                f"below {FEWEST_DIFFERENT} no test can tell that from chance."
            )
    return comparisons, notes


def _note(systems: Sequence[System], references: Sequence[Sequence[str]], is_unspaced: bool, has_training: bool) -> list[str]:
    notes = []
    sentences = len(references[0])
    if sentences < FEWEST:
        notes.append(
            f"{amount(sentences, 'sentence')} {are(sentences)} too few for intervals and tests: "
            f"they would be narrower than the truth. From {FEWEST} on they are given; a thousand and more make them useful."
        )
    if blank := _find_blank(references):
        lines = ", ".join(f"{number:,}" for number in blank[:NAMED]) + (", …" if len(blank) > NAMED else "")
        notes.append(
            f"{len(blank):,} of {amount(sentences, 'reference')} {are(len(blank))} blank "
            f"(line{'' if len(blank) == 1 else 's'} {lines}): whatever is translated there counts as wrong."
        )
    if is_unspaced:
        notes.append(
            "The references' script sets no spaces between words: BLEU (tokeniser 13a) and TER see few words, and only chrF "
            "is to be trusted. Breakdowns count characters." + (" Rare words are left out." if has_training else "")
        )
    if any(len(system.outputs) > 1 for system in systems) and len(systems) > 1:
        alone = any(len(system.outputs) == 1 for system in systems)
        notes.append(
            "Seeds are compared by their mean, with the bootstrap alone, which draws seeds as well as sentences; randomisation "
            "knows no seeds." + (" A system with one seed is taken as if training had no luck in it." if alone else "")
        )
    return notes


def _tell_lines(lines: Iterable[str], on_progress: OnProgress | None) -> Iterator[str]:
    for number, line in enumerate(lines):
        if on_progress and number and number % TOLD == 0:
            on_progress("Reading the training text", number, None)
        yield line
