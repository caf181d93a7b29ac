"""What an evaluation found, as a page, or as part of another page. Nothing is computed here but where to draw it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.atomic import write_file
from headway.evaluation.evaluation import TITLES, Breakdown, Comparison, Evaluation, Result, Sentence
from headway.evaluation.metrics import Metric, Score
from headway.reports.charts import COLOURS, Track, make_track
from headway.reports.evaluation.words import find_nearest, mark_missing, mark_words
from headway.reports.page import render


@dataclass(frozen=True)
class Row:
    """A dot on a track, with its interval as (left, width), and dots of its seeds; places in percent."""

    name: str
    colour: int
    at: float
    value: str
    more: str
    span: tuple[float, float] | None = None
    seeds: Sequence[float] = ()
    zero: float | None = None


def write_evaluation(evaluation: Evaluation, path: Path, *, title: str) -> Path:
    """One page that needs nothing beside it."""
    write_file(path, render("evaluation/evaluation.html", title=title, shown=[show(evaluation)]))
    return path


def show(evaluation: Evaluation, colours: Sequence[int] | None = None) -> dict[str, Any]:
    """What `evaluation/body.html` is told; `colours` are those that the systems have elsewhere on the page."""
    names = [result.name for result in evaluation.results]
    colours = [colour % COLOURS for colour in colours or range(len(names))]
    return {
        "sentences": evaluation.sentences,
        "systems": [{"name": name, "colour": colour} for name, colour in zip(names, colours, strict=True)],
        "metrics": [_show_metric(metric, evaluation.results, colours) for metric in TITLES],
        "compound_split": [(one.name, one.compound_split) for one in evaluation.results if one.compound_split],
        "comparisons": _show_comparisons(evaluation.comparisons, names, colours),
        "breakdowns": [_show_breakdown(breakdown, names, colours) for breakdown in evaluation.breakdowns],
        "examples": [
            {"title": title, "story": story, "sentences": [_show_sentence(one, names, colours) for one in sentences]}
            for title, story, sentences in (
                ("Furthest apart", f"Where {names[-1]} differs most from {names[0]}.", evaluation.apart),
                ("Worst sentences", f"Those with the lowest chrF of {names[0]}.", evaluation.worst),
                ("Best sentences", f"Those with the highest chrF of {names[0]}.", evaluation.best),
            )
            if sentences
        ],
        "notes": evaluation.notes,
        "signatures": [(TITLES[metric], _score(evaluation.results[0], metric).signature) for metric in TITLES],
    }


def _score(result: Result, metric: Metric, seed: int = 0) -> Score:
    return getattr(result.scores[seed], metric)


def _show_metric(metric: Metric, results: Sequence[Result], colours: Sequence[int]) -> dict[str, Any]:
    seeds = [[_score(result, metric, seed) for seed in range(len(result.scores))] for result in results]
    values = [result.mean[metric] for result in results]
    values += [one.score for scores in seeds for one in scores]
    values += [bound for scores in seeds for one in scores for bound in one.interval or ()]
    track = make_track(values)
    rows = []
    for result, scores, colour in zip(results, seeds, colours, strict=True):
        mean, spread = result.mean[metric], result.spread[metric]
        interval = result.interval[metric]
        more = tell_interval(interval) if interval else ""
        if spread is not None:
            more = f"± {spread:.2f} over {len(scores)} seeds"
        rows.append(
            Row(
                result.name,
                colour,
                track.at(mean),
                f"{mean:.2f}",
                more,
                _span(track, interval),
                [track.at(one.score) for one in scores] if len(scores) > 1 else (),
            )
        )
    better = "less is better" if metric == "ter" else "more is better"
    return {"title": TITLES[metric], "better": better, "track": track, "rows": rows}


def _span(track: Track, interval: tuple[float, float] | None) -> tuple[float, float] | None:
    if interval is None:
        return None
    low, high = (track.at(bound) for bound in interval)
    return low, round(high - low, 2)


def tell_interval(interval: tuple[float, float], digits: int = 2) -> str:
    return f"{interval[0]:.{digits}f} to {interval[1]:.{digits}f}"


def tell_signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _show_comparisons(comparisons: Sequence[Comparison], names: Sequence[str], colours: Sequence[int]) -> list[dict[str, Any]]:
    """For each metric a picture, and a sentence for each system."""
    shown = []
    for metric, title in TITLES.items():
        some = [one for one in comparisons if one.metric == metric]
        if not some:
            continue
        track = make_track([bound for one in some for bound in (one.difference, *(one.interval or ()))], zero=True)
        rows = [
            Row(
                one.system,
                colours[names.index(one.system)],
                track.at(one.difference),
                tell_signed(one.difference),
                f"{tell_signed(one.interval[0])} to {tell_signed(one.interval[1])}" if one.interval else "",
                _span(track, one.interval),
                zero=track.at(0.0),
            )
            for one in some
        ]
        told = [tell_comparison(one, names[0]) for one in some]
        shown.append({"title": title, "track": track, "rows": rows, "told": told})
    return shown


def tell_comparison(comparison: Comparison, first: str) -> str:
    """A difference, and whether chance may have made it, in words."""
    c, title = comparison, TITLES[comparison.metric]
    if c.difference == 0:
        return f"{c.system} and {first} have the same {title}."
    told = f"{c.system} has {abs(c.difference):.2f} {title} {'more' if c.difference > 0 else 'less'} than {first}"
    if c.interval:
        told += f" (95 % interval {tell_signed(c.interval[0])} to {tell_signed(c.interval[1])})"
    return f"{told}: {c.tell_verdict()}."


def _show_breakdown(breakdown: Breakdown, names: Sequence[str], colours: Sequence[int]) -> dict[str, Any]:
    values = [value for bucket in breakdown.buckets for value in bucket.values if value is not None]
    # A share of what was wanted is drawn as one of all; faults are few, and drawn larger, but not as if they were many.
    track = make_track([*values, 100.0 if breakdown.higher_is_better else 10.0], zero=True)
    return {
        "title": breakdown.title,
        "story": breakdown.story,
        "figure": breakdown.figure,
        "better": "more is better" if breakdown.higher_is_better else "less is better",
        "counted": breakdown.counted,
        "buckets": [
            {
                "name": bucket.name,
                "count": f"{bucket.count:,}",
                "few": bucket.is_few,
                "bars": [
                    {
                        "name": name,
                        "colour": colour,
                        "at": None if value is None else track.at(value),
                        "value": _tell_value(value),
                    }
                    for name, value, colour in zip(names, bucket.values, colours, strict=True)
                ],
            }
            for bucket in breakdown.buckets
        ],
    }


def _tell_value(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _show_sentence(sentence: Sentence, names: Sequence[str], colours: Sequence[int]) -> dict[str, Any]:
    nearest = [find_nearest(translation, sentence.references) for translation in sentence.translations]
    return {
        "number": f"{sentence.number:,}",
        "source": sentence.source,
        "references": [mark_missing(reference, sentence.translations) for reference in sentence.references],
        "translations": [
            {"name": name, "colour": colour, "words": mark_words(text, near), "chrf": f"{chrf:.1f}"}
            for name, colour, text, near, chrf in zip(
                names, colours, sentence.translations, nearest, sentence.chrf, strict=True
            )
        ],
    }
