"""What an evaluation found, as data: the table on the terminal, the JSON and the page are drawn from it alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from headway.evaluation.metrics import Metric, Score, Scores

TITLES: dict[Metric, str] = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
Verdict = Literal["better", "worse", "no clear difference", "equal", "not tested"]
FEW = 20  # cases: of fewer, a share moves by more than five points with each
LEVEL = 0.05  # of p-values: above it, nothing is said to be better
NOTHING = 1.0  # BLEU: models below it have not learned to translate


@dataclass(frozen=True)
class System:
    """What is evaluated: a name, and for each seed (most systems have one) its translations, a line each."""

    name: str
    outputs: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Result:
    """The scores of one system. With several seeds, `mean` and `spread` (the standard deviation over seeds) tell more."""

    name: str
    scores: list[Scores]  # one for each seed
    mean: dict[Metric, float]
    interval: dict[Metric, tuple[float, float] | None]  # 95 %, of the mean, seeds' luck included; None of too few sentences
    spread: dict[Metric, float | None]  # None with one seed
    compound_split: Score | None = None  # BLEU in the paper's manner, where it was asked for


@dataclass(frozen=True)
class Comparison:
    """A system beside the first one: the difference of a metric (mean over seeds), and how easily chance makes such a one."""

    system: str
    metric: Metric
    difference: float  # of the system, above the first one
    interval: tuple[float, float] | None  # 95 %, by paired bootstrap; None where there are too few sentences
    bootstrap_p: (
        float | None
    )  # Koehn (2004), with seeds drawn too where there are several; None also where too few sentences differ
    randomisation_p: float | None  # Riezler and Maxwell (2005); None also where a system has several seeds

    @property
    def verdict(self) -> Verdict:
        """In plain words, wherever a comparison is told: better or worse only if each test that was made says so."""
        made = self._tests().values()
        if self.difference == 0:
            return "equal"
        if not made:
            return "not tested"
        if max(made) >= LEVEL:
            return "no clear difference"
        return "better" if (self.difference > 0) == (self.metric != "ter") else "worse"

    def tell_verdict(self) -> str:
        """With the p-values that it rests on, or why there are none."""
        told = ", ".join(f"p {_tell(p)} by {name}" for name, p in self._tests().items())
        if self.verdict == "not tested":
            told = "too few sentences differ" if self.interval else "too few sentences"
        return f"{self.verdict} ({told})" if told else self.verdict

    def _tests(self) -> dict[str, float]:
        tests = {"bootstrap": self.bootstrap_p, "randomisation": self.randomisation_p}
        return {name: p for name, p in tests.items() if p is not None}


def _tell(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"= {p:.4f}"


@dataclass(frozen=True)
class Bucket:
    """Some sentences or words of the test set, and a figure of each system on them; None where there is nothing to count."""

    name: str
    count: int
    values: list[float | None]

    @property
    def is_few(self) -> bool:
        return self.count < FEW


@dataclass(frozen=True)
class Breakdown:
    """One way to divide the test set."""

    name: str  # as in JSON: length, rare_words, ...
    title: str
    story: str  # a sentence for people: what is counted, and how
    figure: str  # what the values are: "chrF", "% of words found", ...
    counted: str  # what the buckets count: "sentences", "words", ...
    higher_is_better: bool
    buckets: list[Bucket]


@dataclass(frozen=True)
class Sentence:
    """One line of the test set; translations and chrF of it are those of each system, its first seed."""

    number: int  # from 1, as an editor counts lines
    source: str | None
    references: list[str]
    translations: list[str]
    chrf: list[float]


@dataclass(frozen=True)
class Evaluation:
    sentences: int
    results: list[Result]
    comparisons: list[Comparison]  # none with one system
    breakdowns: list[Breakdown]
    best: list[Sentence]  # by the first system's chrF
    worst: list[Sentence]
    apart: list[Sentence]  # where the last system differs most from the first one; none with one system
    notes: list[str] = field(default_factory=list)  # what a reader must know: too few sentences, empty references, ...
