"""What each sentence adds to a score. Added up over any choice of sentences, it gives that choice's score: so thousands of
resampled test sets cost one matrix product, and no sentence is looked at twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headway.evaluation.metrics import Metric, build_metrics

CHUNK = 50  # sentences counted before progress is told

METRICS: tuple[Metric, ...] = ("bleu", "chrf", "ter")
Rows = dict[Metric, list[list[float]]]  # of each metric, for each sentence, its counts
OnProgress = Callable[[str, int, int | None], None]  # what is done, how much of it, of how much if that is known


@dataclass(frozen=True)
class Statistics:
    """Of one file of translations: scores and signatures of the whole, and the counts of each sentence."""

    scores: dict[Metric, float]
    signatures: dict[Metric, str]
    counts: dict[Metric, np.ndarray]  # [sentences, counts], whole numbers but for TER's mean length of several references


def extract(
    outputs: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    on_progress: OnProgress | None = None,
) -> list[Statistics]:
    """Statistics of several translations of one text."""
    from headway.evaluation.sharing import count_on_all_cores

    rows = count_on_all_cores(outputs, references, lowercase, on_progress)
    metrics = build_metrics(lowercase, [stream[:1] for stream in references])  # which makes signatures know how many there are
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return [
        Statistics(
            {name: float(metric._aggregate_and_compute(found[name]).score) for name, metric in metrics.items()},
            signatures,
            {name: np.array(found[name], dtype=np.float64) for name in metrics},
        )
        for found in rows
    ]


def count(
    outputs: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    lowercase: bool,
    on_progress: OnProgress | None = None,
) -> list[Rows]:
    """The counts of each sentence, of each output. What the references need is counted once for all of them."""
    total = len(references[0])
    rows: list[Rows] = [{name: [] for name in METRICS} for _ in outputs]
    for start in range(0, total, CHUNK):
        if on_progress:
            on_progress("Counting", start, total)
        end = start + CHUNK
        metrics = build_metrics(lowercase, [stream[start:end] for stream in references])
        for output, found in zip(outputs, rows, strict=True):
            for name, metric in metrics.items():
                found[name] += metric._extract_corpus_statistics(output[start:end], None)
    return rows
