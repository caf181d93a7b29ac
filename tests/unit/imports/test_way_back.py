"""Our own models, exported for Hugging Face, come back as they were."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from published import write_json
from small_models import make_tokenizer, write_model, write_relative

from headway.architectures import T5Architecture
from headway.bundle import Bundle, Manifest, read_bundle, write_bundle
from headway.decoding.options import Options
from headway.engines.engine import Job
from headway.engines.torch import TorchEngine
from headway.errors import BundleError
from headway.export.huggingface import write_huggingface
from headway.imports.huggingface import import_huggingface
from headway.imports.tokenizers import write_tokenizer
from headway.models.build import build
from headway.models.weights import get_weights
from headway.text.subwords import MASK, SENTINELS
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizer, Tokenizers

pytest.importorskip("tokenizers")

TEXTS = ["copy oak elm", " two  spaces ", "", "Straße é 😀 ▁", "a </s> and <s> b"]


def write_t5(directory: Path) -> Path:
    lines = ["copy oak elm ash", "reverse fir yew"] * 20
    text = SentencePieceTokenizer.train(lines, kind="unigram", vocab_size=300, marks=[MASK, *SENTINELS[:3]])
    sizes: dict[str, Any] = {"n_layers": 1, "n_decoder_layers": 2, "d_model": 12, "d_ff": 20, "n_heads": 3, "d_k": 5}
    more: dict[str, Any] = {"dropout": 0.1, "activation": "relu", "gated": False, "tie": True, "buckets": 8, "max_distance": 20}
    architecture = T5Architecture(vocab=text.size, **sizes, **more)
    model = build(architecture, pad=text.pad, seed=2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)))
    manifest = Manifest.model_validate({"architecture": architecture, "tokenizer": {"kind": "unigram"}})
    write_bundle(directory, manifest, get_weights(model), Tokenizers(text, text))
    return directory


NATIVE: dict[str, Callable[[Path], Path]] = {
    "post-norm": lambda path: write_model(path, norm="post"),
    "pre-norm": lambda path: write_model(path, norm="pre", activation="gelu"),
    "two vocabularies": lambda path: write_model(path, norm="post", tie="target"),
    "three embeddings": lambda path: write_model(path, norm="post", tie="none"),
    "t5": write_t5,
    "bert": lambda path: write_relative(path, "bert"),
    "gpt": lambda path: write_relative(path, "gpt"),
}
TRANSLATORS = [name for name in NATIVE if name not in ("bert", "gpt")]


def export(bundle: Bundle, directory: Path) -> Path:
    """As `headway export` does."""
    directory.mkdir()
    config = write_huggingface(bundle, directory)
    if not isinstance(bundle.tokenizers.source, SentencePieceTokenizer):
        write_tokenizer(bundle.tokenizers, directory, config)
    return directory


@pytest.fixture(scope="module")
def come_back(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Bundle, Bundle]]:
    """A bundle of ours, and what it is after the way there and back; of a name, once."""
    made: dict[str, tuple[Bundle, Bundle]] = {}

    def get(name: str) -> tuple[Bundle, Bundle]:
        if name not in made:
            place = tmp_path_factory.mktemp("native")
            before = read_bundle(NATIVE[name](place / "bundle"))
            assert import_huggingface(export(before, place / "exported"), place / "back") == []
            made[name] = before, read_bundle(place / "back")
        return made[name]

    return get


@pytest.mark.parametrize("name", NATIVE)
def test_weights_and_ids(name: str, come_back: Callable[[str], tuple[Bundle, Bundle]], tmp_path: Path) -> None:
    before, after = come_back(name)
    assert_same(before, after)
    assert (after.manifest.source_language, after.manifest.target_language) == (
        (before.manifest.source_language, before.manifest.target_language)
    )
    import_huggingface(export(after, tmp_path / "exported"), tmp_path / "again", source_language="en", target_language="de")
    assert_same(before, read_bundle(tmp_path / "again"))


def assert_same(before: Bundle, after: Bundle) -> None:
    shape, found = before.manifest.architecture, after.manifest.architecture
    assert found == shape.model_copy(update={"max_positions": 1024} if shape.kind == "transformer" else {})
    weights = after.weights()
    assert weights.keys() == before.weights().keys()
    assert [name for name, tensor in before.weights().items() if not torch.equal(tensor, weights[name])] == []
    assert after.tokenizers.shared == before.tokenizers.shared
    for ours, theirs in zip(list_sides(before), list_sides(after), strict=True):
        texts = TEXTS if ours.mask is None else TEXTS[:-1]  # an export that has <mask> finds all marks where they are spelled
        assert theirs.encode(texts) == ours.encode(texts)
        assert theirs.decode(ours.encode(TEXTS)) == ours.decode(ours.encode(TEXTS))
        marks = [(t.pad, t.bos, t.eos, t.unk, t.mask, list(t.sentinels), t.size) for t in (ours, theirs)]
        assert marks[0] == marks[1]


def list_sides(bundle: Bundle) -> list[Tokenizer]:
    return [bundle.tokenizers.source, bundle.tokenizers.target]


@pytest.mark.parametrize("name", TRANSLATORS)
def test_translations(name: str, come_back: Callable[[str], tuple[Bundle, Bundle]]) -> None:
    before, after = (translate(bundle) for bundle in come_back(name))
    assert before == after
    assert all(before)


def translate(bundle: Bundle) -> list[list[int]]:
    sources = bundle.tokenizers.source.encode(["copy oak elm", "reverse fir", "oak", "yew ash copy", "a b"])
    engine = TorchEngine(bundle.build_model(), bundle.tokenizers.target)  # type: ignore[arg-type]
    found: dict[int, list[int]] = {}
    for places, hypotheses in engine.translate(Job(sources, [8] * len(sources), Options(beam=1)), 1000):
        found |= {place: one.tokens for place, (one,) in zip(places, hypotheses, strict=True)}
    return [found[place] for place in range(len(sources))]


@pytest.mark.parametrize(
    ("file", "changes", "problem"),
    [
        ("config.json", {"scale_embedding": False}, "scale_embedding is False"),
        ("config.json", {"normalize_before": False}, "normalize_before is False"),
        ("config.json", {"tie_word_embeddings": False}, "tie_word_embeddings is False"),
        ("config.json", {"decoder_start_token_id": 999}, "bos is token 999"),
        ("config.json", {"eos_token_id": [2, 3]}, r"eos is token \[2, 3\]"),
        ("tokenizer_config.json", {"tokenizer_class": "PegasusTokenizer"}, "PegasusTokenizer, which Headway does not know"),
    ],
)
def test_a_pegasus_that_is_not_ours(file: str, changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    exported = export(read_bundle(write_model(tmp_path / "bundle", norm="pre")), tmp_path / "exported")
    write_json(exported / file, json.loads((exported / file).read_text(encoding="utf-8")) | changes)
    with pytest.raises(BundleError, match=problem):
        import_huggingface(exported, tmp_path / "back", source_language="en", target_language="de")


def test_a_bias_that_bans_more_than_marks_stays(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    exported = export(read_bundle(write_model(tmp_path / "bundle", norm="post")), tmp_path / "exported")
    weights = load_file(exported / "model.safetensors")
    weights["final_logits_bias"][0, make_tokenizer(320).size - 1] = 0.5
    save_file(weights, exported / "model.safetensors", metadata={"format": "pt"})
    import_huggingface(exported, tmp_path / "back")
    assert float(read_bundle(tmp_path / "back").weights()["output.bias"][-1]) == 0.5
