"""What a run takes when the user does not say: every default that depends on corpus and budget, in one place.

Each choice follows from few facts: pairs, target tokens of an epoch, updates of an epoch, and how many epochs there will be.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from headway.bundle import Bundle
from headway.config import DataSettings, Family, ModelSettings, PresetName, Settings, Task, TrainingSettings
from headway.data.objectives import Sizes
from headway.data.store import Store
from headway.directions import is_same, list_directions
from headway.errors import RequestError
from headway.models.presets import PRESETS
from headway.training.machine import LEAST_TOKENS, ordinary_speed

VALIDATIONS = 25  # of a run, unless they would take too much of its time
ASKED = ("max_steps", "max_epochs", "max_minutes", "patience")  # when to stop: may change when a run goes on
HOW = ("processes", "threads", "recompute", "shard")  # how an update is computed: may change too, an update is what it is
FOLLOWING = ("warmup", "valid_every", "checkpoint_every")  # settings that follow from a budget
TRANSLATORS = (None, "transformer", "t5")  # families; None while it is not chosen
MANY_EPOCHS = 30  # over a text: from there on a model needs all of its preset's dropout
SIZES: dict[PresetName, tuple[int, float]] = {  # pairs that can fill it, and target tokens that it has to read
    "base": (1_000_000, 60e6),
    "small": (100_000, 10e6),
    "tiny": (0, 4e6),
}
ENOUGH_UPDATES = 2500  # that a short training is to have before its batches grow to their full size
LEAST_BATCH = 2 * LEAST_TOKENS  # target tokens that such a batch has at least: at a high rate 512 are no better than 1,024
PASS_TOKENS = 4096  # target tokens computed at once: more do not make a processor faster, and take memory


@dataclass(frozen=True)
class Budget:
    """A run's length in updates, with what follows from it: the settings in FOLLOWING."""

    total: int
    warmup: int
    valid_every: int
    checkpoint_every: int


class Reading(NamedTuple):
    """What a training comes to."""

    target_tokens: int  # of an epoch
    epochs: float

    @property
    def tokens(self) -> float:
        return self.target_tokens * self.epochs


def choose_family(task: Task, *, pictures: bool) -> Family:
    """The relative that was made for a task."""
    families: dict[Task, Family] = {"span": "t5", "lm": "gpt", "mlm": "bert", "classify": "vit" if pictures else "bert"}
    return families.get(task, "transformer")


def choose_vocabulary(settings: Settings, start: Bundle) -> Literal["own", "new"]:
    """A model's own for languages that it translates, and for whatever was made to be gone on with; a new one for others."""
    if settings.tokenizer.vocabulary:
        return settings.tokenizer.vocabulary
    if not settings.data.task == start.manifest.task == "translate":
        return "own"
    directions = start.manifest.directions
    sources, targets = [one.source for one in directions], [one.target for one in directions]
    if start.tokenizers.shared:  # it serves the way back too
        sources = targets = sources + targets
    wanted = list_directions(settings.data.source_language, settings.data.target_language)
    is_known = all(
        any(is_same(one.source, source) for source in sources) and any(is_same(one.target, target) for target in targets)
        for one in wanted
    )
    return "own" if is_known or not directions else "new"


def choose_size(
    model: ModelSettings, training: TrainingSettings, pairs: int, look_ahead: Callable[[ModelSettings], Reading]
) -> tuple[ModelSettings, Reading]:
    """A model that the corpus can fill and the budget can teach, and what it will read: in the time that a large one needs to
    begin, a small one has learned more. Who counts updates has a size in mind.
    """

    def read_by(preset: PresetName) -> float:
        counted = counts_updates(training) or model.family not in TRANSLATORS
        return math.inf if counted else look_ahead(choose_model(model, preset)).tokens

    preset = choose_preset(model, pairs, read_by)
    reading = look_ahead(choose_model(model, preset))
    return choose_model(model, preset, reading.epochs), reading


def counts_updates(training: TrainingSettings) -> bool:
    """Whether updates are what a training is measured by, and not merely a bound beside others."""
    return bool(training.max_steps) and not training.max_minutes and not training.max_epochs


