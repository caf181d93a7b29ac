import torch

from headway.nn.masks import causal_mask, padding_mask


def test_nobody_attends_to_padding():
    assert padding_mask(torch.tensor([[5, 6, 0], [7, 0, 0]]), pad=0)[:, 0, 0].tolist() == [
        [True, True, False],
        [True, False, False],
    ]


def test_a_position_sees_the_past_and_itself():
    assert causal_mask(2, past=1)[0, 0].tolist() == [[True, True, False], [True, True, True]]
