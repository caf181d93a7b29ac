"""Section 3.1: residual connections, norms, and dropout where the paper has it."""

import itertools

import torch
from torch import Tensor, nn

from headway.nn.attention import MultiHeadAttention, attention
from headway.nn.cache import LayerCache
from headway.nn.feedforward import FeedForward
from headway.nn.layers import DecoderLayer, EncoderLayer, PostNorm, PreNorm
from headway.nn.masks import causal_mask


def test_post_norm_norms_the_sum():
    norm = nn.LayerNorm(4)
    residual = PostNorm(norm=norm, dropout=0.0)
    x, y = torch.randn(2, 4), torch.randn(2, 4)
    assert residual.before(x) is x
    torch.testing.assert_close(residual.after(x, y), norm(x + y))


def test_pre_norm_leaves_the_stream_alone():
    norm = nn.LayerNorm(4)
    residual = PreNorm(norm=norm, dropout=0.0)
    x, y = torch.randn(2, 4), torch.randn(2, 4)
    torch.testing.assert_close(residual.before(x), norm(x))
    torch.testing.assert_close(residual.after(x, y), x + y)


def test_dropout_falls_on_the_sublayer_before_it_is_added():
    residual = PreNorm(norm=nn.Identity(), dropout=0.5)
    x, y = torch.zeros(1000), torch.ones(1000)
    assert set(residual.after(x, y).tolist()) == {0.0, 2.0}
    assert torch.equal(residual.eval().after(x, y), y)


def test_in_post_norm_too_it_falls_before_the_sum_and_the_norm():
    residual = PostNorm(norm=nn.LayerNorm(4), dropout=0.5)
    x, y = torch.randn(1000, 4), torch.ones(1000, 4)
    found = residual.after(x, y)
    possible = torch.stack([residual.norm(x + 2.0 * torch.tensor(kept)) for kept in itertools.product([0, 1], repeat=4)])
    assert ((found - possible).abs().amax(dim=-1).amin(dim=0) < 1e-5).all()
    assert not torch.allclose(found, residual.eval().after(x, y))


def test_equation_2_by_hand():
    network = FeedForward(d_model=2, d_ff=2, activation=nn.ReLU())
    with torch.no_grad():
        network.inner.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
        network.inner.bias.copy_(torch.tensor([0.5, 0.0]))
        network.outer.weight.copy_(torch.tensor([[2.0, 1.0], [0.0, 1.0]]))
        network.outer.bias.copy_(torch.tensor([0.0, 10.0]))
    assert network(torch.tensor([1.0, 3.0])).tolist() == [3.0, 10.0]  # max(0, (1.5, -3)) W2 + b2
    assert network(torch.tensor([-1.0, -3.0])).tolist() == [3.0, 13.0]  # max(0, (-0.5, 3)) W2 + b2


def test_the_feed_forward_network_sees_each_position_alone():
    network = FeedForward(d_model=4, d_ff=8, activation=nn.ReLU())
    x = torch.randn(1, 5, 4)
    changed = x.clone()
    changed[0, 3] += 1.0
    differs = (network(changed) - network(x)).abs().amax(dim=-1)[0] > 1e-6
    assert differs.tolist() == [False, False, False, True, False]


def test_the_layers_are_the_papers_sublayers_in_its_order():
    """Figure 1, written out: two sublayers in the encoder, three in the decoder, the second over the encoder's output."""
    torch.manual_seed(0)
    parts = [MultiHeadAttention(d_model=4, n_heads=2, d_k=2, d_v=2) for _ in range(3)]
    network = FeedForward(d_model=4, d_ff=8, activation=nn.ReLU())

    def residual() -> PostNorm:
        return PostNorm(norm=nn.LayerNorm(4, elementwise_affine=False), dropout=0.0)

    def attend(part: MultiHeadAttention, x: Tensor, to: Tensor, mask: Tensor | None) -> Tensor:
        keys = part.project_memory(to)
        heads, _ = attention(part.project_query(x), keys.key, keys.value, mask=mask)
        return part.output(heads.transpose(1, 2).flatten(2))

    def norm(x: Tensor) -> Tensor:
        return nn.functional.layer_norm(x, (4,))

    x, y = torch.randn(1, 3, 4), torch.randn(1, 5, 4)
    memory = norm(x + attend(parts[0], x, x, None))
    memory = norm(memory + network(memory))
    encoder = EncoderLayer(attention=parts[0], feed_forward=network, residual=residual)
    torch.testing.assert_close(encoder(x, None), memory)

    mask = causal_mask(5)
    wanted = norm(y + attend(parts[1], y, y, mask))
    wanted = norm(wanted + attend(parts[2], wanted, memory, None))
    wanted = norm(wanted + network(wanted))
    decoder = DecoderLayer(attention=parts[1], cross_attention=parts[2], feed_forward=network, residual=residual)
    found, _ = decoder(y, LayerCache(None, parts[2].project_memory(memory)), mask, None)
    torch.testing.assert_close(found, wanted)
