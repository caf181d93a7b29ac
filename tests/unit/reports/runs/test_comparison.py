"""Runs side by side: what differs, which are seeds of one system, and which may be compared at all."""

from dataclasses import replace
from pathlib import Path

import pytest
from evaluations import make_run

from headway.config import build_settings
from headway.reports.runs.comparison import compare_runs, find_differences, group_seeds, render_runs, tell_rows
from headway.reports.runs.page import render_run, tell_settings
from headway.reports.runs.record import read_run


def test_only_what_differs_is_told() -> None:
    runs = [make_run("a", warmup=5), make_run("b", warmup=7, threads=3), make_run("c", warmup=5)]
    assert find_differences(runs) == {"training.warmup": [5, 7, 5]}


def test_what_follows_from_minutes_is_no_difference() -> None:
    runs = [make_run("a", max_minutes=1, warmup=5, valid_every=10), make_run("b", max_minutes=1, warmup=7, valid_every=20)]
    assert find_differences(runs) == {}


def test_runs_that_differ_by_their_seed_are_one_system() -> None:
    runs = [make_run("a", seed=1), make_run("b", seed=2, clip=2), make_run("c", seed=3), make_run("d", seed=2, test="other")]
    groups = {name: [run.name for run in members] for name, members in group_seeds(runs).items()}
    assert groups == {"a + c (2 seeds)": ["a", "c"], "b": ["b"], "d": ["d"]}


def test_seeds_are_called_by_what_their_names_share() -> None:
    names = ["small-1", "small-2", "small-3", "small-4"]
    runs = [make_run(name, seed=seed, clip=clip) for name, seed, clip in zip(names, (1, 2, 1, 2), (1, 1, 2, 2), strict=True)]
    assert list(group_seeds(runs)) == ["small (2 seeds)", "small-3 + small-4 (2 seeds)"]


def test_two_seeds_and_another_run_are_tested_together() -> None:
    runs = [make_run("a", seed=1), make_run("b", seed=2, words="a dog walks"), make_run("c", clip=3.0, words="a cat walks")]
    compared = compare_runs(runs)
    (evaluation,) = compared.evaluations
    seeds, other = evaluation.results
    assert [len(seeds.scores), len(other.scores)] == [2, 1]
    assert seeds.spread["bleu"] and other.spread["bleu"] is None
    assert {one.system for one in evaluation.comparisons} == {"c"}
    content = render_runs(compared)
    assert "training.clip" in content and "training.dropout" not in content
    assert "a, b differ by their seed alone" in content


def test_runs_with_other_test_parts_are_not_tested_and_the_page_says_why() -> None:
    compared = compare_runs([make_run("a"), make_run("b", test="another part", clip=3.0)])
    assert [len(one.results) for one in compared.evaluations] == [1, 1]
    assert not any(one.comparisons for one in compared.evaluations)
    assert "tested on different sentences (set 1: a; set 2: b)" in render_runs(compared)


def test_what_an_older_run_was_not_told_its_model_knows() -> None:
    old, new = make_run("old"), make_run("new")
    told = build_settings({"model": {"n_layers": 1, "tie": "all", "d_model": 8}, "data": {"from": "en", "to": "de"}})
    assert old.settings.model.n_layers is None
    assert find_differences([old, replace(new, settings=told)]) == {"model.d_model": [4, 8]}


def test_directories_of_one_name_are_told_apart() -> None:
    runs = [
        replace(make_run("a", clip=clip), directory=Path(place))
        for place, clip in (("/one/en-de", 1.0), ("/two/en-de", 2.0), ("/two/fr-de", 3.0))
    ]
    assert [run.name for run in compare_runs(runs).runs] == ["one/en-de", "two/en-de", "fr-de"]


def test_runs_that_have_not_ended_stand_beside_others() -> None:
    unfinished = replace(
        make_run("new", clip=3.0), records=[], manifest=None, parameters=None, tested=[], missing=["No model yet."]
    )
    compared = compare_runs([make_run("done"), unfinished])
    done, new = tell_rows(compared)
    bleu = compared.evaluations[0].results[0].scores[0].bleu
    assert done["scores"][0][0] == f"{bleu.score:.2f}" and " to " in done["scores"][0][1]
    assert new["scores"][0] == ("–", "") and new["time"] == "–"
    assert compared.notes == ["new: No model yet."]
    assert "No model yet." in render_runs(compared)


@pytest.mark.parametrize("task", ["lm", "mlm", "classify", "denoise"])
def test_the_page_of_a_run_that_does_not_translate(task: str) -> None:
    run = make_run("other")
    assert run.manifest
    provenance = run.manifest.provenance.model_copy(update={"metrics": {"test_loss": 2.5, "test_accuracy": 61.25}})
    settings = build_settings({"data": {"task": task}})
    run = replace(run, settings=settings, tested=[], manifest=run.manifest.model_copy(update={"provenance": provenance}))
    content = render_run(run, None)
    assert "2.500" in content and "61.25 %" in content and "Validation accuracy" not in content
    assert "How each score was computed" not in content


def test_settings_that_were_set_come_before_those_that_were_chosen() -> None:
    training = {"clip": 2.0, "warmup": 7, "processes": 2, "max_minutes": 3}
    settings = build_settings({"training": training, "data": {"train": ["x"], "from": "en", "hidden": 0.15}})
    unusual, chosen = ([name for name, _, _ in tell_settings(settings, unusual=which)] for which in (True, False))
    assert unusual == ["data.train", "data.from", "training.clip", "training.max_minutes"]
    assert chosen == ["data.hidden", "training.warmup", "training.processes"]


def test_a_whole_run_on_a_page(run: Path) -> None:
    found = read_run(run)
    content = render_run(found, compare_runs([found]).evaluations[0])
    for told in (
        "600 pairs read",
        "dropped: blank",
        "Learning rate",
        "Tokens a second",
        "How each score was computed",
        "d_model",
    ):
        assert told in content
    assert f"{found.parameters:,}" in content and f"{found.test['bleu']:.2f}" in content
