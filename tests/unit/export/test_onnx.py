"""The exported graphs say what the model says, at any length, and need neither torch nor Headway."""

import json
import subprocess
import sys
import warnings
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

from headway.architectures import Architecture
from headway.bundle import Bundle, Manifest, read_bundle, write_bundle
from headway.decoding.options import Options
from headway.engines.engine import Job
from headway.engines.torch import TorchEngine
from headway.errors import BundleError, HeadwayError, RequestError
from headway.export.onnx import FACTS, OnnxModel, write_onnx
from headway.models.build import build
from headway.models.transformer import Transformer
from headway.models.weights import get_weights
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizers

TEXTS = ["the old dog sees a small cat", "Ein Hündchen läuft über die Straße", "été, déjà vu", "a b c d e f g"]
PLAIN = {
    "n_layers": 2,
    "n_decoder_layers": 2,
    "d_model": 16,
    "d_ff": 32,
    "n_heads": 2,
    "d_k": 8,
    "d_v": 8,
    "dropout": 0.3,
    "norm": "pre",
    "positions": "sinusoidal",
    "max_positions": 512,
    "activation": "relu",
    "tie": "all",
}
KINDS = {
    "plain": {},
    "odd": {"d_model": 15, "d_k": 3, "d_v": 5, "tie": "target", "norm": "post", "n_heads": 3},
    "learned": {"positions": "learned", "max_positions": 8, "activation": "gelu", "tie": "target", "n_decoder_layers": 1},
    "bag": {"positions": "none", "norm": "post", "tie": "none", "d_k": 4, "n_layers": 1, "n_decoder_layers": 3},
}


class Export:
    """A random model as it was, and as it was written."""

    def __init__(self, bundle: Bundle, model: Transformer, directory: Path) -> None:
        self.bundle, self.model, self.directory = bundle, model, directory
        self.onnx = OnnxModel(directory)
        self.engine = TorchEngine(model, bundle.tokenizers.target)

    def draw(self, length: int) -> list[int]:
        vocab = min(self.model.architecture.source_vocab, self.model.architecture.target_vocab)
        return np.random.default_rng(length).integers(4, vocab, length).tolist()

    @torch.no_grad()
    def expected(self, source: list[int], target: list[int]) -> np.ndarray:
        tokenizers = self.bundle.tokenizers
        read, known = [*source, tokenizers.source.eos], [tokenizers.target.bos, *target]
        return self.model(torch.tensor([read]), torch.tensor([known]))[0].numpy()

    def greedy(self, sources: list[list[int]], limits: list[int]) -> list[list[int]]:
        job = Job(sources, limits, Options(beam=1))
        found = {
            place: one.tokens
            for places, all_found in self.engine.translate(job, 4096)
            for place, (one,) in zip(places, all_found, strict=True)
        }
        return [found[place] for place in range(len(sources))]


@cache
def tokenizer(vocab_size: int) -> SentencePieceTokenizer:
    return SentencePieceTokenizer.train(TEXTS, kind="bpe", vocab_size=vocab_size)


def make_bundle(directory: Path, kind: str) -> tuple[Bundle, Transformer]:
    source = tokenizer(310)
    settings = {**PLAIN, **KINDS[kind]}
    target = source if settings["tie"] == "all" else tokenizer(300)
    architecture = Architecture(source_vocab=source.size, target_vocab=target.size, **settings)
    model = build(architecture, seed=3).eval()
    with torch.no_grad():
        for module in model.modules():
            for parameter in module.parameters(recurse=False):  # far from uniform, and no bias is zero
                parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel())) / 4)
        if settings["tie"] == "none":
            model.output.weight[target.eos] *= 3  # some of its sentences end before their limit
    manifest = Manifest(architecture=architecture, source_language="en", target_language="de")
    write_bundle(directory, manifest, get_weights(model), Tokenizers(source, target))
    return read_bundle(directory), model


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Export]:
    found = {}
    for kind in KINDS:
        place = tmp_path_factory.mktemp(kind)
        bundle, model = make_bundle(place / "bundle", kind)
        (place / "onnx").mkdir()
        write_onnx(bundle, place / "onnx")
        found[kind] = Export(bundle, model, place / "onnx")
    return found


