"""Log-probabilities of given tokens, against sums of exponentials."""

import math

import pytest
import torch

from headway.decoding.scoring import token_scores


def test_scores_are_log_probabilities_without_what_never_comes() -> None:
    logits = 3 * torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(1))
    logits[..., 0] = 50.0  # however much the model wants it
    targets, never = torch.tensor([[1, 2, 5], [4, 1, 1]]), [0, 3]
    before = logits.clone()
    found = token_scores(logits, targets, never)
    assert found.shape == (2, 3)
    for sentence, position in ((s, p) for s in range(2) for p in range(3)):
        row = logits[sentence, position].tolist()
        whole = math.log(sum(math.exp(value) for token, value in enumerate(row) if token not in never))
        assert found[sentence, position].item() == pytest.approx(row[int(targets[sentence, position])] - whole, abs=1e-5)
    assert torch.equal(logits, before)


def test_what_never_comes_has_no_chance() -> None:
    assert token_scores(torch.zeros(1, 1, 4), torch.tensor([[2]]), [0, 2]).item() == -math.inf
