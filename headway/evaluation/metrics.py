"""BLEU, chrF and TER as everybody reports them: sacreBLEU's own, with the signature that says how each was computed.

References come as streams, as sacreBLEU has them: one list for each translator, each as long as the hypotheses.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from headway.amounts import amount, are
from headway.errors import DataError

Metric = Literal["bleu", "chrf", "ter"]


@dataclass(frozen=True)
class Score:
    """A figure between 0 and 100 (TER may pass it), and how to get the same one elsewhere."""

    score: float
    signature: str
    interval: tuple[float, float] | None = None  # 95 %, by bootstrap; None where nobody drew, or there are too few sentences


@dataclass(frozen=True)
class Scores:
    """What `headway evaluate` reports. More is better, but for TER."""

    bleu: Score
    chrf: Score
    ter: Score

    def named(self) -> list[tuple[str, Score]]:
        """As a person reads them."""
        return [("BLEU", self.bleu), ("chrF", self.chrf), ("TER", self.ter)]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """As `--json` prints it."""
        return asdict(self)


def score(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False) -> Scores:
    """All three metrics, without intervals."""
    check_lengths(hypotheses, references)
    metrics = build_metrics(lowercase).values()
    return Scores(*(Score(_compute(metric, hypotheses, references), str(metric.get_signature())) for metric in metrics))


def build_metrics(lowercase: bool, references: Sequence[Sequence[str]] | None = None) -> dict[Metric, Any]:
    """sacreBLEU's own, in the order of a report. References that are given here need not be given with each hypothesis.

    `lowercase` concerns BLEU and chrF; TER never looks at case, here and in the command `sacrebleu`.
    """
    from headway.evaluation.ter import TER

    return {"bleu": _bleu(lowercase, references), "chrf": _chrf(lowercase, references), "ter": TER(references=references)}


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """BLEU alone, for validation: the other two take longer."""
    check_lengths(hypotheses, references)
    return _compute(_bleu(lowercase=False), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """chrF alone, for validation."""
    check_lengths(hypotheses, references)
    return _compute(_chrf(lowercase=False), hypotheses, references)


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """chrF of one sentence, for comparing two translations of it."""
    return float(_chrf(lowercase=False).sentence_score(hypothesis, [reference]).score)


# sacreBLEU is imported where it is used, so that asking for `--help` does not wait for it.


def _bleu(lowercase: bool, references: Sequence[Sequence[str]] | None = None) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    # `force` changes no figure: it only silences the warning that the text looks tokenised, which is the reader's business.
    return BLEU(lowercase=lowercase, force=True, references=references)


def _chrf(lowercase: bool, references: Sequence[Sequence[str]] | None = None) -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(lowercase=lowercase, references=references)


def _compute(metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    return float(metric.corpus_score(hypotheses, references).score)


def check_lengths(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """sacreBLEU itself would cut at the shorter one, or fail in its middle."""
    if isinstance(hypotheses, str) or isinstance(references, str) or any(isinstance(stream, str) for stream in references):
        raise TypeError("hypotheses are a list of strings, references a list of such lists")
    if not references:
        raise DataError("There are no references to compare with.", "Give at least one file of references.")
    many = len(hypotheses)
    for number, stream in enumerate(references, start=1):
        if len(stream) != many:
            which = "the reference" if len(references) == 1 else f"reference {number} of {len(references)}"
            raise DataError(
                f"There {are(many)} {amount(many, 'line')} of translations, but {which} has {len(stream):,}.",
                "Each translation needs its reference on the same line.",
            )
    if not hypotheses:
        raise DataError("There is nothing to evaluate: 0 translations, 0 references.", "Give at least one line of each.")
