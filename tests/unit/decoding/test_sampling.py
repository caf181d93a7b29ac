"""What is drawn, how often, and on what that depends."""

import math

import pytest
import torch
from toy_search import make_toy

from headway.decoding.options import Sampling
from headway.decoding.sampling import Sampler

DRAWS = 20_000
PROBABILITIES = [0.05, 0.4, 0.0, 0.25, 0.2, 0.1]


def distribution(sampling: Sampling) -> list[float]:
    """The slow twin: what should be drawn how often, with lists."""
    heated = [p ** (1 / sampling.temperature) for p in PROBABILITIES]
    order = sorted(range(len(heated)), key=lambda token: -heated[token])[: sampling.top_k or len(heated)]
    whole = sum(heated[token] for token in order)
    kept, reached = [], 0.0
    for token in order:
        if reached < sampling.top_p:
            kept.append(token)
        reached += heated[token] / whole
    held = sum(heated[token] for token in kept)
    return [heated[token] / held if token in kept else 0.0 for token in range(len(heated))]


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.5, seed=4),
        Sampling(temperature=3.0),
        Sampling(top_k=1),
        Sampling(top_k=3),
        Sampling(top_k=99),
        Sampling(top_p=0.6),
        Sampling(top_p=0.01),
        Sampling(top_k=4, top_p=0.7, temperature=2.0, seed=9),
    ],
)
def test_many_draws_are_as_frequent_as_they_are_likely(sampling: Sampling) -> None:
    row = torch.tensor(PROBABILITIES).log()
    gains, tokens = Sampler(sampling, [(0,)])(row.expand(DRAWS, -1), torch.zeros(DRAWS, dtype=torch.long), 0)
    wanted = distribution(sampling)
    counted = torch.bincount(tokens, minlength=len(wanted)).tolist()
    for count, probability in zip(counted, wanted, strict=True):
        assert abs(count - DRAWS * probability) <= 4.5 * math.sqrt(DRAWS * probability * (1 - probability))
    torch.testing.assert_close(gains, row[tokens])  # the model's own, before any temperature


def test_the_draws_of_a_sentence_do_not_depend_on_its_batch() -> None:
    toy, limits, sampling = make_toy(2, sentences=5, sharpness=0.5), [9, 2, 11, 5, 9], Sampling(seed=7, top_p=0.9)
    together = toy.greedy(limits, pick=Sampler(sampling, [(place,) for place in (3, 1, 4, 0, 2)]))
    for sentence, place in enumerate([3, 1, 4, 0, 2]):
        alone = toy.only(sentence).greedy([limits[sentence]], pick=Sampler(sampling, [(place,)]))
        assert alone == together[sentence : sentence + 1]


def test_seeds_and_places_draw_differently() -> None:
    toy, limits = make_toy(2, sentences=1, positions=40, vocabulary=50, sharpness=0.1), [40]
    drawn = {
        tuple(toy.greedy(limits, pick=Sampler(Sampling(seed=seed), [(place,)]))[0].tokens[:2])
        for seed in range(5)
        for place in range(5)
    }
    assert len(drawn) > 20


@pytest.mark.parametrize("seed", range(3))
def test_the_likeliest_alone_is_greedy(seed: int) -> None:
    toy = make_toy(seed)
    assert toy.greedy([9] * 4, pick=Sampler(Sampling(top_k=1, seed=seed), [(place,) for place in range(4)])) == toy.greedy(
        [9] * 4
    )
