"""The gradient of one update: of the mean loss over all its predictions, computed by all processes together.

An update is a set of pairs, the same whatever the number of processes and passes that it is computed in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headway.config import TrainingSettings
from headway.data.batching import Batch, Indices
from headway.data.objectives import Examples, Objective, Sizes
from headway.data.sharing import divide
from headway.errors import TrainingError
from headway.nn.products import wide_products
from headway.training.group import Group
from headway.training.learner import Learner

WORTHWHILE = {"cpu": 1024, "cuda": 16384}  # target tokens that a process should have at once, if its share has as many


@dataclass(frozen=True)
class Gradient:
    """What the passes of an update came to. `loss` is a sum over what is `judged`; `stopping`: a process was asked to stop."""

    loss: float
    judged: int
    norm: float
    out_of_memory: bool
    stopping: bool


@wide_products()
def compute_gradient(
    learner: Learner,
    group: Group,
    training: TrainingSettings,
    examples: Examples,
    objective: Objective,
    sizes: Sizes,
    passes: Sequence[Indices],
    *,
    step: int,
    splits: int,
    stopping: bool,
) -> Gradient:
    """Leave the gradient of an update in the learner's parameters. For want of memory, each pass may be cut into `splits`."""

    def length(pairs: Indices) -> np.ndarray:
        return sizes.read[pairs] + sizes.written[pairs]

    def draw(row: int) -> np.random.Generator:
        return np.random.default_rng((training.seed, step, row))

    def collate(pairs: Indices) -> Batch:
        return objective.collate(examples, pairs, draw)

    torch.manual_seed(_seed(training.seed, step, group.rank))  # so dropout depends on the step and on whose share it is
    passes_each = splits * count_passes(training, group.size, group.device.type)
    parts = divide(passes, group.size * passes_each, length)[group.rank :: group.size]
    judged = sum(int(sizes.judged[pairs].sum()) for pairs in passes)
    learner.model.train()
    learner.begin()
    total, out_of_memory = 0.0, False
    try:
        for number, pairs in enumerate(parts, 1):
            if number == len(parts):
                learner.begin_last_pass()
            # Whoever has nothing to do takes part with a weight of zero: the others count on every process's presence.
            loss = learner.loss(collate(pairs if len(pairs) else passes[0][:1])) * bool(len(pairs))
            (loss / judged).backward()
            total += float(loss.detach())
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        if not learner.can_give_up:
            raise TrainingError(
                f"Memory ran out at update {step + 1:,}.", "Give --recompute, a smaller --batch-tokens, or more --processes."
            ) from None
        out_of_memory = True
    norm = learner.finish(training.clip)
    total, failed, asked = group.sum(total, out_of_memory, stopping)
    return Gradient(total, judged, norm, failed > 0, asked > 0)


def count_readings(training: TrainingSettings) -> int:
    """How often an update reads each of its pairs: R-Drop compares two readings."""
    return 2 if training.r_drop else 1


def count_passes(training: TrainingSettings, processes: int, device: str) -> int:
    """Of each process: as many as an update is cut into, unless they would be too small to be worth it."""
    assert training.batch_tokens and training.accumulate
    return max(1, min(training.accumulate, training.batch_tokens // (processes * WORTHWHILE[device])))


def _is_out_of_memory(error: Exception) -> bool:
    """A GPU says so by its class, a processor's allocator in words."""
    in_words = any(words in str(error) for words in ("allocate memory", "not enough memory"))
    return in_words or isinstance(error, MemoryError | torch.OutOfMemoryError)


def _seed(*parts: int) -> int:
    """A seed that depends on all parts and looks like no neighbour's."""
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> np.uint64(1))