@pytest.fixture(params=KINDS)
def export(exports: dict[str, Export], request: pytest.FixtureRequest) -> Export:
    return exports[request.param]


@pytest.mark.parametrize(("source", "target"), [(0, 0), (1, 1), (6, 9), (30, 2), (300, 1), (2, 300)])
def test_logits_are_the_models(export: Export, source: int, target: int):
    expected, found = (part(export.draw(source), export.draw(target)) for part in (export.expected, export.onnx.logits))
    assert found.shape == expected.shape == (target + 1, export.model.architecture.target_vocab)
    banned = export.engine.never
    assert found[:, banned].max() < -1e8
    assert np.delete(expected, banned, axis=1).std() > 0.5  # not all alike, or the next line would say little
    np.testing.assert_allclose(np.delete(found, banned, axis=1), np.delete(expected, banned, axis=1), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize(("source", "target"), [(700, 700), (2000, 1)])
def test_no_sentence_is_too_long(exports: dict[str, Export], source: int, target: int):
    export = exports["plain"]
    expected, found = (part(export.draw(source), export.draw(target)) for part in (export.expected, export.onnx.logits))
    np.testing.assert_allclose(found[:, 4:], expected[:, 4:], atol=1e-4, rtol=1e-5)


def test_greedy_translations_are_the_engines(export: Export):
    sources, limits = [export.draw(length) for length in (5, 0, 40, 1, 12)], [20, 3, 60, 9, 1]
    expected = export.greedy(sources, limits)
    assert export.onnx.translate(sources, limits) == expected
    assert [export.onnx.translate([source], [limit])[0] for source, limit in zip(sources, limits, strict=True)] == expected
    assert len({tuple(tokens) for tokens in expected}) > 2
    assert export.onnx.translate([], []) == []
    assert export.onnx.translate(sources[:2], [0, 3]) == [[], expected[1]]


def test_a_sentence_ends_where_the_model_ends_it(exports: dict[str, Export]):
    export = exports["bag"]
    sources = [export.draw(length) for length in range(40)]
    translations = export.onnx.translate(sources, [30] * 40)
    assert translations == export.greedy(sources, [30] * 40)
    assert 0 < sum(len(tokens) < 30 for tokens in translations) < 40


@pytest.mark.parametrize("kind", ["plain", "learned"])
def test_the_readme_is_a_program(exports: dict[str, Export], kind: str):
    export = exports[kind]
    card = (export.directory / "README.md").read_text(encoding="utf-8")
    program = card.split("```python\n")[1].split("```")[0]
    lonely = "import sys\nsys.modules['torch'] = sys.modules['headway'] = None\n" + program
    texts = ["the small dog", "", "Hu\u0308ndchen"]
    result = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", lonely],
        input="".join(f"{text}\n" for text in texts),
        cwd=export.directory,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    tokenizers = export.bundle.tokenizers
    sources = tokenizers.source.encode(texts)
    tokens = export.greedy(sources, [len(source) + export.bundle.manifest.decoding.max_extra for source in sources])
    first, _, last = tokenizers.target.decode(tokens)
    assert result.stdout.split("\n") == [first, "", last, ""]
    assert result.stderr == ""


def test_the_facts_are_the_graphs(export: Export):
    facts = json.loads((export.directory / FACTS).read_text(encoding="utf-8"))
    types = {"int64": "tensor(int64)", "float32": "tensor(float)", "bool": "tensor(bool)"}
    for part in (facts["encoder"], facts["decoder"]):
        session = onnxruntime.InferenceSession(export.directory / part["file"])
        for said, found in ((part["inputs"], session.get_inputs()), (part["outputs"], session.get_outputs())):
            assert [(port["name"], types[port["type"]], port["shape"]) for port in said] == [
                (port.name, port.type, port.shape) for port in found
            ]
    for side in ("source", "target"):
        assert SentencePieceTokenizer.load(export.directory / facts[side]["sentencepiece"]).size == facts[side]["vocabulary"]


def test_escapes_are_the_tokenizers(exports: dict[str, Export]):
    text = "a \u2581 b \ufdd0 c"
    export, escaped = exports["plain"], text
    for sign, written in json.loads((export.directory / FACTS).read_text(encoding="utf-8"))["text"]["escapes"]:
        escaped = escaped.replace(sign, written)
    source = export.bundle.tokenizers.source
    processor = source._processor  # SentencePiece itself, as another program calls it
    assert [processor.encode(escaped)] == source.encode([text])


def test_every_weight_is_written_once(export: Export):
    model = export.model
    parts = {
        "encoder.onnx": [
            model.source_embedding,
            model.positions,
            model.encoder,
            *(x.cross_attention for x in model.decoder.layers),
        ],
        "decoder.onnx": [model.target_embedding, model.output, model.positions, model.decoder],
    }
    for name, modules in parts.items():
        known = sum(parameter.numel() for parameter in nn.ModuleList(modules).parameters())
        graph = onnx.load(export.directory / name).graph
        written = sum(prod(tensor.dims) for tensor in graph.initializer)
        constants = [attribute.t for node in graph.node if node.op_type == "Constant" for attribute in node.attribute]
        assert max(prod(constant.dims) for constant in constants) <= model.architecture.d_model
        assert written <= known + model.architecture.target_vocab


def test_nothing_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    bundle, _ = make_bundle(tmp_path / "bundle", "plain")
    (tmp_path / "onnx").mkdir()
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        write_onnx(bundle, tmp_path / "onnx")
        OnnxModel(tmp_path / "onnx").translate([[5, 6]], [4])
    assert (said, capfd.readouterr()) == ([], ("", ""))
    assert sorted(path.name for path in (tmp_path / "onnx").iterdir()) == [
        "README.md",
        "decoder.onnx",
        "encoder.onnx",
        FACTS,
        "tokenizer",
    ]


@pytest.mark.parametrize(("part", "n_layers", "n_decoder_layers"), [("encoder", 5, 1), ("decoder", 1, 5)])
def test_two_gigabytes_are_refused_before_they_are_read(tmp_path: Path, part: str, n_layers: int, n_decoder_layers: int):
    shared = tokenizer(300)
    sizes = {**PLAIN, "d_model": 4096, "d_ff": 16384, "n_layers": n_layers, "n_decoder_layers": n_decoder_layers}
    architecture = Architecture(source_vocab=shared.size, target_vocab=shared.size, **sizes)
    manifest = Manifest(architecture=architecture, source_language="en", target_language="de")
    with pytest.raises(RequestError, match=rf"The {part} has weights of 2\.\d GiB"):
        write_onnx(Bundle(tmp_path / "nowhere", manifest, Tokenizers(shared, shared)), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(exports: dict[str, Export], package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(HeadwayError, match=rf"needs the package {package}\.") as caught:
        if package == "onnx":
            write_onnx(exports["plain"].bundle, tmp_path)
        else:
            OnnxModel(exports["plain"].directory)
    assert "headway[onnx]" in caught.value.remedy


def test_what_is_no_export_is_refused(exports: dict[str, Export], tmp_path: Path):
    with pytest.raises(BundleError, match="is no ONNX model"):
        OnnxModel(tmp_path)
    facts = json.loads((exports["plain"].directory / FACTS).read_text(encoding="utf-8"))
    (tmp_path / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(BundleError, match=r"encoder\.onnx is missing or damaged"):
        OnnxModel(tmp_path)
    (tmp_path / "encoder.onnx").write_bytes((exports["plain"].directory / "encoder.onnx").read_bytes()[:1000])
    with pytest.raises(BundleError, match=r"encoder\.onnx is missing or damaged"):
        OnnxModel(tmp_path)
    (tmp_path / FACTS).write_text(json.dumps({**facts, "format": 2}), encoding="utf-8")
    with pytest.raises(BundleError, match="has format 2"):
        OnnxModel(tmp_path)
    (tmp_path / FACTS).write_text("{", encoding="utf-8")
    with pytest.raises(BundleError, match="cannot be read"):
        OnnxModel(tmp_path)
