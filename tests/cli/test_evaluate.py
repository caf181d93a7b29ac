"""`headway evaluate`: sacreBLEU's figures, from a model or from a file."""

import json
from pathlib import Path

import pytest
import sacrebleu


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
    assert [line.split()[0] for line in result.out.splitlines()] == ["BLEU", "chrF", "TER"]
    assert "case:lc" in result.out


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
    assert result.code == 3 and "1 lines" in result.err and "2" in result.err
