"""`headway train` with all that keeps a model from learning by heart: dropout by kind, a moving average, R-Drop."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import train_command
from safetensors.numpy import load_file

from headway.bundle import read_manifest
from headway.cli import main

DROPOUTS = ("--dropout", 0.1, "--attention-dropout", 0.1, "--activation-dropout", 0.1, "--word-dropout", 0.1)
NOISE = (*DROPOUTS, "--r-drop", 1, "--ema", 0.9)
BUDGET = ("--schedule", "inverse-sqrt", "--warmup", 4, "--valid-every", 4, "--metric", "loss", "--valid-sentences", 5)


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """A run of four updates."""
    out = tmp_path_factory.mktemp("regularised") / "half"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["headway", *map(str, train_command(corpus, out, *NOISE, *BUDGET, "--max-steps", 4))])
        with pytest.raises(SystemExit) as stop:
            main()
    assert not stop.value.code
    return out


def test_a_run_that_goes_on_ends_with_the_same_bits_and_its_average_is_what_is_kept(
    tmp_path: Path, corpus: Path, headway, half: Path
):
    whole, resumed = tmp_path / "whole", shutil.copytree(half, tmp_path / "resumed")
    for out in (whole, resumed):
        result = headway(*train_command(corpus, out, *NOISE, *BUDGET, "--max-steps", 8))
        assert result.code == 0, result.err
    found, wanted = (
        {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.safetensors")} for out in (resumed, whole)
    )
    assert found == wanted

    assert headway("average", whole, "--last", 2, "-o", tmp_path / "mean").code == 0
    before, after = (load_file(path / "average.safetensors") for path in sorted((whole / "checkpoints").iterdir()))
    mean, last, raw = (
        load_file(path / "weights.safetensors")
        for path in (tmp_path / "mean", whole / "last", whole / "checkpoints" / "step-00000008")
    )
    for name, tensor in after.items():
        np.testing.assert_array_equal(last[name], tensor)
        assert not np.array_equal(raw[name], tensor)
        np.testing.assert_allclose(mean[name], (before[name] + tensor) / 2, rtol=1e-5, atol=1e-7)


def test_two_readings_without_dropout_are_refused(tmp_path: Path, corpus: Path, headway):
    result = headway(*train_command(corpus, tmp_path / "run", "--r-drop", 1, "--dropout", 0))
    assert result.code == 2 and "nothing to compare" in result.err


def test_a_model_is_fine_tuned_with_another_dropout_and_else_its_own(tmp_path: Path, corpus: Path, headway, half: Path):
    data = ["--train", corpus, "--from", "en", "--to", "de", "--init", half / "best", "--out", tmp_path / "tuned"]
    result = headway("train", *data, "--attention-dropout", 0, "--max-steps", 1)
    assert result.code == 0, result.err
    shape = read_manifest(tmp_path / "tuned" / "best").architecture
    assert (shape.attention_dropout, shape.word_dropout) == (0.0, 0.1)


def test_a_run_from_before_there_were_these_settings_goes_on(tmp_path: Path, corpus: Path, run: Path, headway):
    out = shutil.copytree(run, tmp_path / "run")
    settings = yaml.safe_load((out / "config.yaml").read_text())
    for name in ("attention_dropout", "activation_dropout", "word_dropout"):
        assert settings["model"].pop(name) == 0
    for name in ("ema", "r_drop"):
        assert settings["training"].pop(name) == 0
    assert settings["training"].pop("optimizer") == "muon"
    (out / "config.yaml").write_text(yaml.safe_dump(settings))
    result = headway(*train_command(corpus, out))
    assert result.code == 0 and "This run is complete" in result.err, result.err
