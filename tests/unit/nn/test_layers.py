"""Section 3.1: residual connections, norms, and dropout where the paper has it."""

import torch
from torch import nn

from headway.nn.layers import PostNorm, PreNorm


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
