"""An evaluation as `headway evaluate --json` prints it."""

from dataclasses import asdict
from typing import Any

from headway.evaluation.evaluation import TITLES, Evaluation, Result


def to_dict(evaluation: Evaluation) -> dict[str, Any]:
    """The first system's scores on top, where a program that knows of one system finds them; then everything."""
    return {
        **_describe_scores(evaluation.results[0]),
        "sentences": evaluation.sentences,
        "systems": [_describe(result) for result in evaluation.results],
        "comparisons": [{**asdict(one), "verdict": one.verdict} for one in evaluation.comparisons],
        "breakdowns": [asdict(breakdown) for breakdown in evaluation.breakdowns],
        "best": [asdict(sentence) for sentence in evaluation.best],
        "worst": [asdict(sentence) for sentence in evaluation.worst],
        "apart": [asdict(sentence) for sentence in evaluation.apart],
        "notes": evaluation.notes,
    }


def _describe_scores(result: Result) -> dict[str, Any]:
    """score, signature and interval of each metric; of several seeds those of the mean, and the spread."""
    scores = result.scores[0].to_dict()
    if len(result.scores) > 1:
        for metric in TITLES:
            scores[metric] |= {
                "score": result.mean[metric],
                "interval": result.interval[metric],
                "spread": result.spread[metric],
            }
    if result.compound_split:
        scores["compound_split"] = asdict(result.compound_split)
    return scores


def _describe(result: Result) -> dict[str, Any]:
    seeds = {"seeds": [scores.to_dict() for scores in result.scores]} if len(result.scores) > 1 else {}
    return {"name": result.name, **_describe_scores(result), **seeds}
