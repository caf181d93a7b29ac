"""The loop that teaches a rival: Headway's updates, Adam, schedule, validations and clock."""

import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import count

from torch import Tensor

from headway.amounts import amount, are
from headway.config import TrainingSettings
from headway.data.batching import Indices, epoch_batches
from headway.data.objectives import Translation
from headway.data.prepare import Prepared
from headway.data.store import Store
from headway.errors import TrainingError
from headway.models.weights import average_weights, set_weights
from headway.progress import Display
from headway.training.choices import Budget, default_warmup
from headway.training.group import Group
from headway.training.learner import Learner
from headway.training.log import MetricsLog
from headway.training.minutes import UNKNOWN, is_measured, turn_into_updates
from headway.training.optimizer import learning_rate
from headway.training.update import compute_gradient
from headway.training.validation import Validation, Validator

REPORT_EVERY = 10  # updates
Weights = dict[str, Tensor]
Keep = Callable[[Weights], None]


class Learning:
    """A rival on its way. `keep` is handed the weights whenever validation finds them better than all before."""

    def __init__(
        self,
        learner: Learner,
        group: Group,
        training: TrainingSettings,  # resolved, with max_minutes
        d_model: int,
        prepared: Prepared,
        validator: Validator,
        log: MetricsLog,
        display: Display,
        keep: Keep,
    ) -> None:
        self.learner, self.group, self.training, self.d_model = learner, group, training, d_model
        self.prepared, self.validator, self.log, self.display, self.keep = prepared, validator, log, display, keep
        self.objective = Translation(prepared.tokenizers.target, prepared.tokenizers.source)
        self.step = self.tokens = 0
        self.seconds = 0.0  # since the first update began, validations included, as in a Headway run
        self.updating = 0.0  # seconds of these that updates took
        self.budget: Budget | None = None
        self.best: Validation | None = None
        self._last: deque[Weights] = deque(maxlen=training.average)
        self._loss, self._judged, self._since, self._updating_since = 0.0, 0, 0, 0.0  # since the last report

    def run(self) -> None:
        start = time.monotonic()
        for epoch, passes in self._updates():
            begun = time.monotonic()
            self._update(passes)
            self.seconds, self.updating = time.monotonic() - start, self.updating + time.monotonic() - begun
            if self.budget is None:
                self._measure()
            last = self.budget is not None and self.step >= self.budget.total
            validating = self.budget is not None and (last or self.step % self.budget.valid_every == 0)
            if validating or self.step % REPORT_EVERY == 0:
                record = self._report(epoch) | (self._validate() if validating else {})
                if self.group.first:
                    self.log.write(record)
            if last:
                self._average()
                return

    def _updates(self) -> Iterator[tuple[int, list[Indices]]]:
        """Epoch after epoch, without end: those of a Headway run with the same settings."""
        assert self.training.batch_tokens and self.training.accumulate
        for epoch in count():
            self.store = self._store_of_epoch(epoch)
            self.sizes = self.objective.sizes(self.store)
            for passes in epoch_batches(
                self.sizes.read,
                self.sizes.written,
                self.store.segments,
                batch_tokens=self.training.batch_tokens,
                accumulate=self.training.accumulate,
                seed=self.training.seed,
                epoch=epoch,
            ):
                yield epoch, passes

    def _store_of_epoch(self, epoch: int) -> Store:
        """With subword sampling, the first process cuts the text anew; the others wait for it."""
        if self.group.first:
            self.prepared.store_of_epoch(epoch)
        self.group.tell("it is there")
        return self.prepared.open_store()

    def _update(self, passes: list[Indices]) -> None:
        gradient = compute_gradient(
            self.learner,
            self.group,
            self.training,
            self.store,
            self.objective,
            self.sizes,
            passes,
            step=self.step,
            splits=1,
            stopping=False,
        )
        if gradient.out_of_memory or not math.isfinite(gradient.loss) or not math.isfinite(gradient.norm):
            what = "memory ran out" if gradient.out_of_memory else "the loss is no number any more"
            raise TrainingError(f"At update {self.step + 1:,} {what}.", "Give a smaller --batch-tokens or --learning-rate.")
        self.step += 1
        self.learner.step(self._rate())
        self.tokens += sum(int(self.sizes.written[pairs].sum()) for pairs in passes)
        self._loss, self._judged = self._loss + gradient.loss, self._judged + gradient.judged

    def _rate(self) -> float:
        warmup, total = (self.budget.warmup, self.budget.total) if self.budget else (default_warmup(self.training), UNKNOWN)
        return learning_rate(self.training, self.step, d_model=self.d_model, warmup=warmup, total=total)

    def _measure(self) -> None:
        """Turn minutes into updates, once, after a start long enough to know what one takes here, and a validation."""
        assert self.training.max_minutes
        allowed = 60 * self.training.max_minutes
        if not self.group.tell("now" if is_measured(self.training, self.step, self.seconds) else ""):
            return
        each, validation = self.updating / self.step, self.validator.measure(self.learner.model)
        left = max(0.0, allowed - self.seconds - validation)
        total, budget = turn_into_updates(self.training, self.step, None, left=left, update=each, validation=validation)
        self.budget = Budget(**json.loads(self.group.tell(json.dumps(asdict(budget)))))
        self.display.say(
            f"{amount(self.training.max_minutes, 'minute')} {are(self.training.max_minutes)} {amount(total, 'update')} here: "
            f"{each:.2f} s each, "
            f"a validation every {budget.valid_every:,}."
        )

    def _report(self, epoch: int) -> dict[str, float]:
        loss, speed = self._loss / self._judged, (self.tokens - self._since) / (self.updating - self._updating_since)
        self._loss, self._judged, self._since, self._updating_since = 0.0, 0, self.tokens, self.updating
        found = f"  BLEU {self.best.figures['bleu']:.1f}" if self.best else ""
        total = self.budget.total if self.budget else None
        self.display.update("Training", self.step, total, f"loss {loss:.2f}{found}  {speed:,.0f} tokens/s")
        return {
            "step": self.step,
            "epoch": epoch,
            "loss": round(loss, 4),
            "learning_rate": self._rate(),
            "tokens": self.tokens,
            "tokens_per_second": round(speed, 1),
            "seconds": round(self.seconds, 2),
        }

    def _validate(self) -> dict[str, float]:
        weights = {name: tensor.clone() for name, tensor in self.learner.weights().items()}
        self._last.append(weights)
        found, better = self._judge(weights)
        self.display.say(f"update {self.step:>6,}  validation: {found}{', best so far' if better else ''}")
        return found.record()

    def _judge(self, weights: Weights) -> tuple[Validation, bool]:
        """Of the model as it is, whose weights these are."""
        found = self.validator.validate(self.learner.model)
        metric = self.training.metric or "bleu"
        better = self.best is None or found.value(metric) > self.best.value(metric)
        if better:
            self.best = found
            if self.group.first:
                self.keep(weights)
        return found, better

    def _average(self) -> None:
        """Headway looks at the mean of its last checkpoints, too."""
        if len(self._last) > 1:
            weights = average_weights(list(self._last))
            set_weights(self.learner.model, weights)
            found, better = self._judge(weights)
            self.display.say(f"Average of the last {len(self._last)}: validation {found}{', best so far' if better else ''}")
