"""`headway export`: another form of a model, with proof, or nothing."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from headway.export import ctranslate2 as form


@pytest.mark.parametrize(
    ("to", "files"),
    [
        ("ctranslate2", {"model.bin", "config.json"}),
        ("onnx", {"encoder.onnx", "decoder.onnx", "README.md"}),
        ("huggingface", {"model.safetensors", "config.json", "tokenizer.json"}),
    ],
)
def test_each_form_comes_with_its_proof(to: str, files: set[str], tmp_path: Path, run: Path, headway):
    result = headway("export", run / "best", "--to", to, "-o", tmp_path / "exported", "--sentences", 6)
    assert result.code == 0, result.err
    assert files < {path.name for path in (tmp_path / "exported").iterdir()}
    proof = json.loads((tmp_path / "exported" / "parity.json").read_text())
    assert proof["share_of_equal_translations"] == 1.0 and proof["sentences"] == 6
    assert 0 < proof["largest_logit_difference"] < 1e-3
    assert "largest difference of logits" in result.err
    again = headway("export", run / "best", "--to", to, "-o", tmp_path / "exported", "--sentences", 2)
    assert again.code == 0, again.err


def test_a_wrong_model_is_not_handed_out(tmp_path: Path, run: Path, headway, monkeypatch: pytest.MonkeyPatch):
    table = form.position_table
    monkeypatch.setattr(form, "position_table", lambda *given: np.flip(table(*given), axis=1))
    result = headway("export", run / "best", "--to", "ctranslate2", "-o", tmp_path / "exported", "--sentences", 4)
    assert result.code == 1 and "is not the model" in result.err
    assert list(tmp_path.iterdir()) == []


def test_sentences_of_ones_own(tmp_path: Path, run: Path, headway):
    for name in ("s", "r"):
        (tmp_path / name).write_text("copy oak\n\nreverse elm\n")
    given = ["--source", tmp_path / "s", "--references", tmp_path / "r"]
    result = headway("export", run / "best", "--to", "ctranslate2", "-o", tmp_path / "exported", *given)
    assert result.code == 0, result.err
    assert json.loads((tmp_path / "exported" / "parity.json").read_text())["sentences"] == 2
    (tmp_path / "r").write_text("copy oak\n")
    result = headway("export", run / "best", "--to", "ctranslate2", "-o", tmp_path / "exported", *given)
    assert result.code == 3 and "3 lines" in result.err
    result = headway("export", run / "best", "--to", "ctranslate2", "-o", tmp_path / "exported", *given[:2])
    assert result.code == 2 and "--references" in result.err


def test_what_stands_there_is_not_overwritten(tmp_path: Path, run: Path, headway):
    (tmp_path / "diary.txt").write_text("dear diary")
    result = headway("export", run / "best", "--to", "ctranslate2", "-o", tmp_path)
    assert result.code == 2 and [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


def test_a_model_far_from_its_run_needs_sentences(tmp_path: Path, run: Path, headway):
    moved = shutil.copytree(run / "best", tmp_path / "moved")
    result = headway("export", moved, "--to", "ctranslate2", "-o", tmp_path / "exported")
    assert result.code == 2 and "--source" in result.err


def test_numbers_that_are_none_are_not_equal(tmp_path: Path, run: Path, headway, monkeypatch: pytest.MonkeyPatch):
    logits = form.CTranslate2Model.logits
    monkeypatch.setattr(form.CTranslate2Model, "logits", lambda *given: logits(*given) * np.nan)
    result = headway("export", run / "best", "--to", "ctranslate2", "-o", tmp_path / "exported", "--sentences", 2)
    assert result.code == 1 and "is not the model" in result.err