def choose_preset(
    settings: ModelSettings, pairs: int, tokens_read: Callable[[PresetName], float] = lambda preset: math.inf
) -> PresetName:
    """What is asked for, or the largest that has pairs enough, and target tokens enough to read in the whole training."""
    if settings.preset:
        return settings.preset
    fitting = (preset for preset, (fill, _) in SIZES.items() if pairs >= fill)
    return next((preset for preset in fitting if tokens_read(preset) >= SIZES[preset][1]), "mini")


def choose_model(settings: ModelSettings, preset: PresetName, epochs: float = math.inf) -> ModelSettings:
    """A size, with the dropout and the norm that go with it. Dropout keeps a text that is read often from being learned by
    heart; one that is not is only learned slower.
    """
    translates = settings.family in TRANSLATORS
    dropout = round(PRESETS[preset].dropout * min(1.0, epochs / MANY_EPOCHS), 2) if translates else 0.1
    chosen: dict[str, object] = {"preset": preset, "dropout": dropout if settings.dropout is None else settings.dropout}
    if settings.family in (None, "transformer"):
        chosen["norm"] = settings.norm or PRESETS[preset].norm
    return settings.model_copy(update=chosen)


def estimate_epochs(training: TrainingSettings, *, d_model: int, target_tokens: int, operations: float) -> float:
    """How often a text will be read, which takes so many floating-point operations each time. What minutes come to is that of
    an ordinary machine, and not measured: the same command has to choose the same whenever it is given. The paper's training
    is as it is, however short.
    """
    if training.schedule == "paper":
        return math.inf
    target_tokens = max(1, target_tokens)
    budgets = [training.max_epochs or math.inf]
    if training.max_steps:
        budgets.append(training.max_steps * (training.batch_tokens or full_batch(d_model, target_tokens)) / target_tokens)
    if training.max_minutes:
        budgets.append(60 * training.max_minutes * ordinary_speed(training) / max(1.0, operations))
    return default_tokens(target_tokens) / target_tokens if min(budgets) == math.inf else min(budgets)


def choose_data(settings: DataSettings) -> DataSettings:
    hidden = {"denoise": 0.35, "span": 0.15, "mlm": 0.15}.get(settings.task)
    return settings.model_copy(update={"hidden": settings.hidden or hidden})


def choose_task(settings: TrainingSettings, task: Task) -> TrainingSettings:
    """What is judged, and how hard."""
    metric = settings.metric or ({"translate": "chrf", "classify": "accuracy"}.get(task, "loss"))
    smoothing = settings.label_smoothing if settings.label_smoothing is not None else 0.1 if task == "translate" else 0.0
    if (metric in ("bleu", "chrf") and task != "translate") or (metric == "accuracy" and task not in ("classify", "mlm")):
        raise RequestError(f"There is no {metric} in a run of the task {task}.", "Leave out --metric.")
    return settings.model_copy(update={"metric": metric, "label_smoothing": smoothing})


def choose_training(
    settings: TrainingSettings,
    *,
    family: Family | None = None,
    d_model: int,
    target_tokens: int,
    epochs: float = math.inf,
    new_vocabulary: bool = False,
) -> TrainingSettings:
    """Batch, optimiser and rate. Wider models take larger batches, up to the paper's 25,000 tokens. A small corpus or a short
    training needs updates more than it needs large ones.
    """
    optimizer = settings.optimizer or choose_optimizer(settings, family)
    rate = choose_rate(family, d_model, optimizer, start=bool(settings.init), new_vocabulary=new_vocabulary)
    full = full_batch(d_model, target_tokens)
    if family in TRANSLATORS and epochs < math.inf and not counts_updates(settings):  # who does wants them whole
        full = min(full, max(LEAST_BATCH, round(epochs * target_tokens / ENOUGH_UPDATES)))
    batch_tokens = settings.batch_tokens or full
    return settings.model_copy(
        update={
            "batch_tokens": batch_tokens,
            "accumulate": settings.accumulate or math.ceil(batch_tokens / PASS_TOKENS),
            "optimizer": optimizer,
            "learning_rate": settings.learning_rate or (None if settings.schedule == "paper" else rate),
        }
    )


