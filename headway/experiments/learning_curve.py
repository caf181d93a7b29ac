"""What to expect of a corpus: models of an eighth, a quarter and a half of it, and what their scores foretell of all of it.

All are of the shape that the whole corpus is given, make as many passes over their text, and are judged on the validation part;
the test part is not looked at. Each learns its own vocabulary, as it would if there were no more text.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.amounts import amount, are
from headway.config import Settings, TrainingSettings, parse_corpus
from headway.data.parts import name_part, write_parts
from headway.data.prepare import Prepared
from headway.data.readers import count_lines
from headway.errors import DataError
from headway.evaluation.evaluate import FEWEST
from headway.evaluation.evaluation import NOTHING
from headway.evaluation.extrapolation import Extrapolation, extrapolate
from headway.evaluation.formulas import compute
from headway.evaluation.metrics import Metric
from headway.evaluation.resampling import DRAWS, resample
from headway.evaluation.statistics import Statistics, extract
from headway.experiments.experiment import Request
from headway.experiments.variants import TESTING, Record, Variant, find_run, is_trained, train_variant, vary
from headway.progress import Display, duration
from headway.training.choices import VALIDATIONS
from headway.training.forecast import Figures

SHARES = {"eighth": 1 / 8, "quarter": 1 / 4, "half": 1 / 2}
TOGETHER = sum(SHARES.values())  # of the time that training on everything takes
FEWEST_PAIRS = 100  # of the smallest part
FIXED = ("batch_tokens", "accumulate", "optimizer", "learning_rate")  # which would follow from the size of each part


@dataclass(frozen=True)
class Part:
    """A model of a share of the corpus, judged on the validation part."""

    share: float
    pairs: int
    updates: int
    seconds: float
    bleu: float
    chrf: float


@dataclass(frozen=True)
class Quality:
    """By the names that `headway plan --json` gives. Without a forecast, the parts have not learned enough to tell."""

    sentences: int  # of the validation part
    max_minutes: float | None  # of the training that is foretold; None if its length is given in updates or passes
    parts: list[Part]
    bleu: Extrapolation | None
    chrf: Extrapolation | None


@dataclass(frozen=True)
class Curve:
    """Three trainings to come, and what all of the corpus would take."""

    request: Request
    variants: dict[str, Variant]
    pairs: dict[str, int]
    whole: Figures
    sentences: int

    def expect(self, name: str) -> float:
        """Seconds that a part takes; nothing if it is trained already."""
        training = self.request.settings.training
        settings = vary(self.request.settings, self.variants[name], seed=training.seed)
        if is_trained(find_run(self.request, settings)):
            return 0.0
        if settings.training.max_minutes:
            return 60 * settings.training.max_minutes + TESTING
        # A validation translates some sentences and reads all: together about what training on the first would take.
        length = self.whole.target_tokens / self.whole.pairs
        translated = min(self.sentences, training.valid_sentences) * length / self.whole.tokens_per_second
        return SHARES[name] * self.whole.seconds + VALIDATIONS * translated + TESTING

    def promise(self) -> float:
        return sum(map(self.expect, SHARES))


def check_size(prepared: Prepared) -> None:
    """Whether there is enough to tell anything by."""
    pairs, sentences = prepared.facts.pairs_kept, len(prepared.valid)
    least = round(FEWEST_PAIRS / min(SHARES.values()))
    if pairs < least:
        raise DataError(
            f"{amount(pairs, 'pair')} to train on {are(pairs)} too few: an eighth of that says nothing of the whole.",
            f"A forecast of quality needs at least {least:,}; with fewer, the training itself takes minutes.",
        )
    if sentences < FEWEST:
        raise DataError(
            f"A validation part of {sentences:,} is too small to judge by.",
            f"It needs {FEWEST} sentences: give --held-out {FEWEST} or more, or a larger --valid.",
        )


def plan_curve(
    settings: Settings, resolved: Settings, prepared: Prepared, whole: Figures, place: Path, display: Display
) -> Curve:
    """Draw the parts, and say how each is trained. `resolved` has what follows from the corpus, and holds for the parts too."""
    fixed = {name: getattr(resolved.training, name) for name in FIXED}
    settings = settings.model_copy(update={"model": resolved.model, "training": settings.training.model_copy(update=fixed)})
    request = Request(settings, place / "forecast" / "parts")
    drawn_from = [request.corpora, settings.data.model_dump(), settings.training.seed]
    text = request.out / hashlib.sha256(json.dumps(drawn_from).encode()).hexdigest()[:12]
    if not text.exists():
        write_parts(settings, prepared, text, SHARES, display.update)
        display.close()
    variants: dict[str, Variant] = {}
    counts: dict[str, int] = {}
    for name, share in SHARES.items():
        files = [name_part(text, name, number) for number in range(len(settings.data.train))]
        weights = [parse_corpus(spec)[1] for spec in settings.data.train]
        data: dict[str, Any] = {
            "train": [f"{file}:{weight}" for file, weight in zip(files, weights, strict=True)],
            "valid": str(text / "valid.tsv"),
            "test": str(text / "valid.tsv"),
            "held_out": None,
        }
        changes = {("data", key): value for key, value in data.items()}
        changes |= {("training", key): value for key, value in shorten(settings.training, share, whole.steps).items()}
        variants[name] = Variant(name, changes)
        counts[name] = sum(map(count_lines, files))
    return Curve(request, variants, counts, whole, len(prepared.valid))


def shorten(training: TrainingSettings, share: float, steps: int) -> dict[str, Any]:
    """Of all that is counted in updates or minutes, that share; passes over the text are shorter by themselves.

    `steps` is what all of the corpus is given where the user gives nothing.
    """
    found: dict[str, Any] = {}
    for name in ("max_steps", "warmup", "valid_every", "checkpoint_every"):
        if given := getattr(training, name):
            found[name] = max(1, round(share * given))
    if training.max_minutes is not None:
        found["max_minutes"] = share * training.max_minutes
    if training.max_steps is None and training.max_minutes is None and training.max_epochs is None:
        found["max_steps"] = max(1, round(share * steps))
    return found


def forecast_quality(curve: Curve, display: Display) -> Quality:
    """Train what is not trained yet, and look further. The same call goes on where it was interrupted."""
    settings = curve.request.settings
    expected = {name: curve.expect(name) for name in SHARES}
    records: list[Record] = []
    taken, pace = 0.0, 1.0
    for number, (name, variant) in enumerate(curve.variants.items(), start=1):
        left = pace * sum(list(expected.values())[number - 1 :])
        told = f", about {duration(left)} left" if left else ""
        share = f"1/{round(1 / SHARES[name])}"
        display.say(f"\n[{number}/{len(SHARES)}] {share} of the text: {amount(curve.pairs[name], 'pair')}{told}")
        begun = time.monotonic()
        records.append(train_variant(curve.request, variant, settings.training.seed, display))
        if expected[name]:
            taken += time.monotonic() - begun
            pace = taken / sum(list(expected.values())[:number])
    statistics = extract([one.translations for one in records], [records[0].references], on_progress=display.update)
    display.close()
    scores = [one.scores for one in statistics]
    parts = [
        Part(SHARES[name], curve.pairs[name], one.updates, one.seconds, round(found["bleu"], 2), round(found["chrf"], 2))
        for name, one, found in zip(SHARES, records, scores, strict=True)
    ]
    early = is_too_early([one.bleu for one in parts])
    return Quality(
        sentences=curve.sentences,
        max_minutes=settings.training.max_minutes,
        parts=parts,
        bleu=None if early else _look_further(statistics, "bleu"),
        chrf=None if early else _look_further(statistics, "chrf"),
    )


def is_too_early(bleu: Sequence[float]) -> bool:
    """Where but one model has learned to translate, nobody knows how steep the curve is."""
    return sum(score >= NOTHING for score in bleu) < 2


def _look_further(statistics: Sequence[Statistics], metric: Metric) -> Extrapolation:
    sums = resample([one.counts[metric] for one in statistics], DRAWS)
    return extrapolate(np.stack([compute(metric, one) for one in sums], axis=1))
