"""The count of floating-point operations against what torch counts of the products that it really makes."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from headway.architectures import Architecture
from headway.config import ModelSettings
from headway.models.build import build
from headway.models.flops import Lengths, forward_flops, training_flops
from headway.models.presets import build_architecture
from headway.nn.attention import MultiHeadAttention, attention

PAIRS, SOURCE, TARGET = 3, 5, 7


def shape(**settings) -> Architecture:
    small = {"n_layers": 2, "d_model": 8, "d_ff": 24, "n_heads": 2, "dropout": 0.0, **settings}
    return build_architecture(ModelSettings(preset="tiny", **small), source_vocab=11, target_vocab=11, shared=True)


def count(a: Architecture, *, backward: bool) -> int:
    """By torch, of a batch without padding; attention is written out, since torch does not count its kernel for processors."""
    model = build(a, pad=0)
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            part.kernel = lambda query, key, value, **options: attention(query, key, value, **options)[0]
    source, target = torch.ones(PAIRS, SOURCE, dtype=torch.long), torch.ones(PAIRS, TARGET, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        logits = model(source, target)
        if backward:
            logits.sum().backward()
    return counter.get_total_flops()


LENGTHS = Lengths.of(np.full(PAIRS, SOURCE), np.full(PAIRS, TARGET))
SHAPES = [{}, {"n_decoder_layers": 1}, {"n_layers": 1, "n_decoder_layers": 3}, {"d_k": 3}, {"d_v": 5}, {"norm": "post"}]


@pytest.mark.parametrize("settings", SHAPES)
def test_forward_is_what_torch_counts(settings: dict):
    a = shape(**settings)
    assert forward_flops(a, LENGTHS) == count(a, backward=False)


@pytest.mark.parametrize("settings", SHAPES)
def test_training_is_what_torch_counts(settings: dict):
    a = shape(**settings)
    assert training_flops(a, LENGTHS) == count(a, backward=True)


def test_lengths_are_summed_pair_by_pair():
    lengths = Lengths.of(np.array([1, 2], np.int32), np.array([3, 5], np.int32))
    assert lengths == Lengths(source=3, target=8, source_source=5, target_target=34, source_target=13, judged=8)
