"""Draws, scores of draws and p-values are sacreBLEU's."""

import sys

import numpy as np
import pytest
from noisy_text import add_noise, make_sentences
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest, _bootstrap_resample

from headway.errors import RequestError
from headway.evaluation.evaluation import TITLES
from headway.evaluation.formulas import compute, compute_bleu
from headway.evaluation.metrics import build_metrics
from headway.evaluation.resampling import draw_sentences, draw_swaps, estimate_interval, resample
from headway.evaluation.sharing import count_on_all_cores
from headway.evaluation.significance import find_bootstrap_p, randomise
from headway.evaluation.statistics import count, extract

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


def test_several_processes_count_what_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, references = [FIRST, SECOND], [REFERENCES, SECOND, add_noise(REFERENCES, 0.1, seed=5)]
    alone = count(outputs, references, True)
    monkeypatch.setattr("headway.evaluation.sharing.WORTH_IT", 50)
    monkeypatch.setattr("headway.evaluation.sharing.count_cores", lambda: 2)
    told: list[tuple[str, int, int | None]] = []
    assert count_on_all_cores(outputs, references, True, lambda *one: told.append(one)) == alone
    assert told == [("Counting", 0, 60)]
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert count_on_all_cores(outputs, references, True) == alone


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
