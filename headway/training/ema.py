"""An exponential moving average of the weights: what is judged and kept, while the weights themselves go on learning.

It is smoother than any single update's weights, as the mean of the last checkpoints is (section 6.1), at every moment of a run.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


class MovingAverage:
    """After update t it is moved towards the weights by 1 - d, with d = min(decay, (1 + t) / (10 + t)).

    So it begins as a mean over few updates, and what the weights were before they had learned anything is soon forgotten.
    """

    def __init__(self, weights: Iterable[Tensor], decay: float) -> None:
        self._weights, self._decay = list(weights), decay
        self.restore([], 0)

    @torch.no_grad()
    def update(self) -> None:
        """The weights were updated."""
        self._updates += 1
        decay = min(self._decay, (1 + self._updates) / (10 + self._updates))
        torch._foreach_lerp_(self.tensors, self._weights, 1 - decay)

    def restore(self, tensors: Sequence[Tensor], updates: int) -> None:
        """Stand where an average stood after so many updates; without one, begin with the weights as they are."""
        self.tensors, self._updates = [tensor.detach().clone() for tensor in tensors or self._weights], updates
