"""The training loop: updates, validations, checkpoints, until the budget is spent or nothing gets better.

Every process of the group runs it in step with the others and decides the same; only the first one writes and speaks.
"""

import itertools
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from torch import Tensor

from headway.amounts import amount, are
from headway.atomic import write_file
from headway.config import Settings
from headway.data.objectives import Objective
from headway.data.prepare import Prepared
from headway.errors import Interrupted, TrainingError
from headway.progress import Display
from headway.training.choices import (
    ASKED,
    Budget,
    choose_budget,
    total_updates,
    with_budget,
)
from headway.training.course import Course, Update
from headway.training.group import Group
from headway.training.interruption import Interruption
from headway.training.learner import Learner
from headway.training.log import MetricsLog
from headway.training.machine import measure_peak
from headway.training.meter import Meter
from headway.training.minutes import guess_updates, is_measured, turn_into_updates
from headway.training.optimizer import learning_rate
from headway.training.state import Checkpoint, State, newest_whole, read_checkpoint, save_checkpoint
from headway.training.update import Gradient, compute_gradient
from headway.training.validation import Validation, Validator

REPORT_EVERY = 10  # updates
FALLING = 0.999  # times the lowest validation loss so far: below that a model is learning, whatever its translations say yet
EXPLODED = 2.0  # so far above the lowest loss: what was learned is lost
MOST_SETBACKS = 2  # the third time the run stops
Weights = dict[str, Tensor]
Keep = Callable[[str, State, Validation | None, Weights], None]


