"""Data parallelism: every process holds the whole model, computes its share of an update, and gets the sum of all gradients.

The gradients of all parameters stand in one buffer, cut into buckets. A bucket is summed over the processes as soon as its last
gradient is there, while the backward pass goes on to earlier layers. The buckets never change, unlike those of torch's
DistributedDataParallel after its first step: sums of three and more processes would change their last bits with them, and a run
that goes on would end elsewhere than one that was never interrupted.
"""

import math
from collections.abc import Mapping

import torch
import torch.distributed as dist
from torch import Tensor, nn

from headway.models.model import Model
from headway.training.group import Group
from headway.training.learner import Learner
from headway.training.loss import Loss

BUCKET = 2**19  # numbers; 2 MiB


class Replicas(Learner):
    def __init__(self, loss: Loss, group: Group, ema: float = 0.0, optimizer: str | None = "adam") -> None:
        super().__init__(loss, group, ema, optimizer)
        parameters = list(self.model.parameters())[::-1]  # backward reaches the last layers first
        self._gradient = torch.zeros(sum(parameter.numel() for parameter in parameters), device=group.device)
        self._bucket_of: dict[nn.Parameter, int] = {}
        self._buckets: list[Tensor] = []
        start = end = 0
        for parameter in parameters:
            parameter.grad = self._gradient[end : end + parameter.numel()].view_as(parameter)
            self._bucket_of[parameter] = len(self._buckets)
            end += parameter.numel()
            if end - start >= BUCKET or parameter is parameters[-1]:
                self._buckets.append(self._gradient[start:end])
                start = end
            if group.size > 1:
                parameter.register_post_accumulate_grad_hook(self._arrived)
        self._missing: list[int] = []  # gradients that each bucket waits for; none are counted before the last pass
        self._sums: list[dist.Work] = []

    def whole_model(self, weights: Mapping[str, Tensor]) -> Model:
        return super().whole_model(weights) if self._average else self.model

    def begin(self) -> None:
        self._gradient.zero_()
        self._missing, self._sums = [], []

    def begin_last_pass(self) -> None:
        self._missing = [0] * len(self._buckets)
        for bucket in self._bucket_of.values():
            self._missing[bucket] += 1

    def finish(self, clip: float) -> float:
        """A pass that was given up leaves buckets unsent: the others wait for them, whatever is in them."""
        if self._group.size > 1:
            self._send(len(self._buckets))
            for work in self._sums:
                work.wait()
        norm = float(torch.linalg.vector_norm(self._gradient))
        if clip and norm > clip and math.isfinite(norm):
            self._gradient.mul_(clip / norm)
        return norm

    def _arrived(self, parameter: nn.Parameter) -> None:
        if self._missing:
            self._missing[self._bucket_of[parameter]] -= 1
            self._send(next((i for i, missing in enumerate(self._missing) if missing), len(self._buckets)))

    def _send(self, upto: int) -> None:
        """In one order in all processes, whatever arrives first."""
        for bucket in self._buckets[len(self._sums) : upto]:
            self._sums.append(self._group.start_sum(bucket))
