"""The training loop: updates, validations, checkpoints, until the budget is spent or nothing gets better."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from headway.atomic import write_file
from headway.config import Settings
from headway.data.batching import Batch, collate, epoch_batches
from headway.data.prepare import Prepared
from headway.errors import Interrupted, TrainingError
from headway.models.transformer import Transformer
from headway.progress import Display
from headway.training.choices import ASKED, VALIDATIONS, Budget, choose_budget, default_warmup, total_updates, with_budget
from headway.training.interruption import Interruption
from headway.training.log import MetricsLog
from headway.training.loss import batch_loss
from headway.training.optimizer import build_adam, learning_rate
from headway.training.state import State, list_checkpoints, load_checkpoint, save_checkpoint
from headway.training.validation import Validation, Validator

REPORT_EVERY = 10  # updates
UNKNOWN = 10**9  # updates, while minutes are being measured: the rate does not fall yet
VALIDATION_SHARE = 0.1  # of the time, at most
Keep = Callable[[str, State, Validation | None], None]


class Trainer:
    """A run in memory. `keep` writes the model's bundle: best, with what validation found, or last."""

    def __init__(
        self,
        *,
        settings: Settings,  # resolved
        prepared: Prepared,
        model: Transformer,
        validator: Validator,
        directory: Path,
        display: Display,
        keep: Keep,
    ) -> None:
        self.settings, self.prepared, self.model, self.validator = settings, prepared, model, validator
        self.directory, self.display, self.keep = directory, display, keep
        self.optimizer = build_adam(model.parameters())
        self.state = State(asked=self._asked())
        self._log = MetricsLog(directory / "metrics.jsonl")
        self._store = prepared.train
        self._last_bleu = ""
        self._meter = _Meter()
        self._known: int | None = None  # updates of the budgets that need no measuring

    def go_on_from(self, checkpoint: Path, best_so_far: float | None) -> None:
        """Stand where the checkpoint stood; with another budget than it had, the schedule is stretched to the new one."""
        self.state = load_checkpoint(checkpoint, self.model, self.optimizer)
        if self.state.asked != self._asked():
            self.state.asked, self.state.budget, self.state.stale = self._asked(), None, 0
            if best_so_far is not None:  # an average that was chosen at the end is in no checkpoint
                self.state.best = max(best_so_far, self.state.best or best_so_far)

    def _asked(self) -> dict[str, float | None]:
        return {name: getattr(self.settings.training, name) for name in ASKED}

    def run(self) -> None:
        self._log.rewind(self.state.step)
        self._begun, self._first_step = time.monotonic(), self.state.step
        self._seconds_before = self.state.seconds
        self._meter = _Meter()
        with Interruption() as interruption:
            while not self.done():
                for passes in self._updates_of_epoch()[self.state.place :]:
                    if self.done():
                        return
                    self._update(passes)
                    if self.state.budget is None:
                        self._measure_budget()
                    self._after_update()
                    if interruption.asked:
                        self._save()
                        raise Interrupted(f"Stopped at update {self.state.step:,}; everything is saved in {self.directory}.")
                self.state.epoch, self.state.place = self.state.epoch + 1, 0

    def _updates_of_epoch(self) -> list[list[np.ndarray]]:
        """The epoch's order, the same every time; with subword sampling, of other cuts of the same text."""
        training, state = self.settings.training, self.state
        assert training.batch_tokens and training.accumulate
        store = self._store = self.prepared.store_of_epoch(state.epoch)
        updates = epoch_batches(
            store.source_lengths,
            store.target_lengths,
            store.segments,
            batch_tokens=training.batch_tokens,
            accumulate=training.accumulate,
            seed=training.seed,
            epoch=state.epoch,
        )
        self._known = total_updates(training, target_tokens=self.prepared.target_tokens, updates_per_epoch=len(updates))
        if state.budget is None and training.max_minutes is None:
            assert self._known is not None
            self._set_budget(choose_budget(training, self._known))
        return updates

    def _set_budget(self, budget: Budget) -> None:
        self.state.budget = budget
        self.write_settings()

    def write_settings(self) -> None:
        """`config.yaml`: complete, as far as it is known."""
        write_file(self.directory / "config.yaml", with_budget(self.settings, self.state.budget).to_yaml())

    def _update(self, passes: list[np.ndarray]) -> None:
        """One step of Adam on the mean loss over all target tokens of all passes."""
        state, training = self.state, self.settings.training
        torch.manual_seed(_seed(training.seed, state.step))  # so dropout depends on the step alone
        batches = [self._collate(indices) for indices in passes]
        tokens = sum(batch.target_tokens for batch in batches)
        self.model.train()
        self.optimizer.zero_grad()
        total = 0.0
        for batch in batches:
            loss = batch_loss(self.model, batch, training.label_smoothing)
            (loss / tokens).backward()
            total += float(loss.detach())
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), training.clip or math.inf)
        if not (math.isfinite(total) and torch.isfinite(norm)):
            raise self._diverged(total / tokens, state.step + 1)
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(state.step + 1)
        self.optimizer.step()
        state.step, state.place, state.tokens = state.step + 1, state.place + 1, state.tokens + tokens
        state.seconds = self._seconds()
        self._meter.add(total, tokens)

    def _collate(self, indices: np.ndarray) -> Batch:
        store, target = self._store, self.prepared.tokenizers.target
        sources, targets = [store.source(i) for i in indices], [store.target(i) for i in indices]
        return collate(sources, targets, pad=target.pad, bos=target.bos, eos=target.eos)

    def _after_update(self) -> None:
        """Report, validate and save where it is due."""
        state, budget = self.state, self.state.budget
        last = budget is not None and state.step >= budget.total
        validating = budget is not None and (last or state.step % budget.valid_every == 0)
        if validating or state.step % REPORT_EVERY == 0:
            record = self._report()
            if validating:
                record |= self._validate()
            self._log.write(record)
        if budget and (state.step % budget.checkpoint_every == 0 or self.done()):
            self._save()

    def _report(self) -> dict[str, Any]:
        state = self.state
        loss, speed = self._meter.read()
        self._meter = _Meter()
        total = state.budget.total if state.budget else None
        self.display.update("Training", state.step, total, f"loss {loss:.2f}{self._last_bleu}  {speed:,.0f} tokens/s")
        return {
            "step": state.step,
            "epoch": state.epoch,
            "loss": round(loss, 4),
            "learning_rate": self._rate(state.step),
            "tokens": state.tokens,
            "tokens_per_second": round(speed, 1),
            "seconds": round(state.seconds, 2),
        }

    def _validate(self) -> dict[str, Any]:
        state = self.state
        found = self.validator.validate(self.model)
        if not math.isfinite(found.loss):
            raise self._diverged(found.loss, state.step)
        value = found.value(self.settings.training.metric)
        better = state.best is None or value > state.best
        if better:
            state.best, state.stale = value, 0
            self.keep("best", state, found)
        else:
            state.stale += 1
        self._last_bleu = f"  BLEU {found.bleu:.1f}"
        self.display.say(
            f"update {state.step:>6,}  validation: loss {found.loss:.3f}, perplexity {found.perplexity:.2f}, "
            f"BLEU {found.bleu:.1f}, chrF {found.chrf:.1f}{', best so far' if better else ''}"
        )
        state.seconds = self._seconds()
        self._meter = _Meter()
        return {"valid_loss": round(found.loss, 4), "valid_bleu": round(found.bleu, 2), "valid_chrf": round(found.chrf, 2)}

    def _save(self) -> None:
        training = self.settings.training
        keep = max(training.keep_checkpoints, training.average)
        save_checkpoint(self.directory / "checkpoints", self.state, self.model, self.optimizer, keep)
        self.keep("last", self.state, None)

    def done(self) -> bool:
        """The budget is spent, or the patience."""
        budget = self.state.budget
        return (budget is not None and self.state.step >= budget.total) or self.out_of_patience()

    def out_of_patience(self) -> bool:
        return 0 < self.settings.training.patience <= self.state.stale

    def _measure_budget(self) -> None:
        """Turn minutes into updates, once: after a start long enough to know what an update and a validation take here."""
        training, state = self.settings.training, self.state
        assert training.max_minutes
        allowed = 60 * training.max_minutes
        steps, seconds = state.step - self._first_step, time.monotonic() - self._begun
        if self._known is not None and state.step >= self._known:  # another budget is spent already
            return self._set_budget(choose_budget(training, self._known))
        if not (steps >= 20 and seconds >= min(60.0, 0.03 * allowed)) and seconds < 0.2 * allowed:
            return None
        update = seconds / steps
        validation = self.validator.measure(self.model)
        self._meter.since += validation
        left = max(0.0, allowed - self._seconds())
        if training.valid_every:
            more = left / (update + validation / training.valid_every)
            validations = VALIDATIONS
        else:
            validations = int(min(VALIDATIONS, max(1.0, VALIDATION_SHARE * left / validation)))
            more = (left - validations * validation) / update
        total = state.step + max(1, round(more))
        budget = choose_budget(training, min(total, self._known or total), validations)
        self.display.say(
            f"{training.max_minutes:g} minutes are {total:,} updates here: "
            f"{update:.2f} s each, {validation:.1f} s a validation every {budget.valid_every:,}."
        )
        return self._set_budget(budget)

    def _seconds(self) -> float:
        """Seconds of this run, those before an interruption included."""
        return self._seconds_before + time.monotonic() - self._begun

    def _rate(self, step: int) -> float:
        training, budget = self.settings.training, self.state.budget
        warmup, total = (budget.warmup, budget.total) if budget else (default_warmup(training), UNKNOWN)
        return learning_rate(training, step, d_model=self.model.architecture.d_model, warmup=warmup, total=total)

    def _diverged(self, loss: float, step: int) -> TrainingError:
        saved = list_checkpoints(self.directory / "checkpoints")
        kept = f"The newest state that was saved is {saved[-1]}." if saved else "Nothing was saved yet."
        what = "The gradient is not finite" if math.isfinite(loss) else f"The loss is {loss}"
        return TrainingError(
            f"{what} at update {step:,}, where the learning rate is {self._rate(step):.2g}. {kept}",
            "Likely reasons: a learning rate that is too high, a warm-up that is too short, no clipping (--clip 0). "
            "Start again in a new --out with half the --learning-rate or twice the --warmup.",
        )


class _Meter:
    """Loss and speed since the last report."""

    def __init__(self) -> None:
        self.since = time.monotonic()
        self._loss, self._tokens = 0.0, 0

    def add(self, loss: float, tokens: int) -> None:
        self._loss, self._tokens = self._loss + loss, self._tokens + tokens

    def read(self) -> tuple[float, float]:
        """Mean loss of a target token, and target tokens a second."""
        return self._loss / self._tokens, self._tokens / (time.monotonic() - self.since)


def _seed(*parts: int) -> int:
    """A seed that depends on all parts and looks like no neighbour's."""
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> np.uint64(1))
