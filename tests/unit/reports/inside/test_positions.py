from pathlib import Path

import numpy as np
import pytest
import torch

from headway.nn.positions import sinusoids
from headway.reports.inside.positions import choose_waves, compare, draw_products, draw_table, is_sinusoidal, wavelengths

SINUSOIDS = sinusoids(torch.arange(64), 32).numpy()
LEARNED = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)


def test_products_depend_on_the_distance_alone_and_are_highest_near_by() -> None:
    products = compare(SINUSOIDS)
    for distance in range(64):
        diagonal = np.diagonal(products, distance)
        assert diagonal == pytest.approx(np.full(64 - distance, diagonal[0]), abs=1e-4)
    first = products[0]
    assert first[0] == pytest.approx(1)
    assert first[0] > first[1] > first[2] > first[3] > first[4:].max()


def test_products_of_rows_of_any_length() -> None:
    assert compare(np.array([[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0], [0.0, 0.0]])).tolist() == [
        [1, 0, -1, 0],
        [0, 1, 0, 0],
        [-1, 0, 1, 0],
        [0, 0, 0, 0],
    ]


def test_the_papers_table_is_known_when_seen() -> None:
    assert is_sinusoidal(SINUSOIDS)
    assert not is_sinusoidal(LEARNED)
    assert not is_sinusoidal(-SINUSOIDS)


def test_a_wavelength_is_where_a_wave_begins_again() -> None:
    lengths = wavelengths(32)
    assert lengths[0] == pytest.approx(2 * np.pi)
    assert lengths[30] == pytest.approx(2 * np.pi * 10_000 ** (30 / 32))
    rounds = torch.tensor(lengths[6] * np.arange(4))
    assert sinusoids(rounds, 32)[:, 6].tolist() == pytest.approx([0] * 4, abs=1e-4)


@pytest.mark.parametrize("table", [SINUSOIDS, LEARNED, SINUSOIDS[:, :2], SINUSOIDS[:1], SINUSOIDS[:, :7]])
def test_waves_are_even_dimensions_of_the_table(table: np.ndarray) -> None:
    chosen = choose_waves(table)
    assert chosen == sorted(set(chosen)) and chosen[0] == 0
    assert all(dimension % 2 == 0 and dimension < table.shape[1] for dimension in chosen)


@pytest.mark.parametrize("table", [SINUSOIDS, LEARNED, LEARNED[:1], np.zeros((5, 4))], ids=["waves", "learned", "one", "zeros"])
def test_pictures_of_any_table(table: np.ndarray, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    for draw, name in ((draw_table, "positions"), (draw_products, "position-products")):
        written = draw(table, tmp_path / name)
        assert [path.name for path in written] == [f"{name}.png", f"{name}.svg"]
        assert written[0].read_bytes().startswith(b"\x89PNG") and b"</svg>" in written[1].read_bytes()
    assert list(recwarn) == []


def test_only_the_papers_table_is_drawn_as_sines_and_cosines(tmp_path: Path) -> None:
    assert "cosines" in draw_table(SINUSOIDS, tmp_path / "a")[1].read_text()
    assert "cosines" not in draw_table(LEARNED, tmp_path / "b")[1].read_text()
