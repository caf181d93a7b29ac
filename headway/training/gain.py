"""What back-translation gained: a run against its own first stage, which did without, on the test part of both."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from headway.amounts import amount
from headway.bundle import read_manifest
from headway.evaluation.evaluation import NOTHING, TITLES, Comparison
from headway.evaluation.metrics import Metric
from headway.progress import Display
from headway.reports.runs.evaluation import evaluate_tested
from headway.reports.runs.tested import read_tested
from headway.training.validation import Validation

COMPARED: tuple[Metric, ...] = ("bleu", "chrf")


@dataclass(frozen=True)
class Score:
    with_it: float
    without: float
    comparison: Comparison

    def tell(self) -> str:
        name = TITLES[self.comparison.metric]
        return f"{name} {self.with_it:.1f} against {self.without:.1f} without it, {self.comparison.tell_verdict()}"


@dataclass(frozen=True)
class Gain:
    """On the test part, and which of the two models to take by validation."""

    sentences: int  # translated back, and kept
    scores: list[Score]
    model: Path
    story: str

    def to_json(self) -> str:
        scores = {
            one.comparison.metric: {
                "with": one.with_it,
                "without": one.without,
                **asdict(one.comparison),
                "verdict": one.comparison.verdict,
            }
            for one in self.scores
        }
        content = {"sentences": self.sentences, "scores": scores, "model": str(self.model), "story": self.story}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def find_gain(out: Path, forward: Path, sentences: int, metric: str, display: Display) -> Gain:
    """`metric` of validation names the model to take: a test part is there to tell what was gained, not to choose by."""
    tested = {name: [read_tested(run / "test.jsonl")] for name, run in (("without", forward), ("with", out))}
    evaluation = evaluate_tested(tested, None, display.update)
    display.close()
    without, with_it = evaluation.results
    scores = [
        Score(with_it.mean[one.metric], without.mean[one.metric], one)
        for one in evaluation.comparisons
        if one.metric in COMPARED
    ]
    story = f"Back-translation of {amount(sentences, 'sentence')}: {'; '.join(one.tell() for one in scores)}."
    model = max(out, forward, key=lambda run: _validated(run, metric)) / "best"
    if max(with_it.mean["bleu"], without.mean["bleu"]) < NOTHING:
        told = "Neither model has learned to translate yet, so that differences mean nothing: give a larger budget."
        return Gain(sentences, scores, model, f"{story} {told}")
    verdicts = {one.comparison.verdict for one in scores} & {"better", "worse"}
    told = "It helped" if verdicts == {"better"} else "It did harm" if verdicts == {"worse"} else "It did not clearly help"
    if verdicts == ({"worse"} if model.parent == out else {"better"}):
        told += " on the test part, which validation does not bear out: more held-out sentences would tell"
    return Gain(sentences, scores, model, f"{story} {told}; by validation, take {model}.")


def _validated(run: Path, metric: str) -> float:
    return Validation.from_metrics(read_manifest(run / "best").provenance.metrics).value(metric)