def choose_rate(family: Family | None, d_model: int, optimizer: str, *, start: bool, new_vocabulary: bool) -> float:
    """The peak. Wider models take smaller steps: at d_model 512 close to the paper's 7e-4; a third of that for one stack alone.
    Muon bears twice that at 128, where it was measured (0.006 wins against 0.003, 0.012 loses), and no more at 512. A model
    that has learned something is not to forget it: it moves less. With a new vocabulary it has as much to learn as to keep:
    half of what Adam takes in a new one.
    """
    if start and not new_vocabulary:
        return 0.05 / d_model
    rate = (0.384 if family in TRANSLATORS else 0.128) / d_model
    if start:
        return rate / 2
    return rate * min(2.0, max(1.0, math.sqrt(512 / d_model))) if optimizer == "muon" and family in TRANSLATORS else rate


def full_batch(d_model: int, target_tokens: int) -> int:
    """Target tokens of an update where there is time enough: as the width wants them, and twenty updates an epoch."""
    return min(25_000, max(1024, d_model**2 // 8), max(256, target_tokens // 20))


def choose_optimizer(settings: TrainingSettings, family: Family | None) -> Literal["adam", "muon"]:
    """Muon learns faster; but nobody has tried it on models that were begun with Adam, and it needs whole matrices."""
    new_translator = family in TRANSLATORS and not settings.init
    return "muon" if new_translator and settings.schedule != "paper" and not settings.shard else "adam"


def default_tokens(target_tokens: int) -> int:
    """Target tokens to train on when no budget is given: 50 epochs of a small corpus, fewer of a large one."""
    full = 400_000
    return round(50 * min(target_tokens, full) * math.sqrt(max(1.0, target_tokens / full)))


def choose_budget(settings: TrainingSettings, total: int, validations: int = VALIDATIONS) -> Budget:
    """A warm-up of at most a fifth, and the validations spread evenly."""
    warmup = settings.warmup if settings.warmup is not None else min(default_warmup(settings), total // 5)
    valid_every = settings.valid_every or math.ceil(total / validations)
    return Budget(total, warmup, valid_every, settings.checkpoint_every or valid_every)


def default_warmup(settings: TrainingSettings) -> int:
    """Updates of warm-up in a long run, if not given: the paper's 4,000 with its schedule, less with a budget that is known."""
    if settings.warmup is not None:
        return settings.warmup
    if settings.schedule == "paper":
        return 4000
    return 600 if (settings.batch_tokens or 0) <= PASS_TOKENS else 2000


def with_budget(settings: Settings, budget: Budget | None) -> Settings:
    """The settings with what followed from the budget, once it is known."""
    if budget is None:
        return settings
    following = {name: getattr(budget, name) for name in FOLLOWING}
    return settings.model_copy(update={"training": settings.training.model_copy(update=following)})


def total_updates(settings: TrainingSettings, *, target_tokens: int, updates_per_epoch: int) -> int | None:
    """The smallest of the budgets that are known before the start; None if there are only minutes."""
    known = []
    if settings.max_steps is not None:
        known.append(settings.max_steps)
    if settings.max_epochs is not None:
        known.append(max(1, round(settings.max_epochs * updates_per_epoch)))
    if not known and settings.max_minutes is None:
        known.append(max(1, round(updates_per_epoch * default_tokens(target_tokens) / max(1, target_tokens))))
    return min(known, default=None)


def resolve(settings: Settings, *, pairs: int, target_tokens: int, epochs: float = math.inf) -> Settings:
    """The settings of a run with every choice made that corpus and budget decide; a model to begin with has its own shape."""
    preset = choose_preset(settings.model, pairs)
    model = settings.model if settings.training.init else choose_model(settings.model, preset, epochs)
    d_model = model.d_model or PRESETS[model.preset or "tiny"].d_model
    training = choose_task(settings.training, settings.data.task)
    new_vocabulary = settings.tokenizer.vocabulary == "new"
    training = choose_training(
        training,
        family=model.family,
        d_model=d_model,
        target_tokens=target_tokens,
        epochs=epochs,
        new_vocabulary=new_vocabulary,
    )
    return settings.model_copy(update={"model": model, "data": choose_data(settings.data), "training": training})


def count_tokens(store: Store, sizes: Sizes) -> int:
    """What fills the updates of an epoch, each corpus counted as often as its weight takes it."""
    return round(sum(sizes.written[start:end].sum() * weight for start, end, weight in store.segments))
