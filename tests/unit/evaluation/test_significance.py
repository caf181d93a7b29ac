"""Draws, scores of draws and p-values are sacreBLEU's."""

import numpy as np
import pytest
from noisy_text import add_noise, make_sentences
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest, _bootstrap_resample

from headway.errors import RequestError
from headway.evaluation.evaluation import TITLES
from headway.evaluation.formulas import compute, compute_bleu
from headway.evaluation.metrics import build_metrics
from headway.evaluation.resampling import average_seeds, draw_seeds, draw_sentences, draw_swaps, estimate_interval, resample
from headway.evaluation.significance import find_bootstrap_p, find_seeds_p, randomise
from headway.evaluation.statistics import extract

REFERENCES = make_sentences(60)
FIRST, SECOND = add_noise(REFERENCES, 0.10, seed=2), add_noise(REFERENCES, 0.13, seed=3)


@pytest.fixture(scope="module")
def statistics():
    return extract([FIRST, SECOND], [REFERENCES])


def test_chunks_and_fast_edits_change_no_score(statistics) -> None:
    from sacrebleu import corpus_bleu, corpus_chrf, corpus_ter

    for output, found in zip((FIRST, SECOND), statistics, strict=True):
        whole = [measure(output, [REFERENCES]).score for measure in (corpus_bleu, corpus_chrf, corpus_ter)]
        assert list(found.scores.values()) == whole


@pytest.mark.parametrize("metric", TITLES)
def test_the_fast_formulas_are_sacrebleus_to_the_last_digit(metric) -> None:
    draw = np.random.default_rng(1)
    slow = build_metrics(False)[metric]
    rows = []
    for size in (0, 1, 2, 3, 10, 1000):
        for _ in range(100):
            if metric == "bleu":
                total = np.sort(draw.integers(0, size + 1, 4))[::-1]
                rows.append([total[0], draw.integers(1, size + 2), *(draw.integers(0, n + 1) for n in total), *total])
            elif metric == "chrf":
                pairs = draw.integers(0, size + 1, (6, 2))
                rows.append([n for a, b in pairs for n in (a, b, draw.integers(0, min(a, b) + 1))])
            else:
                rows.append(draw.integers(0, size + 1, 2))
    counts = np.array(rows, dtype=np.float64)
    wanted = [slow._compute_score_from_stats(row.tolist()).score for row in counts]
    assert compute(metric, counts).tolist() == wanted


def test_bleu_without_smoothing_is_sacrebleus_too() -> None:
    rows = [[5, 5, 5, 3, 1, 0, 5, 4, 3, 2], [5, 6, 5, 3, 2, 1, 5, 4, 3, 2]]
    slow = BLEU(smooth_method="none")
    wanted = [slow._compute_score_from_stats(row).score for row in rows]
    assert compute_bleu(np.array(rows, dtype=np.float64), smooth=False).tolist() == wanted


def test_draws_in_blocks_are_those_of_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.evaluation.resampling.AT_ONCE", 1)
    places = np.random.default_rng(12345).choice(7, size=(100, 7), replace=True)
    wanted = np.stack([np.bincount(row, minlength=7) for row in places])
    assert (np.concatenate(list(draw_sentences(7, 100))) == wanted).all()
    kept = np.random.default_rng(12345).integers(2, size=(100, 7), dtype=bool)
    assert (np.concatenate(list(draw_swaps(7, 100))) == kept).all()


def test_intervals_are_those_of_sacrebleus_bootstrap(statistics) -> None:
    sums = resample([statistics[0].counts["chrf"]], 200)[0]
    interval = estimate_interval(compute("chrf", sums))
    _, drawn = _bootstrap_resample(statistics[0].counts["chrf"], CHRF(), 200)
    ordered = sorted(one.score for one in drawn)
    assert interval == pytest.approx((ordered[5], ordered[-6]), abs=1e-4)  # sacreBLEU computes draws in single precision


