"""What a model thinks of a given output: the log-probability of each token, in one pass. B batch, T target, V vocabulary."""

import torch
from torch import Tensor


def token_scores(logits: Tensor, targets: Tensor, never: list[int]) -> Tensor:
    """Log-probabilities [B, T] of the targets [B, T] under logits [B, T, V] in which some tokens must never come."""
    logits = logits.float().index_fill(2, torch.tensor(never, device=logits.device), -torch.inf)
    return logits.log_softmax(dim=-1).gather(2, targets[:, :, None]).squeeze(2)
