"""R-Drop (Wu et al., 2021): two passes of one batch, each with its own dropout, must not only be right but also agree.

For each target token, with p1 and p2 what the two passes say of it, and alpha the strength:

    loss = 1/2 (CE(p1) + CE(p2)) + alpha/2 * 1/2 (KL(p1 || p2) + KL(p2 || p1))

half of what the paper writes, so that alpha is the paper's and the cross-entropy is as large as without. Sums over tokens, as
in `loss.py`: written out, and its fast twin. N tokens, V vocabulary.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from headway.data.batching import Batch
from headway.models.model import Model
from headway.training.loss import ROWS, Loss, judged_states, label_smoothed_cross_entropy, product_dtype, with_bias


class RDropLoss(Loss):
    """What training makes small is the whole loss. Its value is the cross-entropy's alone, which a run without can be held
    against, and which tells whether learning explodes; its gradient is that of the whole.
    """

    def __init__(self, model: Model, *, smoothing: float, strength: float, dtype: torch.dtype = torch.float32) -> None:
        super().__init__(model, smoothing=smoothing, dtype=dtype)
        self.strength = strength

    def forward(self, batch: Batch) -> Tensor:
        with self.autocast():
            hidden, target = judged_states(self.model, _twice(batch))
            whole, cross_entropy = fused_r_drop(
                *with_bias(self.model, hidden), target[: len(target) // 2], self.smoothing, self.strength
            )
        return cross_entropy + (whole - whole.detach())


def _twice(batch: Batch) -> Batch:
    """Its rows, and all of them again: dropout draws other masks for these."""
    inputs = tuple(np.concatenate([rows, rows]) for rows in batch.inputs)
    return Batch(inputs, np.concatenate([batch.target, batch.target]), 2 * batch.judged)


def r_drop(logits: Tensor, target: Tensor, smoothing: float, strength: float) -> tuple[Tensor, Tensor]:
    """logits [2 N, V], first those of one pass, then those of the other; target [N] -> the whole loss, the cross-entropy."""
    cross_entropy = label_smoothed_cross_entropy(logits, torch.cat([target, target]), smoothing) / 2
    first, second = logits.log_softmax(dim=-1).chunk(2)
    divergence = (first.exp() * (first - second) + second.exp() * (second - first)).sum() / 2
    return cross_entropy + strength / 2 * divergence, cross_entropy


def fused_r_drop(hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float, strength: float) -> tuple[Tensor, Tensor]:
    """The same of logits = hidden @ weight.T, without ever holding all of them: hidden [2 N, d_model], weight [V, d_model].

    The gradients are computed in the forward pass, while a chunk's probabilities are at hand.
    """
    dtype = product_dtype(hidden)
    with torch.autocast(hidden.device.type, enabled=False):
        return _FusedRDrop.apply(hidden.to(weight.dtype), weight, target, smoothing, strength, dtype)


class _FusedRDrop(torch.autograd.Function):
    """With d = log p1 - log p2, of the first pass's logits: KL(p1 || p2) has the gradient p1 (d - KL(p1 || p2)), and
    KL(p2 || p1) has p1 - p2. Of the second's, the same the other way round.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float, strength: float, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        """Matrix products are of `dtype`; all else is of the weights' own."""
        vocab, tokens, rows, factor = len(weight), len(target), ROWS[weight.device.type] // 2, weight.to(dtype)
        mean_row = weight.sum(dim=0) / vocab  # hidden @ mean_row: the mean logit of each token
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        cross_entropy, divergence = hidden.new_zeros(()), hidden.new_zeros(())
        share = strength / 4  # of each divergence in the loss
        for start in range(0, tokens, rows):
            end = min(start + rows, tokens)
            x = torch.cat([hidden[start:end], hidden[tokens + start : tokens + end]])
            y = target[start:end, None].repeat(2, 1)
            logits = (x.to(dtype) @ factor.t()).to(weight.dtype)
            top = logits.amax(dim=-1, keepdim=True)
            p = torch.sub(logits, top).exp_()
            total = p.sum(dim=-1, keepdim=True)
            log_total = total.log().add_(top)
            of_target, mean = logits.gather(1, y), (x @ mean_row)[:, None]
            cross_entropy += (log_total - (1 - smoothing) * of_target - smoothing * mean).sum() / 2
            first, second = p.div_(total).chunk(2)
            room, d = logits.chunk(2)  # from here on the logits are not needed, their place is
            torch.sub(room, d, out=d).sub_(log_total[: end - start] - log_total[end - start :])
            forth = torch.mul(first, d, out=room).sum(dim=-1, keepdim=True)  # KL(p1 || p2)
            back = -torch.mul(second, d, out=room).sum(dim=-1, keepdim=True)  # KL(p2 || p1)
            divergence += (forth + back).sum()
            torch.mul(d, share, out=room).add_(0.5 + share * (1 - forth)).mul_(first).sub_(second, alpha=share)
            d.mul_(-share).add_(0.5 + share * (1 - back)).mul_(second).sub_(first, alpha=share)
            grad = logits.scatter_add_(1, y, logits.new_full(y.shape, (smoothing - 1) / 2))
            of_x = (grad.to(dtype) @ factor).to(weight.dtype)
            grad_hidden[start:end], grad_hidden[tokens + start : tokens + end] = of_x.chunk(2)
            if dtype == weight.dtype:
                grad_weight.addmm_(grad.t(), x)
            else:
                grad_weight += grad.t().to(dtype) @ x.to(dtype)
        grad_hidden.sub_(mean_row, alpha=smoothing / 2)
        grad_weight.sub_(hidden.sum(dim=0), alpha=smoothing / 2 / vocab)
        ctx.save_for_backward(grad_hidden, grad_weight)
        ctx.mark_non_differentiable(cross_entropy)
        return cross_entropy + share * divergence, cross_entropy

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad_hidden * grads[0], grad_weight * grads[0], None, None, None, None
