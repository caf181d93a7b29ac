"""`headway import`: a model that others trained, ready for the other verbs, and back to where it came from."""

import json
import sys
from pathlib import Path

import pytest
from published import write_bert, write_gpt, write_marian, write_t5, write_vit
from safetensors.torch import load_file

from headway.imports import download

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("published")
    for name, write in (
        ("marian", write_marian),
        ("t5", write_t5),
        ("bert", write_bert),
        ("gpt", write_gpt),
        ("vit", write_vit),
    ):
        write(place / name)
    return place


@pytest.mark.parametrize("name", ["marian", "t5"])
def test_a_translator_and_back(name: str, published: Path, tmp_path: Path, headway):
    result = headway("import", published / name, "-o", tmp_path / "model", "--from", "en", "--to", "de")
    assert result.code == 0, result.err
    assert f"headway translate {tmp_path / 'model'}" in result.err
    (tmp_path / "text").write_text("copy oak\n\nreverse elm ash\n")
    translated = headway("translate", tmp_path / "model", tmp_path / "text", "--engine", "torch", "--beam", "1")
    assert translated.code == 0, translated.err
    assert translated.out.count("\n") == 3
    given = ["--source", tmp_path / "text", "--references", tmp_path / "text"]
    result = headway("export", tmp_path / "model", "--to", "huggingface", "-o", tmp_path / "exported", *given)
    assert result.code == 0, result.err
    before, after = (load_file(place / "model.safetensors") for place in (published / name, tmp_path / "exported"))
    assert before.keys() == after.keys() and all(before[name].equal(after[name]) for name in before)
    assert json.loads((tmp_path / "exported" / "parity.json").read_text())["share_of_equal_translations"] == 1.0
    again = headway("import", tmp_path / "exported", "-o", tmp_path / "model", "--from", "en", "--to", "de")
    assert again.code == 0, again.err


@pytest.mark.parametrize(("name", "verb"), [("bert", "fill"), ("gpt", "generate"), ("vit", "classify")])
def test_relatives_and_back(name: str, verb: str, published: Path, tmp_path: Path, headway):
    result = headway("import", published / name, "-o", tmp_path / "model")
    assert result.code == 0, result.err
    assert f"headway {verb} {tmp_path / 'model'}" in result.err
    (tmp_path / "text").write_text("a dog\n\nab a b\n")
    result = headway(
        "export", tmp_path / "model", "--to", "huggingface", "-o", tmp_path / "exported", "--source", tmp_path / "text"
    )
    assert result.code == 0, result.err
    assert "Largest difference of logits" in result.err
    proof = json.loads((tmp_path / "exported" / "parity.json").read_text())
    assert proof["texts"] == 2 and proof["largest_logit_difference"] < 1e-4
    result = headway("export", tmp_path / "model", "--to", "ctranslate2", "-o", tmp_path / "other")
    assert result.code == 2 and "--to huggingface" in result.err


def test_a_wrong_relative_is_not_handed_out(published: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch):
    from headway.export import huggingface

    assert headway("import", published / "gpt", "-o", tmp_path / "model").code == 0
    convert = huggingface.to_huggingface
    monkeypatch.setattr(
        huggingface, "to_huggingface", lambda *given: {name: tensor + 0.1 for name, tensor in convert(*given).items()}
    )
    result = headway("export", tmp_path / "model", "--to", "huggingface", "-o", tmp_path / "exported")
    assert result.code == 1 and "is not the model" in result.err
    assert not (tmp_path / "exported").exists()


def test_without_transformers_nothing_is_compared(published: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    for name in ("marian", "t5", "bert"):
        assert headway("import", published / name, "-o", tmp_path / name).code == 0
        for _ in range(2):  # the second time in place of the first
            result = headway("export", tmp_path / name, "--to", "huggingface", "-o", tmp_path / f"{name}-exported")
            assert result.code == 0 and "Not compared" in result.err, result.err
        assert load_file(tmp_path / f"{name}-exported" / "model.safetensors")


def test_from_the_hub(published: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch):
    asked = []
    monkeypatch.setattr(download, "download", lambda name: asked.append(name) or published / "vit")
    result = headway("import", "hf:someone/vit", "-o", tmp_path / "model")
    assert result.code == 0 and asked == ["someone/vit"], result.err


def test_what_is_no_model(tmp_path: Path, headway):
    result = headway("import", tmp_path / "nowhere", "-o", tmp_path / "model")
    assert result.code == 2 and "no directory" in result.err and "hf:NAME" in result.err
    result = headway("import", tmp_path, "-o", tmp_path / "model")
    assert result.code == 1 and "config.json" in result.err
    assert not (tmp_path / "model").exists()


def test_a_release_of_marian_needs_its_languages(tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch):
    from headway.imports import marian

    monkeypatch.setattr(marian, "is_marian", lambda directory: True)
    result = headway("import", tmp_path, "-o", tmp_path / "model")
    assert result.code == 2 and "--from en --to de" in result.err
