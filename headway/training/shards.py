"""FSDP2, for models that do not fit: each process holds a share of every matrix, of its gradient and of Adam's memory.

A layer's matrices are gathered while it computes, and given back after.
"""

import math
import warnings

from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from headway.nn.layers import DecoderLayer
from headway.training.group import Group
from headway.training.learner import MOMENTS, Learner
from headway.training.loss import Loss

warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view")  # nobody writes into a cache


class Shards(Learner):
    """Their optimiser is Adam, which needs no whole matrix."""

    can_give_up = False  # within a pass they wait for each other at every layer

    def __init__(self, loss: Loss, group: Group, ema: float = 0.0) -> None:
        mesh = init_device_mesh(group.device.type, (group.size,))
        for part in (*loss.model.layers, loss):
            fully_shard(part, mesh=mesh)
        for layer in loss.model.layers:
            if isinstance(layer, DecoderLayer):
                register_fsdp_forward_method(layer, "start")
        super().__init__(loss, group, ema, "adam")

    def begin(self) -> None:
        self.model.zero_grad()

    def begin_last_pass(self) -> None:
        """Every pass is summed when it ends, so that no process ever holds a whole gradient."""

    def finish(self, clip: float) -> float:
        for parameter in self.model.parameters():
            assert parameter.grad is not None
            parameter.grad.mul_(self._group.size)  # FSDP takes the mean over the processes
        return float(self._whole(nn.utils.clip_grad_norm_(self.model.parameters(), clip or math.inf)))

    def moments(self) -> dict[str, Tensor]:
        """Gathered one by one, and kept by the first process alone, which writes them."""
        return {
            f"{moment}/{name}": whole.cpu() if self._group.first else whole.new_empty(0)
            for name, parameter in self.model.named_parameters()
            for moment in MOMENTS
            for whole in [self._whole(self._memory(parameter)[moment])]
        }

    def _whole(self, tensor: Tensor) -> Tensor:
        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def _own(self, whole: Tensor, parameter: Tensor) -> Tensor:
        whole = super()._own(whole, parameter)
        if not isinstance(parameter, DTensor):
            return whole
        return distribute_tensor(whole, parameter.device_mesh, parameter.placements)
