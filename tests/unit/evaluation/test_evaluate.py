"""An evaluation from end to end, on made-up sentences."""

import json

import numpy as np
import pytest
from noisy_text import add_noise, make_sentences

from headway.errors import DataError, RequestError
from headway.evaluation.compounds import score_split, split_compounds
from headway.evaluation.evaluate import check_sources, evaluate
from headway.evaluation.evaluation import Evaluation, System
from headway.evaluation.metrics import score
from headway.evaluation.record import to_dict

REFERENCES = make_sentences(60)
GOOD, BAD, WORSE = (add_noise(REFERENCES, rate, seed=4) for rate in (0.04, 0.1, 0.16))


@pytest.fixture(scope="module")
def two() -> Evaluation:
    return evaluate([System("bad", [BAD]), System("good", [GOOD])], [REFERENCES], sources=REFERENCES, draws=200)


def test_scores_are_those_of_score_and_lie_in_their_intervals(two: Evaluation) -> None:
    for result, output in zip(two.results, (BAD, GOOD), strict=True):
        plain = score(output, [REFERENCES])
        for (_, found), (_, wanted) in zip(result.scores[0].named(), plain.named(), strict=True):
            assert (found.score, found.signature) == (wanted.score, wanted.signature)
            assert found.interval and found.interval[0] < found.score < found.interval[1]
    assert two.results[0].spread == {"bleu": None, "chrf": None, "ter": None}


def test_a_better_system_is_found_better(two: Evaluation) -> None:
    assert [one.metric for one in two.comparisons] == ["bleu", "chrf", "ter"]
    for one in two.comparisons:
        sign = -1 if one.metric == "ter" else 1
        assert one.system == "good" and sign * one.difference > 0
        assert one.interval and min(sign * end for end in one.interval) > 0
        assert one.bootstrap_p and one.bootstrap_p < 0.05
        assert one.randomisation_p and one.randomisation_p < 0.05


def test_best_worst_and_apart(two: Evaluation) -> None:
    assert [len(some) for some in (two.best, two.worst, two.apart)] == [10, 10, 10]
    assert [one.chrf[0] for one in two.worst] == sorted(one.chrf[0] for one in two.worst)
    assert two.best[0].chrf[0] == max(one.chrf[0] for one in two.best) > two.worst[-1].chrf[0]
    apart = [abs(one.chrf[1] - one.chrf[0]) for one in two.apart]
    assert apart == sorted(apart, reverse=True) and apart[-1] > 0
    worst = two.worst[0]
    assert worst.translations == [BAD[worst.number - 1], GOOD[worst.number - 1]]
    assert worst.references == [REFERENCES[worst.number - 1]] == [worst.source]


def test_of_equals_the_longer_sentence_comes_first() -> None:
    references = ["a b", "a b c d", "a b c", "x", "x y", "y x"]
    found = evaluate([System("one", [[*references[:3], "", "", ""]])], [references])
    assert [one.number for one in found.best] == [2, 3, 1]
    assert [one.number for one in found.worst] == [5, 6, 4]
    assert found.apart == []


def test_json_has_the_first_system_on_top(two: Evaluation) -> None:
    printed = json.loads(json.dumps(to_dict(two)))
    assert printed["bleu"] == printed["systems"][0]["bleu"]
    assert set(printed["bleu"]) == {"score", "signature", "interval"}
    assert [one["name"] for one in printed["systems"]] == ["bad", "good"]
    assert printed["sentences"] == 60 and [one["verdict"] for one in printed["comparisons"]] == ["better"] * 3
    assert {one["name"] for one in printed["breakdowns"]} >= {"length", "repetition", "omission"}


def test_seeds_are_compared_by_their_mean() -> None:
    found = evaluate([System("bad", [BAD, WORSE]), System("good", [GOOD])], [REFERENCES], draws=100)
    bad, good = found.results
    mean = (bad.scores[0].chrf.score + bad.scores[1].chrf.score) / 2
    assert bad.mean["chrf"] == pytest.approx(mean)
    assert bad.spread["chrf"] == pytest.approx(abs(bad.scores[0].chrf.score - mean) * 2**0.5)
    one = found.comparisons[1]
    assert one.difference == pytest.approx(good.mean["chrf"] - mean)
    assert one.bootstrap_p is not None and one.randomisation_p is None
    assert any("Seeds" in note for note in found.notes)
    assert to_dict(found)["chrf"]["spread"] == bad.spread["chrf"]


