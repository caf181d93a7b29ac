"""Evaluations and runs made by hand, for what draws them: figures that are easy to find again on a page."""

from pathlib import Path

from headway.bundle import Manifest
from headway.config import build_settings
from headway.evaluation.evaluation import Breakdown, Bucket, Comparison, Evaluation, Metric, Result, Sentence
from headway.evaluation.metrics import Score, Scores
from headway.reports.runs.record import RunRecord
from headway.reports.runs.tested import Tested

HOSTILE = "</script><b>& \"quoted\" 'too'"
ARABIC, CHINESE = "ركض الكلب في الحديقة", "狗在公园里跑"


def make_result(name: str, *bleus: float) -> Result:
    """One seed for each BLEU; chrF is 25 more, TER 10 more, the intervals 1.5 to both sides."""

    def score(value: float, signature: str) -> Score:
        return Score(value, signature, (value - 1.5, value + 1.5))

    signatures = ("nrefs:1|tok:13a", "nrefs:1|nc:6", "nrefs:1|case:lc")
    scores = [Scores(*(score(bleu + more, told) for more, told in zip((0, 25, 10), signatures, strict=True))) for bleu in bleus]
    mean = sum(bleus) / len(bleus)
    spread = 0.75 if len(bleus) > 1 else None
    means: dict[Metric, float] = {"bleu": mean, "chrf": mean + 25, "ter": mean + 10}
    intervals: dict[Metric, tuple[float, float] | None] = {
        metric: (value - 1.5, value + 1.5) for metric, value in means.items()
    }
    return Result(name, scores, means, intervals, dict.fromkeys(means, spread))


def make_evaluation(*results: Result) -> Evaluation:
    """Of two systems, one with three seeds, if not said otherwise."""
    results = results or (make_result("old", 31.25), make_result(f"new {HOSTILE}", 33.5, 34.0, 34.5))
    many = len(results)
    sentences = [
        Sentence(
            7,
            "A dog runs in the park.",
            ["Ein Hund läuft im Park."],
            ["Ein Hund rennt im Park.", "Im Park läuft ein Hund."][:many] or [],
            [61.5, 88.25][:many],
        ),
        Sentence(1200, ARABIC, [CHINESE], ["狗在花园里跑", ""][:many], [50.0, 0.0][:many]),
        Sentence(3, HOSTILE, [f"Anführung {HOSTILE}"], [f"{HOSTILE} A", "word" * 60][:many], [40.0, 1.0][:many]),
    ]
    comparisons = [
        Comparison(results[-1].name, "bleu", 2.75, (0.85, 4.65), 0.004, None),
        Comparison(results[-1].name, "chrf", -0.125, (-1.25, 1.0), 0.412, None),
        Comparison(results[-1].name, "ter", -1.5, None, None, None),
    ]
    breakdowns = [
        Breakdown(
            "length",
            "By length of the source",
            "chrF of the sentences of each length, in words.",
            "chrF",
            "sentences",
            True,
            [Bucket(name, count, values[:many]) for name, count, values in BUCKETS],
        ),
        Breakdown(
            "twice", "Repetition", "Words that come twice.", "%", "words", False, [Bucket("all", 12_345, [1.5, None][:many])]
        ),
    ]
    return Evaluation(
        sentences=1000,
        results=list(results),
        comparisons=comparisons if many > 1 else [],
        breakdowns=breakdowns,
        best=sentences[:1],
        worst=sentences[1:],
        apart=sentences[:2] if many > 1 else [],
        notes=["One reference is empty."],
    )


BUCKETS: list[tuple[str, int, list[float | None]]] = [
    ("1 to 10", 412, [62.5, 65.0]),
    ("11 to 20", 501, [58.0, 57.5]),
    ("over 20", 87, [41.0, 49.5]),
]


def make_run(name: str, *, words: str = "a dog runs", test: str = "a dog runs", **training: object) -> RunRecord:
    """A run of a translator on forty sentences, told no more than it must."""
    settings = build_settings({"data": {"from": "en", "to": "de"}, "training": training})
    architecture = {"source_vocab": 10, "target_vocab": 10, "n_layers": 1, "n_decoder_layers": 1, "d_model": 4, "d_ff": 4}
    architecture |= {"n_heads": 1, "d_k": 4, "d_v": 4, "dropout": 0, "norm": "pre", "positions": "none", "max_positions": 8}
    manifest = Manifest.model_validate(
        {
            "architecture": architecture | {"activation": "relu", "tie": "all"},
            "provenance": {"data": {"train.en": "1234"}, "metrics": {"test_bleu": 30.5, "test_chrf": 50.5, "test_ter": 40.5}},
        }
    )
    records = [
        {
            "step": step,
            "seconds": 6.0 * step,
            "valid_bleu": float(step),
            "valid_loss": 5.0 / step,
            "loss": 7.0 / step,
            "learning_rate": 0.001,
            "tokens_per_second": 900.0 + step,
        }
        for step in (10, 20)
    ]
    tested = [Tested(f"{test} {number}", f"{test} {number}", f"{words} {number % 9}") for number in range(40)]
    return RunRecord(Path("runs") / name, name, settings, records, manifest, 1234, tested, None, [])
