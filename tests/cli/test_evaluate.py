"""`headway evaluate`: sacreBLEU's figures, from a model or from a file."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
from noisy_text import add_noise, make_sentences

from headway.architectures import GptArchitecture
from headway.bundle import MANIFEST
from headway.errors import HeadwayError


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    content = {
        "source": "copy oak elm ash\nreverse fir ivy yew\n",
        "hypotheses": "oak elm ash yew\nthe cat sat on the mat\n",
        "references": "oak elm ash fir yew\nThe cat sat on a mat\n",
    }
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in content}


def test_the_figures_are_sacrebleus(files, headway):
    result = headway("evaluate", "--hypotheses", files["hypotheses"], "--references", files["references"], "--json")
    assert result.code == 0, result.err
    scores = json.loads(result.out)
    hypotheses, references = (files[name].read_text().splitlines() for name in ("hypotheses", "references"))
    assert scores["bleu"]["score"] == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert scores["chrf"]["score"] == sacrebleu.corpus_chrf(hypotheses, [references]).score
    assert scores["ter"]["score"] == sacrebleu.corpus_ter(hypotheses, [references]).score
    assert "case:mixed" in scores["bleu"]["signature"]


def test_lowercased_and_for_people(files, headway):
    result = headway("evaluate", "--hypotheses", files["hypotheses"], "--references", files["references"], "-lc")
    note, rest = result.out.split("\n\n", 1)
    assert note.startswith("Note: 2 sentences are too few for intervals")
    assert [line.split()[0] for line in rest.splitlines()[:3]] == ["BLEU", "chrF", "TER"]
    assert "case:lc" in result.out and "[" not in result.out
    assert "2 sentences scored. More BLEU and chrF is better, less TER." in result.out


def test_a_model_on_a_source(files, run: Path, headway):
    result = headway("evaluate", run / "best", "--source", files["source"], "--references", files["references"])
    assert result.code == 0 and "BLEU" in result.out


@pytest.mark.parametrize(
    "arguments", [[], ["--references", "references"], ["model", "--references", "references"], ["--hypotheses", "hypotheses"]]
)
def test_requests_that_do_not_say_enough(files, run: Path, headway, arguments):
    given = [files.get(word, run / "best" if word == "model" else word) for word in arguments]
    assert headway("evaluate", *given).code == 2


def test_unequal_files(files, tmp_path: Path, headway):
    (tmp_path / "short").write_text("one\n")
    result = headway("evaluate", "--hypotheses", tmp_path / "short", "--references", files["references"])
    assert result.code == 3
    told = f"{tmp_path / 'short'} has 1 line of translations, but {files['references']} has 2 lines of references."
    assert told in result.err and "blank lines count" in result.err
    (tmp_path / "long").write_text(files["source"].read_text() + "\n \n")
    request = ["evaluate", "--hypotheses", files["hypotheses"], "--references", files["references"]]
    result = headway(*request, "--source", tmp_path / "long")
    assert result.code == 3 and "has 4 lines of source, but" in result.err and "blank lines at its end" in result.err


def test_references_that_say_nothing(files, tmp_path: Path, headway):
    (tmp_path / "blank").write_text("\n \n")
    result = headway("evaluate", "--hypotheses", files["hypotheses"], "--references", tmp_path / "blank")
    assert result.code == 3 and "All references are blank" in result.err


@pytest.fixture
def outputs(tmp_path: Path) -> dict[str, Path]:
    """References of 40 lines, and translations of them that are better and worse."""
    references = make_sentences(40)
    texts = {"references": references, "bad": add_noise(references, 0.14, seed=1), "good": add_noise(references, 0.03, seed=1)}
    for name, lines in texts.items():
        (tmp_path / f"{name}.de").write_text("".join(f"{line}\n" for line in lines))
    return {name: tmp_path / f"{name}.de" for name in texts}


def test_two_systems_for_people_and_programs(outputs, headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "100")
    request = ["evaluate", "--hypotheses", outputs["bad"], "--references", outputs["references"], "--draws", "100"]
    request += ["--compare", outputs["good"], "--training", outputs["references"], "--source", outputs["references"]]
    result = headway(*request, "--compound-split")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    judged = [line for line in lines if line.startswith("  good.de") and "better (p = 0.0" in line]
    assert len(judged) == 3 and max(map(len, lines)) <= 100
    assert "40 sentences scored" in result.out and "[low, high] is the 95 % interval" in result.out
    for told in ("By length: chrF", "By words rare in training", "Said twice", "Left out", "Worst sentences", "not comparable"):
        assert told in result.out
    printed = json.loads(headway(*request, "--json").out)
    assert [one["name"] for one in printed["systems"]] == ["bad.de", "good.de"]
    assert printed["bleu"]["interval"][0] < printed["bleu"]["score"] < printed["bleu"]["interval"][1]
    assert printed["comparisons"][0]["difference"] == pytest.approx(
        printed["systems"][1]["bleu"]["score"] - printed["bleu"]["score"]
    )
    assert [one["name"] for one in printed["breakdowns"]] == ["length", "rare_words", "repetition", "omission"]


def test_seeds(outputs, headway):
    request = ["evaluate", "--hypotheses", outputs["bad"], "--hypotheses", outputs["good"], "--draws", "100"]
    request += ["--references", outputs["references"], "--compare", f"{outputs['good']},{outputs['good']}"]
    result = headway(*request)
    assert result.code == 0, result.err
    assert "(2 of bad.de and 1 more, 2 of good.de and 1 more)" in " ".join(result.out.split())
    assert result.out.count(" ± ") == 7 and "by bootstrap)" in result.out and "by randomisation" not in result.out


def test_a_model_beside_a_file(files, run: Path, headway):
    request = ["evaluate", run / "best", "--source", files["source"], "--references", files["references"]]
    result = headway(*request, "--compare", files["hypotheses"], "--json")
    printed = json.loads(result.out)
    assert [one["name"] for one in printed["systems"]] == ["small/best", "hypotheses"]
    assert printed["worst"][0]["source"] in files["source"].read_text().splitlines()


def test_line_ends_are_those_of_sentences(files, tmp_path: Path, headway):
    (tmp_path / "windows").write_bytes(files["hypotheses"].read_bytes().replace(b"\n", b"\r\n"))
    plain, windows = (
        headway("evaluate", "--hypotheses", path, "--references", files["references"], "--json").out
        for path in (files["hypotheses"], tmp_path / "windows")
    )
    assert json.loads(plain)["bleu"] == json.loads(windows)["bleu"]
    (tmp_path / "odd").write_text("oak elm\u2028ash yew\nthe cat\x0csat on the mat\n", encoding="utf-8")
    result = headway("evaluate", "--hypotheses", tmp_path / "odd", "--references", files["references"])
    assert result.code == 0 and "line 1" in result.out


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["hypotheses", "--source", "source", "--references", "references"], 2, "is a file, not the directory of a model"),
        (["--hypotheses", "model", "--references", "references"], 2, "is a directory, not a file of translations"),
        (["--hypotheses", "absent", "--references", "references"], 3, "given to --hypotheses"),
        (["--hypotheses", "hypotheses", "--references", "absent"], 3, "given to --references"),
        (["--hypotheses", "hypotheses", "--references", "references", "--compare", "absent"], 3, "There is no file or model"),
        (["--hypotheses", "hypotheses", "--references", "references", "--compare", "a,,b"], 2, "empty name"),
        (["--hypotheses", "hypotheses", "--references", "references", "--training", "absent"], 3, "given to --training"),
        (["model", "--source", "absent", "--references", "references"], 3, "given to --source"),
        (["--hypotheses", "hypotheses", "--references", "references", "--beam", "2"], 2, "--beam would change nothing"),
        (["--hypotheses", "hypotheses", "--references", "references", "--engine", "torch"], 2, "--engine would change"),
        (["model", "--testset", "wmt14", "--from", "de", "--to", "en"], 2, "translates from en to de"),
        (["--hypotheses", "hypotheses", "--references", "references", "--compare", "model"], 2, "needs a text to translate"),
        (["--hypotheses", "hypotheses", "--references", "references", "--report", "page.pdf"], 2, "no name for a page"),
        (["--hypotheses", "hypotheses", "--references", "references", "--draws", "5"], 2, "5 draws are too few"),
        (["--hypotheses", "hypotheses", "--references", "references", "--testset", "wmt14"], 2, "its own source"),
        (["--hypotheses", "hypotheses", "--testset", "wmt41", "--from", "en", "--to", "de"], 2, "Did you mean wmt"),
        (["model", "--source", "source", "--references", "references", "--from", "de", "--to", "en"], 2, "from en to de"),
        (["absent", "--source", "source", "--references", "references"], 1, "There is no model"),
    ],
)
def test_requests_that_cannot_be_met(files, run: Path, tmp_path: Path, headway, arguments, code, told):
    known = {**files, "model": run / "best", "absent": tmp_path / "absent"}
    result = headway("evaluate", *(known.get(word, word) for word in arguments))
    assert (result.code, "Traceback" in result.err) == (code, False)
    assert told in result.err and len(result.err.strip().splitlines()) >= 2
    assert "Asking sacreBLEU" not in result.err


def test_a_name_is_suggested_only_if_it_is_close(files, tmp_path: Path, headway):
    for wrong, told in (("refrences", True), ("refers", False), ("source2", False)):
        result = headway(
            "evaluate", "--hypotheses", files["hypotheses"], "--source", files["source"], "--references", tmp_path / wrong
        )
        assert result.code == 3 and ("Did you mean" in result.err) is told, result.err


def test_files_of_the_wrong_direction(files, run: Path, tmp_path: Path, headway):
    for name in ("test.en", "test.de"):
        shutil.copy(files["source"], tmp_path / name)
    right, wrong = (tmp_path / "test.en", tmp_path / "test.de"), (tmp_path / "test.de", tmp_path / "test.en")
    same = (tmp_path / "test.en", tmp_path / "test.en")

    def ask(source: Path, references: Path, *more: str) -> str:
        return headway("evaluate", run / "best", "--source", source, "--references", references, *more).err

    assert "test.de is de by its name" in ask(*wrong)
    assert "test.en are en by their name" in ask(*same)
    assert ask(*right) == ask(*wrong, "--from", "en", "--to", "de") == ""


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--draws", "50"], 2, "50 draws are too few"),
        (["--compare", "short"], 3, "short has 1 line of translations, but"),
        (["--report", "absent/page.html"], 2, "There is no directory absent"),
        (["--references", "short"], 3, "has 2 lines of source, but short has 1 line of references"),
        ([], 2, "SACREBLEU_SEED is 'seven'"),
    ],
)
def test_refused_before_a_model_takes_its_time(
    files, run: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch, arguments, code, told
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headway.cli.entrants._translate", lambda *_, **__: pytest.fail("a model was asked to translate"))
    if not arguments:
        monkeypatch.setenv("SACREBLEU_SEED", "seven")
    (tmp_path / "short").write_text("one\n")
    given = ["evaluate", run / "best", "--source", files["source"], "--references", files["references"]]
    result = headway(*given, *arguments)
    assert result.code == code and told in result.err


def test_a_page_that_fails_loses_no_scores(files, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch):
    def fill_the_disk(path: Path, content: str) -> None:
        raise HeadwayError("The disk is full.", "Free some space.")

    monkeypatch.setattr("headway.reports.evaluation.page.write_file", fill_the_disk)
    request = ["evaluate", "--hypotheses", files["hypotheses"], "--references", files["references"]]
    result = headway(*request, "--report", tmp_path / "page.html", "--json")
    assert result.code == 1 and "The disk is full" in result.err
    assert json.loads(result.out)["sentences"] == 2


def copy_facts(model: Path, to: Path, **changes: object) -> Path:
    """A model of which only the facts matter: it is refused before its weights are read."""
    shutil.copytree(model, to)
    manifest = json.loads((to / MANIFEST).read_text())
    (to / MANIFEST).write_text(json.dumps(manifest | changes))
    return to


def test_models_that_are_no_seeds_of_one_system(files, run: Path, tmp_path: Path, headway):
    before = json.loads((run / "best" / MANIFEST).read_text())["provenance"]

    def ask(name: str, **training: object) -> str:
        settings = before["settings"] | {"training": before["settings"]["training"] | training}
        other = copy_facts(run / "best", tmp_path / name, provenance=before | {"settings": settings})
        result = headway("evaluate", run / "best", other, "--source", files["source"], "--references", files["references"])
        assert result.code == 0, result.err
        return result.out

    assert "differ by more than the seed" not in ask("lucky", seed=77, threads=9)
    assert "small/best and 1 more differ by more than the seed" in ask("other", learning_rate=0.5)


def test_models_that_cannot_take_part(files, run: Path, tmp_path: Path, headway):
    request = ["evaluate", run / "best", "--source", files["source"], "--references", files["references"], "--compare"]
    french = copy_facts(run / "best", tmp_path / "french", source_language="fr")
    result = headway(*request, french)
    assert result.code == 2 and "translates from fr to de" in result.err
    own = json.loads((run / "best" / MANIFEST).read_text())["architecture"]
    gpt = {name: value for name, value in own.items() if name in GptArchitecture.model_fields}
    writer = copy_facts(run / "best", tmp_path / "writer", architecture=gpt | {"kind": "gpt", "vocab": 9, "max_positions": 9})
    result = headway(*request, writer)
    assert result.code == 2 and "is no model to translate with" in result.err


def test_a_page(outputs, tmp_path: Path, headway):
    page = tmp_path / "page.html"
    request = ["evaluate", "--hypotheses", outputs["bad"], "--references", outputs["references"], "--report", page]
    result = headway(*request, "--draws", "100")
    assert result.code == 0, result.err
    assert str(page) in result.err and "<html" in page.read_text()


def test_sacrebleus_test_set_through_its_own_door(tmp_path: Path):
    folder = tmp_path / "wmt14"
    folder.mkdir()
    for field in ("src", "ref", "docid", "genre", "origlang"):
        (folder / f"wmt14.en-de.{field}").write_text(f"the {field} of a line\n")
    (tmp_path / "output").write_text("the ref of this line\n")
    command = [sys.executable, "-m", "headway", "evaluate", "--hypotheses", str(tmp_path / "output"), "--json"]
    command += ["--testset", "wmt14", "--from", "en", "--to", "de"]
    done = subprocess.run(command, env={**os.environ, "SACREBLEU": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["sentences"] == 1 and printed["best"][0]["source"] == "the src of a line"
