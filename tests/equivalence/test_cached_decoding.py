"""Decoding with caches, token by token, against the whole prefix at once; a batch against one sentence at a time."""

import pytest
import torch

from headway.config import ModelSettings
from headway.models.build import build
from headway.models.presets import build_architecture


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_steps_with_a_cache_equal_the_whole_prefix(norm, positions):
    torch.manual_seed(0)
    settings = ModelSettings(
        n_layers=2, d_model=16, d_ff=32, n_heads=2, d_k=5, d_v=7, norm=norm, positions=positions, max_positions=9
    )
    model = build(build_architecture(settings, source_vocab=30, target_vocab=30, shared=True)).eval()
    source = torch.randint(4, 30, (3, 6))
    source[1, 4:] = 0
    target = torch.randint(4, 30, (3, 12))
    whole = model(source, target)
    cache = model.start(source)
    for place in range(12):
        x, cache = model.decode(target[:, place : place + 1], cache)
        torch.testing.assert_close(model.output.logits(x[:, 0]), whole[:, place], atol=1e-5, rtol=1e-4)
    cache = model.start(source)
    for part in (target[:, :5], target[:, 5:12]):  # several tokens at once after a past
        x, cache = model.decode(part, cache)
    torch.testing.assert_close(model.output.logits(x), whole[:, 5:], atol=1e-5, rtol=1e-4)


def test_selected_rows_of_a_cache_go_on_as_themselves():
    torch.manual_seed(0)
    settings = ModelSettings(n_layers=1, d_model=8, d_ff=16, n_heads=2)
    model = build(build_architecture(settings, source_vocab=30, target_vocab=30, shared=True)).eval()
    source, target = torch.randint(4, 30, (3, 5)), torch.randint(4, 30, (3, 4))
    _, cache = model.decode(target[:, :3], model.start(source))
    rows = torch.tensor([2, 0, 2])
    x, _ = model.decode(target[rows][:, 3:], cache.select(rows, rows))
    torch.testing.assert_close(model.output.logits(x[:, 0]), model(source, target)[rows, 3], atol=1e-5, rtol=1e-4)
