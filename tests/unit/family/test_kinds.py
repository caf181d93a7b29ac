"""Each model is for one verb, and whoever asks for another is told which."""

from pathlib import Path

import pytest
from small_models import write_model, write_relative

from headway.bundle import read_bundle
from headway.errors import RequestError
from headway.family.classifier import Classifier
from headway.family.filler import Filler
from headway.family.generator import Generator
from headway.family.kinds import find_verb, require


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("models")
    return {
        "translate": write_model(home / "translator"),
        "generate": write_relative(home / "gpt", "gpt"),
        "fill": write_relative(home / "bert", "bert"),
        "classify": write_relative(home / "sorter", "bert", classes=["bad", "good"]),
        "classify pictures": write_relative(home / "vit", "vit"),
    }


def test_what_each_is_for(models: dict[str, Path]) -> None:
    for name, directory in models.items():
        bundle = read_bundle(directory)
        assert find_verb(bundle.manifest.architecture) == name.split()[0]
        require(bundle, find_verb(bundle.manifest.architecture))


@pytest.mark.parametrize(("door", "verb"), [(Generator, "generate"), (Filler, "fill"), (Classifier, "classify")])
def test_a_model_for_another_verb_is_refused_by_name(models: dict[str, Path], door: type, verb: str) -> None:
    for name, directory in models.items():
        if name.split()[0] == verb:
            door.load(directory)
            continue
        with pytest.raises(RequestError, match=f"no model to {verb} with") as caught:
            door.load(directory)
        assert f"headway {name.split()[0]} {directory}" in caught.value.remedy


def test_a_translator_is_asked_for(models: dict[str, Path]) -> None:
    with pytest.raises(RequestError, match=r"picture\.png"):
        require(read_bundle(models["classify pictures"]), "translate")
