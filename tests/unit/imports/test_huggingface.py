"""Directories as Hugging Face saves them become bundles, or a word that says why not, and nothing on the disk."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from published import write_bert, write_gpt, write_json, write_marian, write_t5, write_vit
from safetensors.torch import load_file, save_file

from headway.bundle import read_bundle
from headway.config import DecodingSettings
from headway.errors import BundleError, HeadwayError, RequestError
from headway.imports.huggingface import import_huggingface

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("originals")
    write_marian(place / "marian")
    write_t5(place / "t5")
    write_bert(place / "bert", classes=3)
    write_gpt(place / "gpt")
    write_vit(place / "vit")
    return place


@pytest.fixture
def copy(originals: Path, tmp_path: Path) -> Callable[[str], Path]:
    return lambda name: shutil.copytree(originals / name, tmp_path / "theirs")


def refuse(directory: Path, *words: str, kind: type[HeadwayError] = BundleError) -> None:
    with pytest.raises(kind) as refusal:
        import_huggingface(directory, directory.parent / "ours")
    assert [word for word in words if word not in str(refusal.value)] == []
    assert not (directory.parent / "ours").exists()


def change(path: Path, **changes: object) -> None:
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | changes)


def test_a_translator(originals: Path, tmp_path: Path) -> None:
    assert import_huggingface(originals / "marian", tmp_path / "ours") == []
    bundle = read_bundle(tmp_path / "ours")
    manifest = bundle.manifest
    assert (manifest.task, manifest.source_language, manifest.target_language) == ("translate", "eng", "deu")
    assert manifest.decoding == DecodingSettings(beam=4, length_penalty=0.8, penalty="power", patience=1.0)
    assert bundle.tokenizers.target.bos == bundle.tokenizers.target.pad == 60
    assert list(manifest.provenance.data) == ["model.safetensors"]


@pytest.mark.parametrize(("name", "task"), [("t5", "translate"), ("bert", "classify"), ("gpt", "lm"), ("vit", "classify")])
def test_relatives(name: str, task: str, originals: Path, tmp_path: Path) -> None:
    import_huggingface(originals / name, tmp_path / "ours")
    bundle = read_bundle(tmp_path / "ours")
    assert bundle.manifest.task == task
    bundle.build_model()
    if task == "classify":
        assert bundle.tokenizers.target.decode([[0], [1]]) == ["LABEL_0", "LABEL_1"]


def test_languages_given_win_and_must_be_known(copy: Callable[[str], Path]) -> None:
    theirs = copy("marian")
    import_huggingface(theirs, theirs.parent / "named", source_language="en", target_language="de")
    assert read_bundle(theirs.parent / "named").manifest.source_language == "en"
    (theirs / "tokenizer_config.json").unlink()
    refuse(theirs, "--from", kind=RequestError)
    named = theirs.rename(theirs.with_name("opus-mt-fi-sv"))
    import_huggingface(named, theirs.parent / "by name")
    manifest = read_bundle(theirs.parent / "by name").manifest
    assert (manifest.source_language, manifest.target_language) == ("fi", "sv")


def test_weights_in_parts(copy: Callable[[str], Path]) -> None:
    theirs = copy("gpt")
    import_huggingface(theirs, theirs.parent / "whole")
    weights = load_file(theirs / "model.safetensors")
    names = sorted(weights)
    (theirs / "model.safetensors").unlink()
    parts = {"model-00001-of-00002.safetensors": names[:9], "model-00002-of-00002.safetensors": names[9:]}
    for part, some in parts.items():
        save_file({name: weights[name] for name in some}, theirs / part)
    write_json(theirs / "model.safetensors.index.json", {"weight_map": {n: part for part, some in parts.items() for n in some}})
    import_huggingface(theirs, theirs.parent / "ours")
    whole, ours = (read_bundle(theirs.parent / name).weights() for name in ("whole", "ours"))
    assert all(torch.equal(ours[name], tensor) for name, tensor in whole.items())
    shutil.rmtree(theirs.parent / "ours")
    (theirs / "model-00002-of-00002.safetensors").unlink()
    refuse(theirs, "lacks model-00002-of-00002.safetensors")


def test_pickles_are_refused(copy: Callable[[str], Path]) -> None:
    theirs = copy("bert")
    (theirs / "model.safetensors").unlink()
    refuse(theirs, "no model.safetensors")
    (theirs / "pytorch_model.bin").write_bytes(b"\x80\x04anything")
    refuse(theirs, "pytorch_model.bin", "save_pretrained", "safe_serialization=True")


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("config.json", None, ["no", "config.json", "model.safetensors"]),
        ("config.json", b"{", ["config.json cannot be read"]),
        ("config.json", b"[]", ["holds no settings"]),
        ("config.json", b'{"architectures": ["LlamaForCausalLM"]}', ["LlamaForCausalLM", "MarianMTModel", "GPT2LMHeadModel"]),
        ("model.safetensors", b"\x00" * 40, ["model.safetensors is damaged"]),
        ("vocab.json", None, ["vocab.json"]),
        ("source.spm", None, ["source.spm"]),
        ("generation_config.json", b'{"num_beams": "many"}', ["generation_config.json", "beam"]),
    ],
)
def test_damage(copy: Callable[[str], Path], file: str, content: bytes | None, words: list[str]) -> None:
    theirs = copy("marian")
    (theirs / file).unlink()
    if content is not None:
        (theirs / file).write_bytes(content)
    refuse(theirs, *words)


def test_a_truncated_file(copy: Callable[[str], Path]) -> None:
    theirs = copy("marian")
    whole = (theirs / "model.safetensors").read_bytes()
    (theirs / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    refuse(theirs, "model.safetensors is damaged")


def test_weights_of_another_model(copy: Callable[[str], Path], originals: Path) -> None:
    theirs = copy("marian")
    change(theirs / "config.json", encoder_layers=3, encoder_ffn_dim=24, decoder_ffn_dim=24)
    refuse(theirs, "model.encoder.layers.2.fc1.weight [24, 12] is missing", "fc2.bias", "is [20, 12], by the configuration")


def test_pictures(copy: Callable[[str], Path]) -> None:
    theirs = copy("vit")
    settings = theirs / "preprocessor_config.json"
    change(settings, image_mean=[0.5], image_std=[0.5])
    refuse(theirs, "3 channels", "[0.5]")
    change(settings, image_mean=["half"] * 3, image_std=[0.5] * 3)
    refuse(theirs, "half")
    change(settings, image_mean=[0.5] * 3, rescale_factor=1.0)
    refuse(theirs, "rescale_factor 1.0")
    change(settings, rescale_factor=1 / 255, do_normalize=False)
    import_huggingface(theirs, theirs.parent / "plain")
    pictures = read_bundle(theirs.parent / "plain").manifest.pictures
    assert pictures and (pictures.mean, pictures.deviation) == ([0.0] * 3, [1.0] * 3)
    settings.unlink()
    (note,) = import_huggingface(theirs, theirs.parent / "ours")
    assert "preprocessor_config.json" in note and "0.5" in note


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": {"height": 12, "width": 12}, "resample": 2, "do_center_crop": False, "crop_size": 9}, []),
        ({"size": 12, "do_resize": True}, []),
        ({"resample": 3}, ["resample 3"]),
        ({"size": {"shortest_edge": 14}, "do_center_crop": True, "crop_size": 12}, ["shortest_edge", "do_center_crop to 12"]),
        ({"size": {"height": 24, "width": 12}}, ["size {'height': 24, 'width': 12}"]),
        ({"do_resize": False, "resample": 3}, ["do_resize false"]),
    ],
)
def test_pictures_that_are_made_otherwise(copy: Callable[[str], Path], changes: dict[str, object], words: list[str]) -> None:
    theirs = copy("vit")
    change(theirs / "preprocessor_config.json", **changes)
    notes = import_huggingface(theirs, theirs.parent / "ours")
    assert len(notes) == bool(words)
    assert [word for word in [*words, "12 by 12", "another class"] if notes and word not in notes[0]] == []


def test_what_stands_there_stays(copy: Callable[[str], Path]) -> None:
    theirs = copy("vit")
    (theirs.parent / "ours").mkdir()
    (theirs.parent / "ours" / "diary.txt").write_text("dear diary")
    with pytest.raises(RequestError, match="no model"):
        import_huggingface(theirs, theirs.parent / "ours")
    assert [path.name for path in (theirs.parent / "ours").iterdir()] == ["diary.txt"]