def test_the_luck_of_seeds_is_in_intervals_and_p() -> None:
    """Three seeds that differ by more than the sentences make them: their mean may not be called better."""
    apart = [add_noise(REFERENCES, rate, seed=4) for rate in (0.01, 0.04, 0.16)]
    found = evaluate([System("steady", [BAD]), System("lucky", apart)], [REFERENCES], compound_split=True, draws=200)
    steady, lucky = found.results
    chrf = [scores.chrf.score for scores in lucky.scores]
    low, high = lucky.interval["chrf"] or pytest.fail("no interval")
    assert low < min(chrf) + 1 and max(chrf) - 1 < high
    assert lucky.compound_split and lucky.compound_split.interval and lucky.interval["bleu"]
    assert np.ptp(lucky.compound_split.interval) == pytest.approx(np.ptp(lucky.interval["bleu"]), rel=0.1)
    assert lucky.mean["chrf"] > steady.mean["chrf"]
    compared = found.comparisons[1]
    assert compared.interval and compared.interval[0] < 0 and compared.verdict == "no clear difference"
    alike = evaluate([System("steady", [BAD]), System("lucky", apart[1:2] * 3)], [REFERENCES], draws=200).comparisons[1]
    assert alike.difference > 0 and alike.verdict == "better"


def test_too_few_sentences_are_said_to_be() -> None:
    found = evaluate([System("bad", [BAD[:29]]), System("good", [GOOD[:29]])], [REFERENCES[:29]], compound_split=True)
    assert found.results[0].scores[0].bleu.interval is None
    assert found.results[0].compound_split and found.results[0].compound_split.interval is None
    assert {(one.interval, one.bootstrap_p, one.randomisation_p) for one in found.comparisons} == {(None, None, None)}
    assert "29 sentences are too few" in found.notes[0]


def test_systems_that_hardly_differ_are_not_tested() -> None:
    other = [GOOD[0] + " more", *GOOD[1:]]
    found = evaluate([System("one", [GOOD]), System("other", [other])], [REFERENCES], draws=100)
    assert [(one.bootstrap_p, one.randomisation_p) for one in found.comparisons] == [(None, None)] * 3
    assert any("differ in 1 sentence" in note for note in found.notes)


def test_blank_references_are_told_and_not_shown() -> None:
    found = evaluate([System("one", [["something", *GOOD[1:]]])], [["", *REFERENCES[1:]]], draws=100)
    assert "1 of 60 references is blank (line 1):" in found.notes[0]
    assert 1 not in [one.number for one in found.worst]
    found = evaluate([System("one", [GOOD])], [[""] * 7 + REFERENCES[7:]], draws=100)
    assert "7 of 60 references are blank (lines 1, 2, 3, 4, 5, …):" in found.notes[0]
    with pytest.raises(DataError, match="All references are blank"):
        evaluate([System("one", [["a"]])], [[" "]])


def test_a_script_without_spaces() -> None:
    found = evaluate([System("one", [["我爱你"]])], [["我爱他们"]], training=["我"])
    assert any("no spaces" in note and "Rare words are left out" in note for note in found.notes)
    assert "rare_words" not in {one.name for one in found.breakdowns}


def test_compounds() -> None:
    assert split_compounds(["A well-known state-of-the-art dog."]) == [
        "A well ##AT##-##AT## known state ##AT##-##AT## of ##AT##-##AT## the ##AT##-##AT## art dog ."
    ]
    no_draws = np.ones((0, 1))
    references = [["a well-known man sat here quietly", "this is not so-so"]]
    found = score_split(
        System("one", [["a well-known man sat there", "this is so-so"]]), references, lowercase=False, weights=no_draws
    )
    assert found.score > score(["a well-known man sat there", "this is so-so"], references).bleu.score
    assert "tok:13a+compound-split" in found.signature and "not comparable" in found.signature


def test_what_cannot_be_evaluated() -> None:
    with pytest.raises(DataError, match="good: There is 1 line of translations, but the reference has 2"):
        evaluate([System("bad", [["a", "b"]]), System("good", [["a"]])], [["a", "b"]])
    with pytest.raises(DataError, match="There is 1 line of source, but 2"):
        evaluate([System("bad", [["a", "b"]])], [["a", "b"]], sources=["a"])
    with pytest.raises(DataError, match="2 lines of source, but 3"):
        check_sources(["a", "b"], [["a", "b"], ["a", "b", "c"]])
    with pytest.raises(RequestError, match="99 draws are too few"):
        evaluate([System("bad", [["a"]])], [["a"]], draws=99)
    with pytest.raises(RequestError, match="no system"):
        evaluate([], [["a"]])


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int | None]] = []
    systems = [System("bad", [BAD]), System("good", [GOOD])]
    evaluate(systems, [REFERENCES], draws=100, on_progress=lambda *one: told.append(one))
    assert {"Counting", "Drawing", "Swapping"} == {work for work, _, _ in told}
    assert told[-1] == ("Swapping", 1000, 1000)
