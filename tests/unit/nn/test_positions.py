"""Section 3.5: the sinusoids, and what the paper says of them."""

import math

import pytest
import torch

from headway.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions, sinusoids


def test_the_formula_at_a_few_places():
    table = sinusoids(torch.arange(50), 8)
    for position, pair in [(0, 0), (3, 1), (49, 3)]:
        angle = position / 10_000 ** (2 * pair / 8)
        assert table[position, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-6)
        assert table[position, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("shift", [1, 7, 100])
def test_a_shift_is_one_linear_map_for_all_positions(shift):
    """PE(pos + k) = M_k PE(pos), where M_k turns each pair (sin, cos) by an angle that depends on k alone."""
    d_model, positions = 16, torch.arange(400)
    angles = [shift / 10_000 ** (2 * pair / d_model) for pair in range(d_model // 2)]
    turns = [torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]) for a in angles]
    shifted = sinusoids(positions, d_model) @ torch.block_diag(*turns).T
    torch.testing.assert_close(shifted, sinusoids(positions + shift, d_model), atol=1e-5, rtol=0)


def test_there_is_no_longest_sentence():
    positions = SinusoidalPositions(d_model=6)
    torch.testing.assert_close(positions(1000, 3), sinusoids(torch.arange(1000, 1003), 6))
    torch.testing.assert_close(positions(250, 20), sinusoids(torch.arange(250, 270), 6))


def test_learned_positions_past_the_table_take_its_last_row():
    positions = LearnedPositions(d_model=4, max_positions=3)
    torch.nn.init.normal_(positions.weight)
    assert torch.equal(positions(2, 3), positions.weight[[2, 2, 2]])


def test_no_positions_add_nothing():
    assert torch.equal(torch.ones(2, 5, 4) + NoPositions()(3, 5), torch.ones(2, 5, 4))


def test_the_dot_product_of_two_positions_depends_on_their_distance_alone():
    table = sinusoids(torch.arange(60), 64)
    products = table @ table.T
    for distance in (0, 1, 10, 40):
        values = products.diagonal(distance)
        torch.testing.assert_close(values, values[:1].expand_as(values), atol=1e-4, rtol=0)
    assert products[0, 0] > products[0, 1] > products[0, 2] > products[0, 3]


def test_wavelengths_grow_from_2_pi_to_10000_times_2_pi_by_one_factor():
    d_model = 512
    wavelengths = torch.tensor([2 * math.pi * 10_000 ** (even / d_model) for even in range(0, d_model, 2)], dtype=torch.float64)
    quarter = sinusoids(wavelengths / 4, d_model)[:, 0::2].diagonal()
    whole = sinusoids(wavelengths, d_model)[:, 1::2].diagonal()
    torch.testing.assert_close(quarter, torch.ones(d_model // 2))
    torch.testing.assert_close(whole, torch.ones(d_model // 2))


def test_a_word_and_its_place_can_be_read_back_from_their_sum():
    torch.manual_seed(0)
    words, places = torch.randn(500, 64), sinusoids(torch.arange(50), 64)
    word, place = torch.randint(500, (1000,)), torch.randint(50, (1000,))
    sums = words[word] + places[place]
    found = torch.cdist(sums, words).argmin(dim=1)
    assert torch.equal(found, word)
    assert torch.equal(torch.cdist(sums - words[found], places).argmin(dim=1), place)
