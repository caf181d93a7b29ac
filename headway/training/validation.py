"""How good a model is on a held-out part: the loss, the accuracy of a classifier, BLEU and chrF of real translations."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
import torch

from headway.config import TrainingSettings
from headway.data.objectives import Encoded, Examples, Objective
from headway.decoding.options import Options
from headway.engines.batching import batches_by_length
from headway.engines.engine import Job
from headway.engines.torch import TorchEngine
from headway.evaluation.metrics import bleu, chrf
from headway.models.encoder_decoder import EncoderDecoder
from headway.models.model import Model
from headway.text.tokenizer import Tokenizers
from headway.training.choices import PASS_TOKENS
from headway.training.group import Group
from headway.training.loss import judged_states, loss_of_states

TIE = 1e-7  # of a point, for each unit of loss
NAMES = {"bleu": "BLEU", "chrf": "chrF", "accuracy": "accuracy"}


@dataclass(frozen=True)
class Validation:
    loss: float  # natural logarithm, per prediction, without smoothing
    figures: dict[str, float] = field(default_factory=dict)  # bleu and chrf of translations, the accuracy of classes

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))

    def value(self, metric: str) -> float:
        """The named metric, larger is better; of two that are equal, as accuracies of few examples are, by the loss."""
        return -self.loss if metric == "loss" else self.figures[metric] - TIE * min(self.loss, 100.0)

    def tell_figures(self) -> list[str]:
        return [f"{NAMES[name]} {value:.1f}{'%' if name == 'accuracy' else ''}" for name, value in self.figures.items()]

    def __str__(self) -> str:
        return ", ".join([f"loss {self.loss:.3f}", f"perplexity {self.perplexity:.2f}", *self.tell_figures()])

    def record(self) -> dict[str, float]:
        """For `metrics.jsonl`."""
        return {"valid_loss": round(self.loss, 4)} | {f"valid_{name}": round(v, 2) for name, v in self.figures.items()}

    def metrics(self, part: str = "valid") -> dict[str, float]:
        """For a bundle, which `from_metrics` reads."""
        return {f"{part}_loss": self.loss} | {f"{part}_{name}": value for name, value in self.figures.items()}

    @classmethod
    def from_metrics(cls, found: Mapping[str, float]) -> "Validation":
        figures = {name: found[f"valid_{name}"] for name in NAMES if f"valid_{name}" in found}
        return cls(found["valid_loss"], figures)


class Validator:
    """A held-out part, cut into batches once; the processes of a group share the work, and all know the outcome."""

    def __init__(self, examples: Examples, objective: Objective, group: Group, *, accuracy: bool) -> None:
        self._examples, self._objective, self._group, self._accuracy = examples, objective, group, accuracy
        sizes = objective.sizes(examples)
        longest = np.maximum(sizes.read, sizes.written).tolist()
        self._batches = list(batches_by_length(longest, PASS_TOKENS))[group.rank :: group.size]

    def validate(self, model: Model) -> Validation:
        return self._judge(model)

    def measure(self, model: Model) -> float:
        """Seconds that a validation of a trained model takes."""
        start = time.monotonic()
        self._judge(model)
        return time.monotonic() - start

    @torch.inference_mode()
    def _judge(self, model: Model) -> Validation:
        model.eval()
        total, judged, right = 0.0, 0, 0
        for rows in self._batches:
            batch = self._objective.collate(self._examples, np.array(rows), lambda row: np.random.default_rng((0, row)))
            states, target = judged_states(model, batch)
            total += float(loss_of_states(model, states, target, smoothing=0.0))
            judged += batch.judged
            if self._accuracy:
                right += int((model.output.logits(states).argmax(dim=-1) == target).sum())
        loss, of_all, all_right = self._group.sum(total, judged, right)
        return Validation(loss / of_all, {"accuracy": 100 * all_right / of_all} if self._accuracy else {})


class TranslationValidator(Validator):
    """Also BLEU and chrF of real translations."""

    def __init__(
        self,
        pairs: list[tuple[str, str]],
        tokenizers: Tokenizers,
        objective: Objective,
        settings: TrainingSettings,
        max_extra: int,
        group: Group,
    ) -> None:
        self._tokenizers, self._max_extra = tokenizers, max_extra
        self._sources = tokenizers.source.encode([source for source, _ in pairs])
        self._targets = tokenizers.target.encode([target for _, target in pairs])
        self._references = [target for _, target in pairs[: settings.valid_sentences]]
        super().__init__(Encoded(self._sources, self._targets), objective, group, accuracy=False)

    def validate(self, model: Model) -> Validation:
        assert isinstance(model, EncoderDecoder)
        translations = self.translate(model, [len(source) + self._max_extra for source in self._sources])
        figures = {"bleu": bleu(translations, [self._references]), "chrf": chrf(translations, [self._references])}
        return replace(super().validate(model), figures=figures)

    def measure(self, model: Model) -> float:
        """An untrained model does not know when to stop, so its translations are as long as the references."""
        assert isinstance(model, EncoderDecoder)
        start = time.monotonic()
        self._judge(model)
        self.translate(model, [len(target) for target in self._targets])
        return time.monotonic() - start

    def translate(self, model: EncoderDecoder, limits: list[int]) -> list[str]:
        """Greedy translations of the first sentences."""
        engine = TorchEngine(model, self._tokenizers.target)
        group, some = self._group, len(self._references)
        batches = batches_by_length([len(source) for source in self._sources[:some]], PASS_TOKENS // group.size)
        told: list[int] = []  # of each sentence its row, its length, its tokens
        for rows in list(batches)[group.rank :: group.size]:
            job = Job([self._sources[row] for row in rows], [max(1, limits[row]) for row in rows], Options(beam=1))
            for places, batch in engine.translate(job, PASS_TOKENS):
                for place, (best,) in zip(places, batch, strict=True):
                    told += [rows[place], len(best.tokens), *best.tokens]
        heard = iter(group.gather(told))
        found = {row: list(islice(heard, next(heard))) for row in heard}
        return self._tokenizers.target.decode([found[row] for row in range(some)])
