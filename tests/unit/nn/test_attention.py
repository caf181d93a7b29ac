"""Section 3.2: what the paper says of attention, on a few numbers."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from headway.nn.attention import MultiHeadAttention, attention


def test_equation_1_by_hand():
    query, key = torch.tensor([[[[2.0, 0.0]]]]), torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    value = torch.tensor([[[[10.0], [20.0]]]])
    output, weights = attention(query, key, value)
    first = 1 / (1 + math.exp(-2 / math.sqrt(2)))
    assert weights.flatten().tolist() == pytest.approx([first, 1 - first])
    assert output.item() == pytest.approx(10 * first + 20 * (1 - first))


def test_a_masked_position_has_no_weight_and_a_fully_masked_row_gives_zeros():
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 2, 3, 4, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    output, weights = attention(query, key, value, mask=mask)
    assert (weights[..., 0, 1] == 0).all()
    assert (output[:, :, 1] == 0).all()
    output.sum().backward()
    assert all(torch.isfinite(tensor.grad).all() for tensor in (query, key, value))


@pytest.mark.parametrize("d_k", [16, 256])
def test_dividing_by_sqrt_d_k_keeps_the_variance_of_dot_products_at_one(d_k: int):
    """Footnote 4: components of mean 0 and variance 1 give dot products of variance d_k.

    The softmax's logarithm is its input but for a constant in each row, so the spread of the scores can be read off it.
    """
    torch.manual_seed(0)
    query, key, value = torch.randn(1, 1, 200, d_k), torch.randn(1, 1, 500, d_k), torch.zeros(1, 1, 500, 1)
    scaled, plain = (attention(query.double(), key.double(), value.double(), scale=s)[1].log() for s in (None, 1.0))
    assert scaled.var(dim=-1).mean().item() == pytest.approx(1.0, rel=0.1)
    assert plain.var(dim=-1).mean().item() == pytest.approx(d_k, rel=0.1)


@pytest.mark.parametrize("n_heads", [2, 4, 8])
def test_h_heads_cost_what_one_full_size_head_costs(n_heads):
    """Section 3.2.2: with d_k = d_v = d_model / h, parameters and products do not depend on h."""

    def cost(heads: int) -> tuple[int, int]:
        module = MultiHeadAttention(d_model=64, n_heads=heads, d_k=64 // heads, d_v=64 // heads)
        x = torch.randn(1, 10, 64)
        with FlopCounterMode(display=False) as counter:
            query, own = module.project(x)
            output, _ = attention(query, own.key, own.value)
            module.output(output.transpose(1, 2).flatten(2))
        return sum(p.numel() for p in module.parameters()), counter.get_total_flops()

    assert cost(n_heads) == cost(1)


def test_d_k_and_d_v_are_free_of_d_model():
    module = MultiHeadAttention(d_model=6, n_heads=2, d_k=5, d_v=7)
    query, own = module.project(torch.randn(3, 4, 6))
    assert query.shape == (3, 2, 4, 5)
    assert own.value.shape == (3, 2, 4, 7)
    assert module.attend(query, own).shape == (3, 4, 6)


def test_one_input_matrix_serves_self_and_cross_attention():
    module = MultiHeadAttention(d_model=8, n_heads=2, d_k=3, d_v=5)
    x = torch.randn(2, 4, 8)
    query, own = module.project(x)
    torch.testing.assert_close(module.project_query(x), query)
    torch.testing.assert_close(module.project_memory(x).key, own.key)
    torch.testing.assert_close(module.project_memory(x).value, own.value)


def test_multi_head_attention_is_its_heads_side_by_side_and_w_o():
    """Section 3.2.2, one head at a time: Concat(head_1, ..., head_h) W^O with head_i = Attention(x W_i^Q, x W_i^K, x W_i^V)."""
    torch.manual_seed(0)
    module = MultiHeadAttention(d_model=6, n_heads=2, d_k=3, d_v=4, bias=False)
    x = torch.randn(1, 5, 6)
    w_q, w_k, w_v = (part.T for part in module.input.weight.split([6, 6, 8]))
    heads = []
    for i in range(2):
        keys, values = slice(3 * i, 3 * i + 3), slice(4 * i, 4 * i + 4)
        heads.append(attention(x @ w_q[:, keys], x @ w_k[:, keys], x @ w_v[:, values])[0])
    query, own = module.project(x)
    torch.testing.assert_close(module.attend(query, own), torch.cat(heads, dim=-1) @ module.output.weight.T)


@pytest.mark.parametrize("n", [3, 12])
def test_attention_costs_the_square_of_the_length_times_the_width(n):
    """Table 1: n^2 d multiplications for the scores, and as many for the sum of the values."""
    with FlopCounterMode(display=False) as counter:
        attention(*(torch.randn(1, 2, n, 8) for _ in range(3)))
    assert counter.get_total_flops() / 2 == 2 * n**2 * 16
