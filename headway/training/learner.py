"""A model that learns: loss, gradient, optimiser. How processes share the work is a matter of `Replicas` and `Shards`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from headway.data.batching import Batch
from headway.models.build import assemble
from headway.models.model import Model
from headway.models.weights import get_weights, set_weights
from headway.training.ema import MovingAverage
from headway.training.group import Group
from headway.training.loss import Loss
from headway.training.optimizer import build_optimizers

MOMENTS = ("exp_avg", "exp_avg_sq")  # running means of each parameter's gradient: Adam has both, Muon the first


class Learner(ABC):
    """The part of a model that this process holds, and what it does with the others to learn.

    `can_give_up`: a process may leave a pass before its end, and the others only find it in the sum. `ema`: the decay of a
    moving average of the weights; with 0 there is none. `optimizer` is adam or muon.
    """

    can_give_up = True

    def __init__(self, loss: Loss, group: Group, ema: float, optimizer: str | None) -> None:
        self.model: Model = loss.model
        self._loss, self._group = loss, group
        self._optimizers = build_optimizers(self.model, optimizer, group)
        self._memories = {
            parameter: one.state for one in self._optimizers for some in one.param_groups for parameter in some["params"]
        }
        self._average = MovingAverage(self.model.parameters(), ema) if ema else None

    def loss(self, batch: Batch) -> Tensor:
        """The sum over the batch's target tokens."""
        return self._loss(batch)

    @abstractmethod
    def begin(self) -> None:
        """Before the first pass of an update: no gradient."""

    @abstractmethod
    def begin_last_pass(self) -> None:
        """Before the last pass: from here on a gradient that arrives is complete."""

    @abstractmethod
    def finish(self, clip: float) -> float:
        """After the last pass: the gradient of all processes, clipped, is in the parameters. Returns its norm before."""

    def step(self, rate: float) -> None:
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
        if self._average:
            self._average.update()

    def whole_model(self, weights: Mapping[str, Tensor]) -> Model:
        """A model that can be used without the other processes; `weights` are those that `judged_weights()` gave."""
        model = assemble(self.model.architecture, pad=self.model.pad)
        set_weights(model, weights)
        return model.to(self.model.device)

    def judged_weights(self) -> dict[str, Tensor]:
        """What is validated and translates: the moving average where there is one, else the weights."""
        return self.average() or self.weights()

    def weights(self) -> dict[str, Tensor]:
        """All of the model's, whole. With shards, every process must ask."""
        return {name: self._whole(weight) for name, weight in get_weights(self.model).items()}

    def average(self) -> dict[str, Tensor]:
        """The moving average of all weights, whole; nothing where there is none. With shards, every process must ask."""
        if self._average is None:
            return {}
        names = get_weights(self.model)
        return {name: self._whole(tensor) for name, tensor in zip(names, self._average.tensors, strict=True)}

    def moments(self) -> dict[str, Tensor]:
        """The optimiser's memory, by parameter: nothing before the first step."""
        return {
            f"{moment}/{name}": self._whole(self._memory(parameter)[moment])
            for name, parameter in self.model.named_parameters()
            for moment in MOMENTS
            if moment in self._memory(parameter)
        }

    @torch.no_grad()
    def restore(
        self, weights: Mapping[str, Tensor], moments: Mapping[str, Tensor], average: Mapping[str, Tensor], step: int
    ) -> None:
        """Stand where a model stood after `step` updates."""
        own = dict(self.model.named_parameters())
        set_weights(self.model, {name: self._own(weight, own.get(name, weight)) for name, weight in weights.items()})
        for optimizer in self._optimizers:
            optimizer.state.clear()
        for name, parameter in own.items():
            names = {moment: f"{moment}/{name}" for moment in MOMENTS if f"{moment}/{name}" in moments}
            found = {moment: self._own(moments[full], parameter).clone() for moment, full in names.items()}
            if found:
                self._memory(parameter).update({"step": torch.tensor(float(step)), **found})
        if self._average:
            self._average.restore([self._own(average[name], own[name]) for name in own if average], step)

    def _memory(self, parameter: Tensor) -> dict[str, Tensor]:
        """What the optimiser of a parameter keeps of it."""
        return self._memories[parameter][parameter]

    def _whole(self, tensor: Tensor) -> Tensor:
        return tensor

    def _own(self, whole: Tensor, parameter: Tensor) -> Tensor:
        """This process's part of a tensor that belongs to a parameter."""
        return whole.to(parameter.device)