@pytest.mark.parametrize("other_references", [[], [add_noise(REFERENCES, 0.05, seed=9)]])
def test_p_values_are_sacrebleus(other_references: list[list[str]]) -> None:
    references = [REFERENCES, *other_references]
    first, second = extract([FIRST, SECOND], references)
    drawn = resample([one.counts[name] for one in (first, second) for name in TITLES], 200)
    swapped = randomise(first, [second], 400)[0]
    for place, (name, metric) in enumerate(build_metrics(False).items()):
        systems = [("first", FIRST), ("second", SECOND)]
        found = {}
        for test, samples in (("bs", 200), ("ar", 400)):
            _, results = PairedTest(systems, {name: metric}, references, test_type=test, n_samples=samples)()
            found[test] = next(value for key, value in results.items() if key != "System")[1].p_value
        differences = compute(name, drawn[3 + place]) - compute(name, drawn[place])
        assert find_bootstrap_p(second.scores[name] - first.scores[name], differences) == found["bs"]
        assert swapped[name] == found["ar"]


def test_the_seed_is_sacrebleus(monkeypatch: pytest.MonkeyPatch) -> None:
    before = next(draw_swaps(9, 32))
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    assert (next(draw_swaps(9, 32)) != before).any()
    monkeypatch.setenv("SACREBLEU_SEED", "seven")
    with pytest.raises(RequestError, match="SACREBLEU_SEED is 'seven'"):
        next(draw_swaps(9, 32))


@pytest.mark.parametrize("seeds", [[30.0, 34.0], [30.0, 31.0, 34.0], [1.0, 2.0, 4.0, 8.0, 9.0]])
def test_the_mean_of_drawn_seeds_strays_as_much_as_that_of_trained_ones(seeds: list[float]) -> None:
    draws = 20_000
    drawn = average_seeds([np.full(draws, seed) for seed in seeds], draw_seeds(len(seeds), draws, 0))
    assert drawn.mean() == pytest.approx(np.mean(seeds), rel=0.01)
    assert drawn.var() == pytest.approx(np.var(seeds, ddof=1) / len(seeds), rel=0.05)


def test_seeds_are_drawn_the_same_again_but_not_for_two_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = draw_seeds(3, 1000, 0), draw_seeds(3, 1000, 1)
    assert (first == draw_seeds(3, 1000, 0)).all()
    assert abs(np.corrcoef(first[:, 0], second[:, 0])[0, 1]) < 0.1
    assert (draw_seeds(1, 4, 0) == 1).all()
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    assert (first != draw_seeds(3, 1000, 0)).any()


def test_equals_with_seeds_are_seldom_found_different() -> None:
    draw = np.random.default_rng(3)
    wrong = 0
    for _ in range(400):
        one, other = draw.normal(size=(2, 10))
        luck, sentences = draw.normal(), draw.normal(size=200)
        differences = draw_seeds(10, 200, 1) @ other - draw_seeds(10, 200, 0) @ one + luck + sentences
        wrong += find_seeds_p(other.mean() - one.mean() + luck, differences) < 0.05
    assert 0.01 < wrong / 400 < 0.08


def test_ties_are_counted_as_sacrebleu_counts_them() -> None:
    """With so few edits many swaps make just the difference that there is."""
    references = [f"a b c d {n}" for n in range(12)]
    first = [f"a b c d {n}" if n > 4 else "a b c d" for n in range(12)]
    second = [f"a b c d {n}" if n < 9 else "a b c d" for n in range(12)]
    metric = build_metrics(False)["ter"]
    systems = [("first", first), ("second", second)]
    _, results = PairedTest(systems, {"ter": metric}, [references], test_type="ar", n_samples=400)()
    one, other = extract([first, second], [references])
    assert randomise(one, [other], 400)[0]["ter"] == results["TER"][1].p_value < 0.9


def test_no_difference_is_not_significant() -> None:
    """sacreBLEU's p is the smallest that there is where all draws of two hopeless systems are 0 too."""
    assert find_bootstrap_p(0.0, np.zeros(100)) == find_seeds_p(0.0, np.zeros(100)) == 1
    one, other = extract([["x"] * 9, ["y"] * 9], [["a b c d e"] * 9])
    assert randomise(one, [other], 50)[0] == dict.fromkeys(one.counts, 1.0)
