"""What all models have in common: states for each prediction, a head, and the linear map to what may be predicted.

Training needs no more: it makes the states of the positions that count, and never holds the logits of all of them.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from headway.architectures import AnyArchitecture
from headway.nn.embeddings import Output
from headway.nn.layers import DecoderLayer, EncoderLayer


class Model(nn.Module, ABC):
    architecture: AnyArchitecture
    pad: int  # the token that fills up rows; models of pictures have none, and say -1
    head: nn.Module  # what a state goes through before it is projected; often nothing
    output: Output

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    @property
    def layers(self) -> list[EncoderLayer | DecoderLayer]:
        """Of all stacks."""
        return [module for module in self.modules() if isinstance(module, EncoderLayer | DecoderLayer)]

    @abstractmethod
    def states(self, *inputs: Tensor) -> Tensor:
        """[B, T, d_model], one for each prediction, from what the model reads."""

    def forward(self, *inputs: Tensor) -> Tensor:
        """Logits: [B, T, V]."""
        return self.output.logits(self.head(self.states(*inputs)))


def count_parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
