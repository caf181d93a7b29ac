"""What follows an import: both engines translate alike, the model learns on, and it is handed on in another form."""

from collections.abc import Callable
from pathlib import Path

import marian_models
import pytest
from copy_reverse import make_pairs

from headway import load
from headway.bundle import read_bundle

published = pytest.importorskip("published")

GATED = {"own_output": True, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
KINDS: dict[str, Callable[[Path], object]] = {
    "marian": lambda place: published.write_marian(place, activation_function="swish"),
    "t5": lambda place: published.write_t5(place),
    "t5-1.1": lambda place: published.write_t5(place, **GATED),
    "release": lambda place: marian_models.write_release(place),
}
TEXTS = [source for source, _ in make_pairs(12, seed=5)]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def make(kind: str) -> Path:
        if kind not in made:
            place = tmp_path_factory.mktemp("imported")
            (place / "given").mkdir()
            KINDS[kind](place / "given")
            if kind == "release":
                from headway.imports.marian import import_marian

                import_marian(place / "given", place / "model", source_language="en", target_language="de")
            else:
                from headway.imports.huggingface import import_huggingface

                import_huggingface(place / "given", place / "model", source_language="en", target_language="de")
            made[kind] = place / "model"
        return made[kind]

    return make


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beam", [1, 4])
def test_both_engines_translate_alike(kind: str, beam: int, imported) -> None:
    """Random models hardly ever end, so that all hypotheses run into the limit; those are scored, and must be the same."""
    model = imported(kind)
    ours, theirs = (load(model, engine=engine, compute_type="float32") for engine in ("torch", "ctranslate2"))
    found = [translator.translate(TEXTS, beam=beam, max_extra=5, tokens=True) for translator in (ours, theirs)]
    for one, other in zip(*found, strict=True):
        assert one.text == other.text
        assert one.score == pytest.approx(other.score, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_on_and_is_handed_on(kind: str, imported, corpus: Path, tmp_path: Path, headway) -> None:
    model, out = imported(kind), tmp_path / "run"
    budget = ["--max-steps", 8, "--valid-every", 4, "--batch-tokens", 256, "--learning-rate", 0.0005, "--average", 1]
    result = headway("train", "--init", model, "--train", corpus, "--from", "en", "--to", "de", "--out", out, *budget)
    assert result.code == 0, result.err
    again = headway("train", "--init", model, "--train", corpus, "--from", "en", "--to", "de", "--out", out, *budget)
    assert again.code == 0 and "This run is complete" in again.err
    before, after = read_bundle(model), read_bundle(out / "last")
    assert before.tokenizer_sums() == after.tokenizer_sums()
    assert before.manifest.architecture == after.manifest.architecture
    assert any(not weight.equal(after.weights()[name]) for name, weight in before.weights().items())
    result = headway("export", out / "best", "--to", "ctranslate2", "-o", tmp_path / "exported", "--sentences", 10)
    assert result.code == 0, result.err
    assert "100.0% of translations equal" in result.err
