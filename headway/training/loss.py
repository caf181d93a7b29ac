"""Label-smoothed cross-entropy (section 5.4): written out, and its fast twin. N tokens, V vocabulary.

The target's probability is 1 - smoothing + smoothing / V, every other piece's smoothing / V. Sums over tokens, so that an
update of several passes can be divided by all its tokens.
"""

from typing import Any

import torch
from torch import Tensor, nn

from headway.data.batching import IGNORED, Batch
from headway.models.model import Model

ROWS = {"cpu": 128, "cuda": 4096}  # tokens whose logits are held at once: on a processor they stay in a core's cache


class Loss(nn.Module):
    """What training makes small, computed in `dtype` where precision does not suffer."""

    def __init__(self, model: Model, *, smoothing: float, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.model, self.smoothing, self.dtype = model, smoothing, dtype

    def forward(self, batch: Batch) -> Tensor:
        with self.autocast():
            return batch_loss(self.model, batch, self.smoothing)

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.model.device.type, self.dtype, enabled=self.dtype != torch.float32)


def label_smoothed_cross_entropy(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """logits [N, V], target [N] -> the sum over tokens of -sum_v q(v) log p(v)."""
    log_p = logits.log_softmax(dim=-1)
    of_target = log_p.gather(1, target[:, None]).sum()
    return -(1 - smoothing) * of_target - smoothing * log_p.mean(dim=-1).sum()


def batch_loss(model: Model, batch: Batch, smoothing: float) -> Tensor:
    """The sum over a batch's target tokens; what is not judged is left out before the vocabulary is looked at."""
    return loss_of_states(model, *judged_states(model, batch), smoothing)


def loss_of_states(model: Model, hidden: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """The same of states [N, d_model] that are there already."""
    return fused_loss(*with_bias(model, hidden), target, smoothing)


def with_bias(model: Model, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """States and an output matrix whose product is the logits, a bias included."""
    weight: Tensor = model.output.weight
    if model.output.bias is not None:  # one more column, which all states meet with a one
        weight = torch.cat([weight, model.output.bias[:, None]], dim=1)
        hidden = torch.cat([hidden, hidden.new_ones(len(hidden), 1)], dim=1)
    return hidden, weight


def judged_states(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
    """The states [N, d_model] of the predictions that count, as the output matrix sees them, and their targets [N]."""
    inputs, target = [torch.from_numpy(one).to(model.device) for one in batch.inputs], torch.from_numpy(batch.target)
    target = target.to(model.device)
    real = target != IGNORED
    return model.head(model.states(*inputs)[real]), target[real]


def fused_loss(hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """The same of logits = hidden @ weight.T, without ever holding all of them: hidden [N, d_model], weight [V, d_model].

    The gradients are computed in the forward pass, while a chunk's probabilities are at hand.
    """
    dtype = product_dtype(hidden)
    with torch.autocast(hidden.device.type, enabled=False):
        return _FusedLoss.apply(hidden.to(weight.dtype), weight, target, smoothing, dtype, torch.is_grad_enabled())


def product_dtype(hidden: Tensor) -> torch.dtype:
    """What matrix products are to be computed in: what autocast asks for, where it is on."""
    device = hidden.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype


class _FusedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float, dtype: torch.dtype, learning: bool
    ) -> Tensor:
        """Matrix products are of `dtype`; all else is of the weights' own."""
        vocab, rows, factor = len(weight), ROWS[weight.device.type], weight.to(dtype)
        mean_row = weight.sum(dim=0) / vocab  # hidden @ mean_row: the mean logit of each token
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        loss = hidden.new_zeros(())
        for start in range(0, len(hidden), rows):
            x, y = hidden[start : start + rows], target[start : start + rows, None]
            logits = (x.to(dtype) @ factor.t()).to(weight.dtype)
            top = logits.amax(dim=-1, keepdim=True)
            of_target = logits.gather(1, y) - top
            p = logits.sub_(top).exp_()
            total = p.sum(dim=-1, keepdim=True)
            log_total = total.log()
            loss += ((log_total - of_target) * (1 - smoothing) + smoothing * (log_total + top - (x @ mean_row)[:, None])).sum()
            if learning:
                p.scatter_add_(1, y, (smoothing - 1) * total)  # p is `total` times too large: the narrow side is divided by it
                grad_hidden[start : start + rows] = (p.to(dtype) @ factor).to(weight.dtype) / total
                if dtype == weight.dtype:
                    grad_weight.addmm_(p.t(), x / total)
                else:
                    grad_weight += p.t().to(dtype) @ (x / total).to(dtype)
        if learning:
            grad_hidden.sub_(mean_row, alpha=smoothing)
            grad_weight.sub_(hidden.sum(dim=0), alpha=smoothing / vocab)
            ctx.save_for_backward(grad_hidden, grad_weight)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad_hidden * grads[0], grad_weight * grads[0], None, None, None, None
