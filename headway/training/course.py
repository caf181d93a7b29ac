"""What a run reads: the epochs of its text, each cut into updates, the same ones every time."""

from headway.architectures import AnyArchitecture
from headway.config import TrainingSettings
from headway.data.batching import Indices, epoch_batches
from headway.data.objectives import Objective, Sizes
from headway.data.prepare import Prepared
from headway.data.store import Store
from headway.models.flops import Lengths, training_flops
from headway.training.choices import count_tokens
from headway.training.group import Group
from headway.training.update import count_readings

Update = list[Indices]  # the pairs of each of its passes


class Course:
    """`store` and `sizes` are those of the epoch that was opened last."""

    def __init__(self, prepared: Prepared, objective: Objective, training: TrainingSettings, group: Group) -> None:
        self.prepared, self.objective, self.training, self.group = prepared, objective, training, group
        self.store, self.sizes = prepared.train, objective.sizes(prepared.train)

    def open_epoch(self, epoch: int) -> list[Update]:
        """The epoch's order, the same every time; with subword sampling, of other cuts of the same text.

        The first process cuts the text anew, if it is to be; the others wait for it.
        """
        if self.group.first:
            self.store = self.prepared.store_of_epoch(epoch)
        self.group.tell("it is there")
        if not self.group.first:
            self.store = self.prepared.open_store()
        self.sizes = self.objective.sizes(self.store)
        return self._cut(self.store, self.sizes, epoch)

    def count_updates(self, epoch: int) -> int:
        """Of an epoch. Other cuts of the text, as subword sampling makes them, have a few more."""
        return len(self._cut(self.prepared.train, self.objective.sizes(self.prepared.train), epoch))

    def _cut(self, store: Store, sizes: Sizes, epoch: int) -> list[Update]:
        training = self.training
        assert training.batch_tokens and training.accumulate
        return epoch_batches(
            sizes.read,
            sizes.written,
            store.segments,
            batch_tokens=training.batch_tokens,
            accumulate=training.accumulate,
            seed=training.seed,
            epoch=epoch,
        )

    def count_epoch_tokens(self) -> int:
        """What fills the updates of the epoch."""
        return count_tokens(self.store, self.sizes)

    def count_tokens(self, update: Update) -> int:
        """What fills an update."""
        return sum(int(self.sizes.written[pairs].sum()) for pairs in update)

    def count_flops(self, update: Update, architecture: AnyArchitecture) -> float:
        sizes = self.sizes
        lengths = (Lengths.of(sizes.read[pairs], sizes.written[pairs], sizes.judged[pairs]) for pairs in update)
        return count_readings(self.training) * sum(training_flops(architecture, one) for one in lengths)
