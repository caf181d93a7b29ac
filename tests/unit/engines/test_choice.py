"""Who does what: CTranslate2 what it can, torch all."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_models import write_model

import headway
from headway.bundle import Manifest, Measured, read_bundle, write_bundle
from headway.engines.choice import Engines
from headway.errors import RequestError

ONLY_TORCH: dict[str, Callable[[headway.Translator], Any]] = {
    "force words": lambda translator: translator.translate(["copy oak"], required=[["elm"]]),
    "force the words of a glossary": lambda translator: translator.translate(["copy oak"], terms={"oak": "elm"}),
    "stream with a beam": lambda translator: "".join(translator.stream("copy oak", beam=2)),
    "encode": lambda translator: translator.encode(["copy oak"])[0].tolist(),
    "inspect": lambda translator: translator.inspect("copy oak").translation,
    "score long pairs": lambda translator: translator.score(["copy"], ["oak " * 700])[0].score,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("choice") / "model", ends=6.0)


def measured(model: Path, compute_type: str, to: Path) -> Path:
    bundle = read_bundle(model)
    found = Measured(
        compute_type=compute_type,
        sentences=9,
        beam=5,
        float32_tokens_per_second=1,
        int8_tokens_per_second=2,
        float32_bleu=3,
        int8_bleu=3,
        int8_loses=0,
        int8_loses_at_most=0.1,
    )
    manifest = Manifest.model_validate(bundle.manifest.model_dump() | {"ctranslate2": found})
    write_bundle(to, manifest, bundle.weights(), bundle.tokenizers)
    return to


@pytest.mark.parametrize("wish", ONLY_TORCH)
def test_what_ctranslate2_cannot_do_is_refused_and_torch_does_it(model: Path, wish: str) -> None:
    ask = ONLY_TORCH[wish]
    with pytest.raises(RequestError, match="CTranslate2 cannot ") as refused:
        ask(headway.load(model, engine="ctranslate2"))
    assert "--engine torch" in refused.value.remedy
    assert ask(headway.load(model)) == ask(headway.load(model, engine="torch"))


def test_several_models_are_for_torch(model: Path) -> None:
    with pytest.raises(RequestError, match="--engine torch"):
        headway.load([model, model], engine="ctranslate2")
    assert headway.load([model, model]).translate(["copy oak"])[0].text


def test_ctranslate2_draws_with_one_seed(model: Path) -> None:
    translator = headway.load(model, engine="ctranslate2")
    translator.translate(["copy oak"], seed=4)
    translator.translate(["copy oak"], seed=4, top_k=3)
    with pytest.raises(RequestError, match="--engine torch"):
        translator.translate(["copy oak"], seed=5)


def test_another_seed_is_drawn_by_torch_where_the_choice_is_free(model: Path) -> None:
    translator = headway.load(model)
    assert len({translator.translate(["copy oak elm"], seed=seed)[0].text for seed in range(5)}) > 1


def test_a_seed_draws_the_same_again(model: Path) -> None:
    texts = [f"copy oak {word}" for word in ("ash", "elm", "fir", "ivy", "yew", "pine") * 4]
    drawn = {
        tuple(one.text for one in headway.load(model).translate(texts, seed=3, batch_tokens=20, max_extra=5)) for _ in range(6)
    }
    assert len(drawn) == 1


def test_auto_takes_ctranslate2_for_the_rest(model: Path) -> None:
    assert Engines([read_bundle(model)]).choose().__class__.__name__ == "CTranslate2Engine"
    assert Engines([read_bundle(model)], "torch").choose().__class__.__name__ == "TorchEngine"


@pytest.mark.parametrize(("shape", "told"), [({"d_v": 4}, "d_k 8 and d_v 4"), ({"scale_attention": False}, "sqrt")])
def test_a_shape_that_ctranslate2_does_not_know_is_for_torch(tmp_path: Path, shape: dict[str, Any], told: str) -> None:
    path = write_model(tmp_path / "other", **shape)
    with pytest.raises(RequestError, match=told):
        headway.load(path, engine="ctranslate2").translate(["ash"])
    assert headway.load(path).translate(["ash"]) == headway.load(path, engine="torch").translate(["ash"])


def test_the_compute_type_is_the_one_asked_for_or_measured_or_exact(model: Path, tmp_path: Path) -> None:
    as_int8 = read_bundle(measured(model, "int8", tmp_path / "measured"))
    assert Engines([read_bundle(model)]).compute_type == "float32"
    assert Engines([as_int8]).compute_type == "int8"
    assert Engines([as_int8], compute_type="float32").compute_type == "float32"
    assert "int8" in Engines([as_int8]).ctranslate2.compute_type
    assert Engines([read_bundle(model)]).ctranslate2.compute_type == "float32"


def test_other_vocabularies_do_not_translate_together(model: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other", tie="target")
    with pytest.raises(RequestError, match="different vocabularies"):
        headway.load([model, other])


def test_a_model_that_is_converted_needs_no_torch(model: Path) -> None:
    headway.load(model, engine="ctranslate2").translate(["copy oak"])
    code = f"""
import sys, headway
assert headway.load({str(model)!r}).translate(["copy oak"], alignment=True, tokens=True)
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
