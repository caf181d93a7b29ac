"""Looking further along a learning curve: right as often as it says, and careful where there is little to go by."""

from collections.abc import Callable

import numpy as np
import pytest

from headway.evaluation.extrapolation import KEPT, LUCK, VARIES, Extrapolation, extrapolate


def look(*scores: float, sentences: float = 0.0) -> Extrapolation:
    """From three scores that other test sentences move together, by so many points."""
    moved = np.random.default_rng(1).normal(0.0, sentences, (500, 1)) if sentences else np.zeros((500, 1))
    return extrapolate(np.array(scores) + moved)


def drifting(random: np.random.Generator) -> np.ndarray:
    """A curve as the method imagines them."""
    factors = np.exp(np.log(KEPT) + VARIES * random.standard_normal(2))
    gains = random.uniform(0.02, 0.15) * np.cumprod([1.0, *factors])
    return 100 * (1 - np.exp(-random.uniform(0.05, 0.5) - np.cumsum([0.0, *gains])))


def power_law(random: np.random.Generator) -> np.ndarray:
    best, exponent = random.uniform(25, 60), random.uniform(0.1, 0.6)
    return best * (1 - random.uniform(0.3, 0.8) * np.array([1, 2, 4, 8.0]) ** -exponent)


def s_shape(random: np.random.Generator) -> np.ndarray:
    """As small models have it whose training has only begun to work."""
    best, middle, steepness = random.uniform(30, 45), random.uniform(0, 2), random.uniform(0.6, 1.2)
    return best / (1 + np.exp(-steepness * (np.arange(4) - middle)))


@pytest.mark.parametrize(("draw", "least", "most"), [(drifting, 0.88, 0.99), (power_law, 0.9, 1.0), (s_shape, 0.88, 1.0)])
def test_the_interval_holds_what_comes_as_often_as_it_says(draw: Callable, least: float, most: float):
    random, held, apart = np.random.default_rng(7), [], []
    for _ in range(120):
        scores = draw(random) + LUCK * random.standard_normal(4)
        found = extrapolate(np.repeat(scores[None, :3], 60, axis=0))
        held.append(found.interval[0] <= scores[3] <= found.interval[1])
        apart.append(found.score - scores[3])
    assert least <= np.mean(held) <= most
    assert abs(np.mean(apart)) < 0.6  # neither hopeful nor gloomy


def test_gains_shrink():
    found = look(20.0, 25.0, 28.0)
    assert 29.5 < found.score < 31.5  # a straight line would say 32.3
    assert 0 < found.gain < 3.0 and found.gain_interval[0] < found.gain < found.gain_interval[1]
    assert found.interval[0] > 26 and found.interval[1] < 35


def test_more_is_expected_of_those_that_are_better():
    lower, higher, steeper = look(20.0, 25.0, 28.0), look(21.0, 26.0, 29.0), look(20.0, 25.0, 30.0)
    assert lower.score < higher.score < steeper.score
    assert lower.gain < steeper.gain


def test_other_sentences_widen_the_interval():
    sure, unsure = look(20.0, 25.0, 28.0), look(20.0, 25.0, 28.0, sentences=2.0)
    assert unsure.interval[1] - unsure.interval[0] > sure.interval[1] - sure.interval[0] + 2


def test_the_seed_is_in_the_interval_even_where_nothing_else_is():
    low, high = look(30.0, 30.0, 30.0).interval
    assert high - low > 2 * LUCK


@pytest.mark.parametrize(
    "scores", [(0.0, 0.0, 0.0), (60.0, 90.0, 99.0), (100.0, 100.0, 100.0), (90.0, 50.0, 10.0), (0.1, 0.2, 80.0)]
)
def test_no_forecast_is_out_of_bounds(scores: tuple[float, ...]):
    found = look(*scores, sentences=1.0)
    assert 0 <= found.interval[0] <= found.score <= found.interval[1] <= 100
    assert 0 <= found.gain_interval[0] <= found.gain <= found.gain_interval[1]


def test_a_curve_that_falls_is_not_followed():
    found = look(30.0, 29.0, 28.0)
    assert 28 < found.score < 30 and found.gain < 0.1
