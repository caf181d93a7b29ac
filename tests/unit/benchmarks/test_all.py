"""What `make benchmarks` would do: every command can be given as it stands, and the table is that of the results."""

import importlib
import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from headway.cli import build_app
from headway.cli.experiment import EXPERIMENTS
from headway.config import build_settings
from headway.experiments.ablation import parse_changes
from headway.experiments.experiment import check_settings
from headway.experiments.variants import Variant, vary

ROOT = Path(__file__).parents[3]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = BENCHMARKS / "results"
MODULES = (
    "ablation",
    "all",
    "decoding",
    "evaluation",
    "family",
    "forecast",
    "machine",
    "quality",
    "quality_answers",
    "scale",
    "table",
    "training",
)


@pytest.fixture(scope="module", autouse=True)
def neighbours() -> Iterator[None]:
    """Scripts find each other as they do when one of them is run."""
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))
    for name in [name for name in sys.modules if name.partition(".")[0] in (*MODULES, "peers", "engines")]:
        del sys.modules[name]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "multi30k").mkdir()
    for part in ("train", "val", "test2016", "test2017"):
        for side in ("en", "de"):
            (tmp_path / "multi30k" / f"{part}.{side}").touch()
    return tmp_path


def script(name: str) -> Any:
    return importlib.import_module(name)


def list_steps(data: Path, work: Path = Path("work")) -> Any:
    return script("all").list_steps(data, work)


def test_every_script_takes_its_words(data: Path) -> None:
    for step in list_steps(data):
        program, path, *words = step.command
        if program == "python":
            assert Path(path).resolve().parent == BENCHMARKS
            module = script(Path(path).stem)
            if words:  # its own parser refuses what it does not know, and ends the process
                module.parse(words)
        elif program == "bash":
            assert Path(path).exists()
        else:
            assert program == "headway"


def test_every_experiment_is_made_with_options_that_it_has(data: Path) -> None:
    made = {step.command[2]: step.command[3:] for step in list_steps(data) if step.command[0] == "headway"}
    assert list(made) == [name for name in EXPERIMENTS if name != "ablation"]  # whose changes are a user's own
    verb = typer.main.get_command(build_app("experiment")).commands["experiment"]  # type: ignore[attr-defined]
    known = {spelling for parameter in verb.params for spelling in parameter.opts}
    for words in made.values():
        assert {word for word in words if word.startswith("--")} <= known


def test_steps_come_after_what_they_need_and_write_files_of_their_own(data: Path) -> None:
    steps = list_steps(data)
    names = [step.name for step in steps]
    assert len(set(names)) == len(names)
    assert all(names.index(step.needs) < at for at, step in enumerate(steps) if step.needs)
    assert names[-1] == "table"


def test_only_some_steps_are_asked_for(data: Path, tmp_path: Path) -> None:
    choose, steps = script("all").choose, list_steps(data, tmp_path / "work")
    assert [step.name for step in choose(steps, ["training"])] == ["peers", "training-tiny", "training-small", "table"]
    (tmp_path / "work" / "peers").mkdir(parents=True)
    (tmp_path / "work" / "peers" / "installed").touch()
    assert [step.name for step in choose(steps, ["training-tiny"])] == ["training-tiny", "table"]
    usual = {step.name for step in choose(steps, [])}
    assert usual >= {"multi30k-en-de", "decoding-tiny", "family-cache", "experiment-rnn"}
    assert not usual & {"peers", "family-bert", "scale"}
    assert "family-bert" in {step.name for step in choose(steps, ["family"])}


