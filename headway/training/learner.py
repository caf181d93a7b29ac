"""A model that learns: its loss, its gradient, Adam. How processes share the work is a matter of `Replicas` and `Shards`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from headway.data.batching import Batch
from headway.models.build import assemble
from headway.models.model import Model
from headway.models.weights import get_weights, set_weights
from headway.training.ema import MovingAverage
from headway.training.loss import Loss
from headway.training.optimizer import build_adam

MOMENTS = ("exp_avg", "exp_avg_sq")  # Adam's two running means of each parameter


class Learner(ABC):
    """The part of a model that this process holds, and what it does with the others to learn.

    `can_give_up`: a process may leave a pass before its end, and the others only find it in the sum. `ema`: the decay of a
    moving average of the weights; with 0 there is none.
    """

    can_give_up = True

    def __init__(self, loss: Loss, ema: float) -> None:
        self.model: Model = loss.model
        self._loss = loss
        self._optimizer = build_adam(self.model.parameters())
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
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()
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
        """Adam's memory, by parameter: nothing before the first step."""
        return {
            f"{moment}/{name}": self._whole(self._optimizer.state[parameter][moment])
            for name, parameter in self.model.named_parameters()
            for moment in MOMENTS
            if parameter in self._optimizer.state
        }

    @torch.no_grad()
    def restore(
        self, weights: Mapping[str, Tensor], moments: Mapping[str, Tensor], average: Mapping[str, Tensor], step: int
    ) -> None:
        """Stand where a model stood after `step` updates."""
        own = dict(self.model.named_parameters())
        set_weights(self.model, {name: self._own(weight, own.get(name, weight)) for name, weight in weights.items()})
        self._optimizer.state.clear()
        for name, parameter in own.items():
            if moments:
                found = {moment: self._own(moments[f"{moment}/{name}"], parameter).clone() for moment in MOMENTS}
                self._optimizer.state[parameter] = {"step": torch.tensor(float(step)), **found}
        if self._average:
            self._average.restore([self._own(average[name], own[name]) for name in own if average], step)

    def _whole(self, tensor: Tensor) -> Tensor:
        return tensor

    def _own(self, whole: Tensor, parameter: Tensor) -> Tensor:
        """This process's part of a tensor that belongs to a parameter."""
        return whole.to(parameter.device)
