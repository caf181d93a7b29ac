"""Models that are whole, and models that are not, through every verb that reads one."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import headway as api


@pytest.fixture
def model(tmp_path: Path, run: Path) -> Path:
    return shutil.copytree(run / "best", tmp_path / "model")


def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("copy oak\n")
    return path


def change_json(path: Path, **changes) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda m: (m / "weights.safetensors").unlink(), "weights.safetensors is missing"),
        (lambda m: (m / "tokenizer" / "shared.model").unlink(), "tokenizer/shared.model is missing"),
        (lambda m: (m / "weights.safetensors").write_bytes((m / "weights.safetensors").read_bytes()[:-9]), "truncated"),
        (lambda m: (m / "tokenizer" / "shared.model").write_bytes(b"junk"), "tokenizer/shared.model is not as it was written"),
        (lambda m: (m / "headway.json").unlink(), "has no headway.json"),
        (lambda m: (m / "headway.json").write_text("{"), "cannot be read"),
        (lambda m: (m / "headway.json").write_text('{"format": 1}'), "not as Headway writes it"),
        (lambda m: change_json(m / "headway.json", format=99, version="9.0"), "format 99"),
        (lambda m: shutil.rmtree(m), "There is no model"),
    ],
)
def test_a_damaged_model_is_refused_with_the_reason(tmp_path: Path, model: Path, headway, damage, told):
    damage(model)
    result = headway("translate", model, text(tmp_path))
    assert result.code == 1
    assert told in result.err
    assert "Traceback" not in result.err


def test_all_damage_is_named_at_once(tmp_path: Path, model: Path, headway):
    (model / "weights.safetensors").unlink()
    (model / "README.md").unlink()
    result = headway("translate", model, text(tmp_path))
    assert "weights.safetensors" in result.err and "README.md" in result.err


def test_a_run_in_place_of_a_model_gets_a_hint(tmp_path: Path, run: Path, headway):
    result = headway("translate", run, text(tmp_path))
    assert result.code == 1 and str(run / "best") in result.err


def test_the_card_tells_a_person_what_it_is(model: Path):
    card = (model / "README.md").read_text()
    assert card.startswith("# en → de") and "test_bleu" in card and "train.en" in card


def test_a_moved_model_translates_as_before(tmp_path: Path, run: Path, model: Path):
    moved = shutil.move(model, tmp_path / "elsewhere")
    texts = ["copy oak elm", "reverse fir"]
    assert api.load(moved).translate(texts) == api.load(run / "best").translate(texts)


def test_encode_pools_or_keeps_the_tokens(tmp_path: Path, model: Path, headway):
    lines = tmp_path / "lines"
    lines.write_text("copy oak elm ash\n\ncopy oak\n")
    assert headway("encode", model, lines, "-o", tmp_path / "v.npy").code == 0
    pooled = np.load(tmp_path / "v.npy")
    assert pooled.shape == (3, 32)
    assert headway("encode", model, lines, "-o", tmp_path / "t.npy", "--tokens").code == 0
    tokens, lengths = np.load(tmp_path / "t.npy"), np.load(tmp_path / "t.lengths.npy")
    assert tokens.shape == (lengths.sum(), 32) and lengths[1] == 1
    parts = np.split(tokens, np.cumsum(lengths)[:-1])
    np.testing.assert_allclose(np.stack([part.mean(axis=0) for part in parts]), pooled, atol=1e-5)


def test_encoding_nothing_is_said(tmp_path: Path, model: Path, headway):
    (tmp_path / "empty").write_text("")
    result = headway("encode", model, tmp_path / "empty", "-o", tmp_path / "v.npy")
    assert result.code == 3 and "no lines" in result.err


def test_average_of_a_run_and_of_models(tmp_path: Path, run: Path, model: Path, headway):
    from safetensors.numpy import load_file

    def weight(path: Path) -> np.ndarray:
        return load_file(path / "weights.safetensors")["source_embedding.weight"]

    assert headway("average", run, "--last", 2, "-o", tmp_path / "two").code == 0
    checkpoints = sorted((run / "checkpoints").iterdir())[-2:]
    np.testing.assert_allclose(weight(tmp_path / "two"), sum(map(weight, checkpoints)) / 2, rtol=1e-6)
    assert headway("average", model, run / "last", "-o", tmp_path / "both").code == 0
    np.testing.assert_allclose(weight(tmp_path / "both"), (weight(model) + weight(run / "last")) / 2, rtol=1e-6)
    assert api.load(tmp_path / "both").translate(["copy oak"])


def test_what_cannot_be_averaged(tmp_path: Path, corpus: Path, run: Path, model: Path, headway):
    assert headway("average", model, "-o", tmp_path / "x").code == 2
    from conftest import train_command

    headway(*train_command(corpus, tmp_path / "other", "--max-steps", 2, "--vocab-size", 310, "--seed", 3))
    result = headway("average", run / "best", tmp_path / "other" / "best", "-o", tmp_path / "x")
    assert result.code == 2 and "architecture and vocabulary" in result.err
    assert not (tmp_path / "x").exists()


def test_an_average_takes_nobodys_place(tmp_path: Path, run: Path, headway):
    copy = shutil.copytree(run, tmp_path / "run")
    result = headway("average", copy, "--last", 2, "-o", copy)
    assert result.code == 2 and "is there already and is no model" in result.err
    assert (copy / "checkpoints").is_dir()
    (tmp_path / "file").write_text("precious")
    assert headway("average", copy, "--last", 2, "-o", tmp_path / "file").code == 2
    assert (tmp_path / "file").read_text() == "precious"
