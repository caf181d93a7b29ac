"""How good a model is on held-out pairs: loss and perplexity of the references, BLEU and chrF of real translations."""

import math
import time
from dataclasses import dataclass
from itertools import islice

import torch

from headway.config import TrainingSettings
from headway.data.batching import collate
from headway.decoding.options import Options
from headway.engines.batching import batches_by_length
from headway.engines.engine import Job
from headway.engines.torch import TorchEngine
from headway.evaluation.metrics import bleu, chrf
from headway.models.transformer import Transformer
from headway.text.tokenizer import Tokenizers
from headway.training.choices import PASS_TOKENS
from headway.training.group import Group
from headway.training.loss import batch_loss


@dataclass(frozen=True)
class Validation:
    loss: float  # natural logarithm, per target token, without smoothing
    bleu: float
    chrf: float

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))

    def value(self, metric: str) -> float:
        """The named metric, larger is better."""
        return -self.loss if metric == "loss" else float(getattr(self, metric))


class Validator:
    """The validation part, tokenised and batched once; the processes of a group share the work, and all know the outcome."""

    def __init__(
        self,
        pairs: list[tuple[str, str]],
        tokenizers: Tokenizers,
        settings: TrainingSettings,
        max_extra: int,
        group: Group,
    ) -> None:
        self._tokenizers, self._max_extra, self._group = tokenizers, max_extra, group
        self._sources = tokenizers.source.encode([source for source, _ in pairs])
        self._targets = tokenizers.target.encode([target for _, target in pairs])
        self._references = [target for _, target in pairs[: settings.valid_sentences]]
        lengths = [max(len(source), len(target)) for source, target in zip(self._sources, self._targets, strict=True)]
        marks = tokenizers.target
        self._batches = [
            collate(
                [self._sources[row] for row in rows],
                [self._targets[row] for row in rows],
                pad=marks.pad,
                bos=marks.bos,
                eos=marks.eos,
            )
            for rows in batches_by_length(lengths, PASS_TOKENS)
        ]

    def validate(self, model: Transformer) -> Validation:
        translations = self.translate(model, [len(source) + self._max_extra for source in self._sources])
        return Validation(self.loss(model), bleu(translations, [self._references]), chrf(translations, [self._references]))

    def measure(self, model: Transformer) -> float:
        """Seconds that a validation of a trained model takes: an untrained one does not know when to stop, so its
        translations are as long as the references.
        """
        start = time.monotonic()
        self.loss(model)
        self.translate(model, [len(target) for target in self._targets])
        return time.monotonic() - start

    @torch.inference_mode()
    def loss(self, model: Transformer) -> float:
        model.eval()
        total, tokens = 0.0, 0
        for batch in self._batches[self._group.rank :: self._group.size]:
            total += float(batch_loss(model, batch, smoothing=0.0))
            tokens += batch.target_tokens
        total, all_tokens = self._group.sum(total, tokens)
        return total / all_tokens

    def translate(self, model: Transformer, limits: list[int]) -> list[str]:
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