class Trainer:
    """A run in memory. `keep` writes the model's bundle: best, with what validation found, or last."""

    def __init__(
        self,
        *,
        settings: Settings,  # resolved
        prepared: Prepared,
        objective: Objective,
        first_weights: Callable[[], Weights],
        learner: Learner,
        group: Group,
        validator: Validator,
        directory: Path,
        display: Display,
        keep: Keep,
    ) -> None:
        self.settings, self.prepared, self.learner, self.group = settings, prepared, learner, group
        self.validator, self.directory, self.display, self.keep = validator, directory, display, keep
        self.objective, self.first_weights = objective, first_weights
        self.state = State(asked=self._asked())
        self._log = MetricsLog(directory / "metrics.jsonl")
        self._course = Course(prepared, objective, settings.training, group)
        self._last_figure = ""
        self._meter = Meter()
        self._ends: list[float] = []  # of updates, until minutes are turned into updates
        self._peak = math.inf  # FLOP/s of all processes' best matrix products
        self._known: int | None = None  # updates of the budgets that need no measuring
        self.asked_before: dict[str, float | None] = {}  # for, of the run that is gone on with
        self._restored = (0, 0.0)  # update and seconds of the checkpoint that was gone on from: the same for all processes

    def go_on_from(self, checkpoint: Path, best_so_far: float | None) -> None:
        """Stand where the checkpoint stood; with another budget than it had, the schedule is stretched to the new one."""
        self._restore(checkpoint)
        if self.state.budget is None and best_so_far is not None:  # an average that was chosen at the end is in no checkpoint
            self.state.best = max(best_so_far, self.state.best or best_so_far)

    def _restore(self, checkpoint: Path) -> None:
        self.state, weights, moments, average = read_checkpoint(checkpoint)
        self.learner.restore(weights, moments, average, self.state.step)
        self._restored, self.asked_before = (self.state.step, self.state.seconds), self.state.asked
        if self.state.asked != self._asked():
            self.state.asked, self.state.budget, self.state.stale = self._asked(), None, 0

    def _asked(self) -> dict[str, float | None]:
        return {name: getattr(self.settings.training, name) for name in ASKED}

    def run(self) -> None:
        if self.done():
            return
        self._begun, self._ends = time.monotonic(), []
        self._seconds_before = self.state.seconds
        self._log_rewind()
        (self._peak,) = self.group.sum(measure_peak(self.settings.training, self.group.device))
        with Interruption() as interruption:
            while not self.done():
                try:
                    self._run_epoch(interruption)
                except _Diverged as diverged:
                    self._set_back(diverged)
            if any(self.group.sum(interruption.asked is not None)):  # since the last update, while it was validated and saved
                raise self._stopped()

    def rehearse(self, seconds: float) -> tuple[float, float]:
        """Make updates for so long and keep nothing: target tokens a second, and the share of the peak that they came to."""
        (self._peak,) = self.group.sum(measure_peak(self.settings.training, self.group.device))
        begun, self._begun, self._seconds_before = False, time.monotonic(), 0.0
        for passes in itertools.cycle(self._course.open_epoch(self.state.epoch)):
            self._compute_gradient(passes, stopping=False)
            self.learner.step(0.0)
            self._count_update(passes)
            now = time.monotonic() - self._begun
            self.display.update("Measuring", min(int(now), int(seconds)), int(seconds))
            if not begun and now > 0.2 * seconds:  # the first updates are slower
                begun, self._meter = True, Meter()
            if self.group.tell("enough" if now > seconds else ""):
                break
        speed, flops = self._meter.read()
        return speed, flops / self._peak

    def _run_epoch(self, interruption: Interruption) -> None:
        """What is left of it."""
        self._meter = Meter()
        updates = self._course.open_epoch(self.state.epoch)
        training = self.settings.training
        tokens = self._course.count_epoch_tokens()
        self._known = total_updates(training, target_tokens=tokens, updates_per_epoch=len(updates))
        if self.state.budget is None and training.max_minutes is None:
            assert self._known is not None
            self._set_budget(choose_budget(training, self._known))
        for passes in updates[self.state.place :]:
            if self.done():
                return
            stopping = self._update(passes, interruption.asked is not None)
            if self.state.budget is None:
                self._measure_budget()
            self._after_update()
            if stopping:
                self._save()
                raise self._stopped()
        self.state.epoch, self.state.place = self.state.epoch + 1, 0

    def _stopped(self) -> Interrupted:
        return Interrupted(f"Stopped at update {self.state.step:,}; everything is saved in {self.directory}.")

    def _set_budget(self, budget: Budget) -> None:
        self.state.budget = budget
        self.write_settings()

    def write_settings(self) -> None:
        """`config.yaml`: complete, as far as it is known."""
        if self.group.first:
            write_file(self.directory / "config.yaml", with_budget(self.settings, self.state.budget).to_yaml())

    def _update(self, passes: Update, stopping: bool) -> bool:
        """One step on the mean loss over all target tokens of all passes. Returns whether to stop after it."""
        state = self.state
        gradient = self._compute_gradient(passes, stopping)
        loss = gradient.loss / gradient.judged
        if not math.isfinite(loss):
            raise _Diverged(f"the loss is {loss}", state.step)
        if not math.isfinite(gradient.norm):
            raise _Diverged("the gradient is not finite", state.step)
        self.learner.step(self._rate(state.step + 1))
        tokens = self._count_update(passes)
        state.step, state.place, state.tokens = state.step + 1, state.place + 1, state.tokens + tokens
        state.seconds = self._seconds()
        state.loss, state.judged = state.loss + gradient.loss, state.judged + gradient.judged
        state.watched, state.watched_judged = state.watched + gradient.loss, state.watched_judged + gradient.judged
        if state.step % REPORT_EVERY == 0:
            self._watch()
        if state.budget is None:
            self._ends.append(time.monotonic())
        return gradient.stopping

    def _count_update(self, passes: Update) -> int:
        """That was made, for the speed; returns its tokens."""
        tokens = self._course.count_tokens(passes)
        self._meter.count(tokens, self._course.count_flops(passes, self.learner.model.architecture))
        return tokens

    def _compute_gradient(self, passes: Update, stopping: bool) -> Gradient:
        """If memory runs out anywhere, the same update is computed anew in twice as many passes, and so are all that follow."""
        state = self.state
        while True:
            gradient = compute_gradient(
                self.learner,
                self.group,
                self.settings.training,
                self._course.store,
                self.objective,
                self._course.sizes,
                passes,
                step=state.step,
                splits=state.splits,
                stopping=stopping,
            )
            if not gradient.out_of_memory:
                return gradient
            if state.splits * self.group.size >= sum(map(len, passes)):
                raise TrainingError(
                    f"Memory does not suffice at update {state.step + 1:,}, not even for a pass of one pair.",
                    "Give --recompute, a smaller model, a smaller --max-length, or fewer --processes.",
                )
            state.splits *= 2
            self.display.say(
                f"update {state.step + 1:>6,}  memory ran out: from here on each pass is computed in {state.splits} parts; "
                "updates are of the same pairs"
            )

    def _after_update(self) -> None:
        """Report, validate and save where it is due."""
        state, budget = self.state, self.state.budget
        last = budget is not None and state.step >= budget.total
        validating = budget is not None and (last or state.step % budget.valid_every == 0)
        saving = state.regular
        if validating or saving or state.step % REPORT_EVERY == 0:
            record = self._report()
            if validating:
                record |= self._validate()
            if self.group.first:
                self._log.write(record)
        if budget and (saving or self.done()):
            self._save()

    def _watch(self) -> None:
        """Over as many updates each time: the pairs of a single one are all of one length, and may be easy or hard."""
        state = self.state
        loss = state.watched / state.watched_judged
        state.watched, state.watched_judged = 0.0, 0
        if state.lowest is not None and loss > state.lowest + EXPLODED:
            raise _Diverged(f"the loss rose to {loss:.2f}, from {state.lowest:.2f}", state.step - REPORT_EVERY)
        state.lowest = loss if state.lowest is None else min(loss, state.lowest)

    def _report(self) -> dict[str, Any]:
        state = self.state
        loss = state.loss / state.judged
        state.loss, state.judged = 0.0, 0
        speed, flops = self._meter.read()
        self._meter = Meter()
        mfu = flops / self._peak
        total = state.budget.total if state.budget else None
        told = f"loss {loss:.2f}{self._last_figure}  {speed:,.0f} tokens/s  {mfu:.0%} of peak"
        self.display.update("Training", state.step, total, told)
        return {
            "step": state.step,
            "epoch": state.epoch,
            "loss": round(loss, 4),
            "learning_rate": self._rate(state.step),
            "tokens": state.tokens,
            "tokens_per_second": round(speed, 1),
            "mfu": round(mfu, 4),
            "seconds": round(state.seconds, 2),
        }

    def _validate(self) -> dict[str, Any]:
        state = self.state
        weights = self.learner.judged_weights()
        found = self.validator.validate(self.learner.whole_model(weights))
        if not math.isfinite(found.loss):
            raise _Diverged(f"the validation loss is {found.loss}", state.step - 1)
        value = found.value(self.settings.training.metric or "loss")
        better = state.best is None or value > state.best
        if better:
            state.best = value
            if self.group.first:
                self.keep("best", state, found, weights)
        learning = state.valid_loss is None or found.loss < FALLING * state.valid_loss
        state.valid_loss = found.loss if learning else state.valid_loss
        state.stale = 0 if better or learning else state.stale + 1
        self._last_figure = "".join(f"  {told}" for told in found.tell_figures()[:1])
        self.display.say(f"update {state.step:>6,}  validation: {found}{', best so far' if better else ''}")
        state.seconds = self._seconds()
        self._meter = Meter()
        return found.record()

    def _save(self) -> None:
        training = self.settings.training
        checkpoint = Checkpoint(self.state, self.learner.weights(), self.learner.moments(), self.learner.average())
        if self.group.first:
            keep = max(training.keep_checkpoints, training.average)
            save_checkpoint(self.directory / "checkpoints", checkpoint, keep)
            self.keep("last", self.state, None, checkpoint.average or checkpoint.weights)

    def done(self) -> bool:
        """The budget is spent, or the patience."""
        budget = self.state.budget
        return (budget is not None and self.state.step >= budget.total) or self.out_of_patience()

    def count_epochs(self) -> float:
        """Made so far."""
        return self.state.epoch + min(1.0, self.state.place / self._course.count_updates(self.state.epoch))

    def out_of_patience(self) -> bool:
        return 0 < self.settings.training.patience <= self.state.stale

    def stopped_early(self) -> bool:
        """With some of the budget left."""
        return self.out_of_patience() and self.state.budget is not None and self.state.step < self.state.budget.total

    def _measure_budget(self) -> None:
        """Turn minutes into updates, once."""
        training, state = self.settings.training, self.state
        if self._known is not None and state.step >= self._known:  # another budget is spent already
            return self._set_budget(choose_budget(training, self._known))
        if not self.group.tell("now" if is_measured(training, len(self._ends), time.monotonic() - self._begun) else ""):
            return None
        validation = self.validator.measure(self.learner.whole_model(self.learner.judged_weights()))
        self._meter.since += validation
        update = median(end - begun for begun, end in itertools.pairwise([self._begun, *self._ends]))  # whatever the first took
        assert training.max_minutes
        left = max(0.0, 60 * training.max_minutes - self._seconds())
        total, budget = turn_into_updates(training, state.step, self._known, left=left, update=update, validation=validation)
        self.display.say(
            f"{amount(training.max_minutes, 'minute')} {are(training.max_minutes)} {amount(total, 'update')} here: "
            f"{update:.2f} s each, {validation:.1f} s a validation every {budget.valid_every:,}."
        )
        return self._set_budget(Budget(**json.loads(self.group.tell(json.dumps(asdict(budget))))))

    def _seconds(self) -> float:
        """Seconds of this run, those before an interruption included."""
        return self._seconds_before + time.monotonic() - self._begun

    def _rate(self, step: int) -> float:
        training, budget = self.settings.training, self.state.budget
        if budget is None:  # minutes are being measured
            budget = choose_budget(training, guess_updates(training, self._known, *self._restored))
        d_model = self.learner.model.architecture.d_model
        rate = learning_rate(training, step, d_model=d_model, warmup=budget.warmup, total=budget.total)
        return rate * 0.5**self.state.setbacks

    def _set_back(self, diverged: "_Diverged") -> None:
        """Go back to the last good state with half the rate; not for ever.

        Not to a checkpoint that an interruption made: without it, the run would go elsewhere.
        """
        before, setbacks, why = self.state, self.state.setbacks + 1, str(diverged)
        newest = self.group.tell(self._find_good(diverged.good) if self.group.first else "")
        if setbacks > MOST_SETBACKS:
            raise self._gave_up(why, newest)
        if newest:
            self._restore(Path(newest))
        else:
            self.learner.restore(self.first_weights(), {}, {}, 0)
            self.state, self._restored = State(asked=self._asked()), (0, 0.0)
        self.state.budget = before.budget  # a checkpoint may have had another
        if before.budget is None:  # minutes are being measured: begin anew with that
            self._seconds_before, self._begun, self._ends = self._seconds(), time.monotonic(), []
        self.state.setbacks, self.state.splits, self.state.best = setbacks, before.splits, before.best
        self._log_rewind()
        where = f"update {self.state.step:,}" if newest else "the beginning"
        self.display.say(f"update {before.step + 1:>6,}  {why}: back to {where}, with half the learning rate from there on.")

    def _find_good(self, upto: int) -> str:
        return str(newest_whole(self.directory / "checkpoints", self.display.say, regular=True, upto=upto) or "")

    def _gave_up(self, why: str, newest: str) -> TrainingError:
        step = self.state.step + 1
        kept = f"The last good state is {newest}." if newest else "Nothing good was saved yet."
        return TrainingError(
            f"At update {step:,} {why}, for the third time; the learning rate is {self._rate(step):.2g} by now. {kept}",
            "Likely reasons: a learning rate that is too high, a warm-up that is too short, no clipping (--clip 0), or lines "
            "that are no translations. Start again in a new --out with a smaller --learning-rate or a longer --warmup.",
        )

    def _log_rewind(self) -> None:
        if self.group.first:
            self._log.rewind(self.state.step)


class _Diverged(Exception):
    """The model is lost: why, in words, and the last update after which it was `good`."""

    def __init__(self, why: str, good: int) -> None:
        super().__init__(why)
        self.good = good
