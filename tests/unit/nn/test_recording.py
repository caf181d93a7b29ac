"""Weights are recorded by the written-out formula, and a model does not notice."""

import pytest
import torch
from torch import nn

from headway.config import ModelSettings
from headway.models.build import build
from headway.models.presets import build_architecture
from headway.models.transformer import Transformer
from headway.nn.attention import MultiHeadAttention, fast_attention, record_attention

SOURCE, TARGET = torch.tensor([[4, 5, 6, 7, 2], [8, 9, 2, 0, 0]]), torch.tensor([[1, 4, 5, 6], [1, 7, 8, 9]])


@pytest.fixture(params=["post", "pre"])
def model(request: pytest.FixtureRequest) -> Transformer:
    settings = ModelSettings(n_layers=2, n_decoder_layers=3, d_model=16, d_ff=32, n_heads=2, norm=request.param)
    return build(build_architecture(settings, source_vocab=20, target_vocab=20, shared=True)).eval()


def test_recording_changes_no_output(model: Transformer):
    plain = model(SOURCE, TARGET)
    with record_attention(model):
        recorded = model(SOURCE, TARGET)
    torch.testing.assert_close(recorded, plain, atol=1e-5, rtol=1e-4)


def test_every_attention_is_recorded_under_its_name(model: Transformer):
    with record_attention(model) as weights:
        model(SOURCE, TARGET)
    assert {name: tuple(found.shape) for name, found in weights.items()} == {
        **{f"encoder.layers.{n}.attention": (2, 2, 5, 5) for n in range(2)},
        **{f"decoder.layers.{n}.attention": (2, 2, 4, 4) for n in range(3)},
        **{f"decoder.layers.{n}.cross_attention": (2, 2, 4, 5) for n in range(3)},
    }


def test_rows_sum_to_one_and_masks_are_seen(model: Transformer):
    with record_attention(model) as weights:
        model(SOURCE, TARGET)
    for found in weights.values():
        torch.testing.assert_close(found.sum(dim=-1), torch.ones(found.shape[:-1]))
    assert (weights["encoder.layers.0.attention"][1, :, :, 3:] == 0).all()  # padding
    assert (weights["decoder.layers.2.attention"].triu(1) == 0).all()  # later tokens
    assert (weights["decoder.layers.2.cross_attention"][1, :, :, 3:] == 0).all()


def test_an_attention_anywhere_is_found_even_the_module_itself():
    attention = MultiHeadAttention(d_model=4, n_heads=2, d_k=2, d_v=2)
    query, own = attention.project(torch.randn(1, 3, 4))
    for module, name in ((nn.Sequential(nn.Identity(), attention), "1"), (attention, "")):
        with record_attention(module) as weights:
            attention.attend(query, own)
        assert list(weights) == [name]


def test_afterwards_all_is_as_before_even_after_a_failure(model: Transformer):
    def kernels() -> set[object]:
        return {part.kernel for part in model.modules() if isinstance(part, MultiHeadAttention)}

    with record_attention(model) as weights:
        assert fast_attention not in kernels()
    assert kernels() == {fast_attention}
    with pytest.raises(RuntimeError, match="stop"), record_attention(model):
        raise RuntimeError("stop")
    assert kernels() == {fast_attention}
    model(SOURCE, TARGET)
    assert weights == {}  # nothing is kept once the block is left