def test_a_step_that_fails_is_named_and_does_not_stop_the_others(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = script("all")

    def step(name: str, program: str, needs: str = "") -> Any:
        command = ["python", "-c", program, str(tmp_path / name)]
        return module.Step(name, 0.1, command, tmp_path / name, needs)

    writing = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
    steps = [step("bad", "raise SystemExit(3)"), step("needy", writing, "bad"), step("silent", ""), step("table", writing)]
    monkeypatch.setattr(module, "list_steps", lambda data, work: steps)
    monkeypatch.setattr(sys, "argv", ["all.py", "--data", str(data), "--work", str(tmp_path / "work")])
    with pytest.raises(SystemExit, match="Failed: bad, needy, silent"):
        module.main()
    assert (tmp_path / "table").exists() and not (tmp_path / "needy").exists()
    printed = capsys.readouterr().out
    assert "24 s  in all" in printed and shlex.join(steps[0].command) in printed


def test_results_of_an_experiment_are_copied(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    for name in ("results.json", "table.md", "heads.png", "heads.svg", "heads.json"):
        (made / name).touch()
    step = script("all").Step("experiment-heads", 1, ["true"], tmp_path / "kept", copied_from=made)
    assert script("all").run(step)
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"results.json", "table.md", "heads.png", "heads.svg"}


def test_missing_data_and_unknown_steps_are_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in ((["--only", "traning"], "there is no step traning"), (["--only"], "lacks val.de")):
        with pytest.raises(SystemExit):
            script("all").parse(["--data", str(data), *words])
        assert said in capsys.readouterr().err
        (data / "multi30k" / "val.de").unlink(missing_ok=True)


def test_the_table_that_is_kept_is_that_of_the_results() -> None:
    table = script("table")
    found = {path: json.loads(path.read_text()) for path in table.list_results(RESULTS)}
    made = table.make_table(found)
    assert made == (RESULTS / "table.md").read_text(encoding="utf-8"), "run python benchmarks/table.py"
    rows = made.splitlines()[made.splitlines().index("| --- | --- | --- | --- | --- | --- | --- |") + 1 :]
    named = [re.search(r"\[[^\]]*\]\(([^)]*\.json)\) \|$", row) for row in rows]
    assert all(name and (RESULTS / name[1]).exists() for name in named)
    assert {RESULTS / name[1] for name in named if name} == set(found)


def test_ratios_and_commands_are_told(tmp_path: Path) -> None:
    side = {"version": "1.0+cpu", "tokens_per_second": {"median": 1000}, "ratio": {"median": 2.0, "least": 1.5, "most": 2.5}}
    sides = {"headway": {"tokens_per_second": {"median": 2000}}, "marian": side}
    known = {"machine": {"cores": 2, "processor": "Abacus"}, "command": "python benchmarks/training.py"}
    table = script("table")
    wanted = "| Training, tiny: target tokens/s | 2,000 | Marian 1.0: 1,000 | 2.00 (1.50 to 2.50) | "
    for more, told in ((known, "2 cores of Abacus | `python benchmarks/training.py` | "), ({}, "not recorded")):
        made = table.make_table({RESULTS / "training-tiny.json": {"presets": {"tiny": sides}, **more}})
        assert wanted + told in made
    (row,) = table.read(Path("training-tiny.json"), {"presets": {"tiny": sides}})
    rows = [row, replace(row, what="Translating", other="Hugging Face generate", with_what="int8")]
    table.draw_summary(rows, tmp_path / "summary")
    picture = (tmp_path / "summary.svg").read_text()
    assert "Marian 1.0" in picture and "Hugging Face generate (Headway: int8)" in picture


def test_a_forecast_stands_beside_what_came() -> None:
    forecast = script("forecast")
    options = forecast.parse(["--data", "data", "--corpus", "a/train", "en", "de", "4000", "--settings", "dropout=0.1"])
    (corpus,) = options.corpus
    assert (corpus.name, corpus.updates, options.settings) == ("a-train-en-de", 4000, ["dropout=0.1"])
    quality = {"bleu": {"score": 30.04, "interval": [27.0, 33.96]}, "chrf": None}
    result = {"corpora": [{"corpus": corpus._asdict(), "quality": quality, "came": {"bleu": 31.22, "chrf": 55.0}}]}
    bleu, chrf = script("table").read(Path("forecast.json"), result)
    assert (bleu.what, bleu.ours) == ("a/train, en to de, 4,000 updates: on validation, BLEU", "31.2")
    assert (bleu.theirs, chrf.theirs) == ("30.0 [27.0, 34.0]", "nothing")
    with pytest.raises(SystemExit):
        forecast.parse(["--data", "data", "--corpus", "a/train", "en", "de", "long"])


def test_commands_are_told_without_the_directories_of_one_machine() -> None:
    words = ["/home/me/headway/benchmarks/training.py", "--data", "/home/me/data/multi30k", "--out", "results/a b"]
    told = script("machine").tell_command(words, {"DATA": Path("/home/me/data"), "WORK": None})
    assert told == "python benchmarks/training.py --data DATA/multi30k --out 'results/a b'"


def test_systems_are_made_up_alike_each_time(tmp_path: Path) -> None:
    evaluation = script("evaluation")
    for attempt in ("first", "second"):
        (tmp_path / attempt).mkdir()
        evaluation.lay_out(evaluation.parse(["--sentences", "40"]), tmp_path / attempt)
    first, second = ([(tmp_path / one / name).read_text() for name in ("references", "a", "b")] for one in ("first", "second"))
    assert first == second
    assert len(set(first)) == 3 and all(text.count("\n") == 40 for text in first)


def test_tables_of_sacrebleu_are_read() -> None:
    said = r"""\begin{tabular}{rccc}
\toprule
      System &   BLEU (μ ± 95\% CI)    &   chrF2 (μ ± 95\% CI)   &   TER (μ ± 95\% CI)   \\
\midrule
 Baseline: a &  77.493 (77.390 ± 3.047) & 91.430 (91.386 ± 1.018) & 8.440 (8.480 ± 0.956) \\
           b & 74.257 (74.139 ± 3.600) (p = 0.0010)* & 90.177 (90.125 ± 1.1) (p = 0.0609) & 10.458 (10.5 ± 1.3) (p = 0.2)* \\
\bottomrule
"""
    figures = script("evaluation").read_table(said, "bootstrap")
    assert [figures[title, name] for title in ("BLEU", "chrF", "TER") for name in ("a", "b", "bootstrap")] == [
        *(77.493, 74.257, 0.001),
        *(91.43, 90.177, 0.0609),
        *(8.44, 10.458, 0.2),
    ]


def test_differences_are_those_of_the_digits_that_are_printed() -> None:
    ours = {("BLEU", "a"): 31.1234567890123, ("BLEU", "bootstrap"): 0.03341}
    theirs = {("BLEU", "a"): 31.123456789012, ("BLEU", "bootstrap"): 0.0534}
    found = script("evaluation")._compare(ours, theirs)
    assert (found["scores"], found["p_values"]) == (0.0, 0.02)


def test_every_change_that_is_asked_about_can_be_made() -> None:
    quality = script("quality")
    base = build_settings({"data": {"train": ["train"], "from": "en", "to": "de"}})
    base = vary(base, Variant(quality.SETTINGS, parse_changes(quality.SETTINGS)))
    for changes in quality.QUESTIONS.values():
        for words in changes:
            changed = vary(base, Variant(words, parse_changes(words)))
            check_settings(changed)
            assert changed != base, words


def test_answers_of_all_seeds_make_one_row_beside_base() -> None:
    quality = script("quality")
    known = {"corpus": "twi", "settings": "preset=tiny", "operations": 1e12, "updates": 2000, "epochs": 10.04, "chrf": 40.0}
    nothing = [0.0, [0.0, 0.0]]
    answers = [
        {**known, "change": "r-drop=5", "seed": 1, "bleu": 12.0, "differences": {"bleu": [1.0, [0.2, 1.8]], "chrf": nothing}},
        {**known, "change": "base", "seed": 1, "bleu": 11.0, "differences": {"bleu": nothing, "chrf": nothing}},
        {**known, "change": "r-drop=5", "seed": 2, "bleu": 13.0, "differences": {"bleu": [2.0, [1.0, 3.0]], "chrf": nothing}},
    ]
    base, changed = quality.make_table(answers, quality.order).splitlines()[-2:]
    assert base == "| `base` | 1 | 2,000 | 10.0 | 11.0 |  | 40.0 |  |"
    assert changed == "| `r-drop=5` | 2 | 2,000 | 10.0 | 12.5 | +1.5 [+0.6, +2.4] | 40.0 | +0.0 [+0.0, +0.0] |"


def test_a_picture_of_answers_has_a_row_for_each_change_and_tells_what_is_off_its_scale(tmp_path: Path) -> None:
    quality = script("quality")
    apart = {"base": 0.0, "dropout=0.3": 1.0, "r-drop=5": -12.3}
    answers = [
        {"corpus": "twi", "change": change, "epochs": 9.4, "differences": {"chrf": [d, [d - 1, d + 1]]}}
        for change, d in apart.items()
    ]
    alone = {**answers[0], "corpus": "tatoeba"}
    quality.draw_picture([*answers, alone], quality.order, tmp_path / "picture")
    drawn = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert all(told in drawn for told in ("twi, 9 epochs", "dropout=0.3", "r-drop=5", "-12.3"))
    assert "tatoeba" not in drawn and "+1.0" not in drawn


def test_the_tables_of_settings_that_are_kept_are_those_of_the_answers() -> None:
    quality = script("quality")
    answers = quality.read_answers(RESULTS / "quality")
    assert quality.make_table(answers, quality.order) == (RESULTS / "quality" / "table.md").read_text(encoding="utf-8")
    overview = script("quality_answers").make_overview(answers, quality.order)
    assert overview in (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
