"""What transformers makes of an export, held against the model and the tokenizer that it was made from."""

import contextlib
import io
import json
import random
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from headway.architectures import (
    AnyArchitecture,
    Architecture,
    BertArchitecture,
    GptArchitecture,
    T5Architecture,
    VitArchitecture,
)
from headway.bundle import Bundle, Manifest, Pictures, read_bundle, write_bundle
from headway.config import DecodingSettings, TokenizerSettings
from headway.decoding.options import Options
from headway.engines.engine import Job
from headway.engines.torch import TorchEngine
from headway.errors import HeadwayError, RequestError
from headway.export.huggingface import (
    HuggingFaceModel,
    check_exportable,
    check_tokenizer,
    find_largest_difference,
    write_huggingface,
)
from headway.export.huggingface_tokenizer import Pieces, build_tokenizer
from headway.models.build import assemble, build
from headway.models.transformer import Transformer
from headway.models.weights import get_weights
from headway.text.class_names import ClassNames
from headway.text.normalize import normalize
from headway.text.subwords import MASK, SENTINELS
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizers

pytest.importorskip("transformers")

HARD = ["<s> </s> <b> <0x41> a<b", "a\u2581b \ufdd0 \ufdd01", "tab\ttab é 😀", "two  spaces ", "wait..... 1000000"] * 20


def make_lines(*, seed: int) -> list[str]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 8))) for _ in range(100)]
    return [" ".join(draw.choices(words, k=8)) for _ in range(200)]


TOKENIZERS = {
    "bpe": SentencePieceTokenizer.train(make_lines(seed=1) + HARD, kind="bpe", vocab_size=420),
    "unigram": SentencePieceTokenizer.train(make_lines(seed=1) + HARD, kind="unigram", vocab_size=420),
    "no <": SentencePieceTokenizer.train(make_lines(seed=2), kind="unigram", vocab_size=400),
}
OTHER = SentencePieceTokenizer.train(make_lines(seed=3), kind="bpe", vocab_size=300)


def make_architecture(*, source: int = 400, target: int = 400, **changes: Any) -> Architecture:
    settings: dict[str, Any] = {
        "source_vocab": source,
        "target_vocab": target,
        "n_layers": 2,
        "n_decoder_layers": 1,
        "d_model": 12,
        "d_ff": 20,
        "n_heads": 3,
        "d_k": 4,
        "d_v": 4,
        "dropout": 0.1,
        "norm": "post",
        "positions": "sinusoidal",
        "max_positions": 16,
        "activation": "relu",
        "tie": "all",
    }
    return Architecture(**settings | changes)


@dataclass(frozen=True)
class Export:
    model: Transformer
    bundle: Bundle
    directory: Path

    def translate(self, sources: list[list[int]], limits: list[int]) -> list[list[int]]:
        """Greedily, by the reference engine."""
        engine = TorchEngine(self.model, self.bundle.tokenizers.target)
        found: dict[int, list[int]] = {}
        for places, hypotheses in engine.translate(Job(sources, limits, Options(beam=1)), 1000):
            found |= {place: one.tokens for place, (one,) in zip(places, hypotheses, strict=True)}
        return [found[place] for place in range(len(sources))]


def make_export(directory: Path, tokenizers: Tokenizers, kind: str, **changes: Any) -> Export:
    """A model whose choices are clear, and that would choose pad or bos at nearly every step if it were let."""
    model = build(make_architecture(source=tokenizers.source.size, target=tokenizers.target.size, **changes)).eval()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.5)
        model.output.weight[0] *= 20
        model.output.weight[1] = -model.output.weight[0]
    manifest = Manifest(
        architecture=model.architecture,
        source_language="en",
        target_language="de",
        tokenizer=TokenizerSettings.model_validate({"kind": kind}),
        decoding=DecodingSettings(beam=3, length_penalty=0.4),
    )
    write_bundle(directory / "bundle", manifest, get_weights(model), tokenizers)
    bundle = read_bundle(directory / "bundle")
    (directory / "exported").mkdir()
    write_huggingface(bundle, directory / "exported")
    return Export(model, bundle, directory / "exported")


MODELS: dict[str, Callable[[Path], Export]] = {
    "post": lambda path: make_export(path, share("bpe"), "bpe", activation="gelu"),
    "pre": lambda path: make_export(path, share("unigram"), "unigram", norm="pre", activation="gelu"),
    "odd width": lambda path: make_export(path, share("unigram"), "unigram", norm="pre", d_model=9, d_k=3, d_v=3),
    "two vocabularies": lambda path: make_export(path, part(), "unigram", tie="target"),
    "three embeddings": lambda path: make_export(path, share("bpe"), "bpe", tie="none"),
}


def share(name: str) -> Tokenizers:
    return Tokenizers(TOKENIZERS[name], TOKENIZERS[name])


def part() -> Tokenizers:
    return Tokenizers(TOKENIZERS["unigram"], TOKENIZERS["no <"])


@pytest.fixture(scope="module", params=MODELS)
def export(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Export:
    return MODELS[request.param](tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Export:
    return MODELS["post"](tmp_path_factory.mktemp("plain"))


SOURCE, TARGET = [5, 9, 300, 33, 5], [7, 8, 310]


def assert_same_logits(export: Export, directory: Path) -> None:
    with torch.inference_mode():
        ours = export.model(torch.tensor([[*SOURCE, 2]]), torch.tensor([[1, *TARGET]]))[0].numpy()
    theirs = HuggingFaceModel(directory).logits(SOURCE, TARGET)
    assert theirs.shape == (len(TARGET) + 1, export.model.architecture.target_vocab)
    np.testing.assert_allclose(theirs, ours, atol=1e-4, rtol=1e-5)


def test_the_logits_are_the_models(export: Export) -> None:
    assert_same_logits(export, export.directory)


def test_transformers_can_save_it_again(export: Export, tmp_path: Path) -> None:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model, found = AutoModelForSeq2SeqLM.from_pretrained(export.directory, output_loading_info=True)
    assert not any(found.values()), found
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(export.directory).save_pretrained(tmp_path)
    assert_same_logits(export, tmp_path)
    sources, limits = [SOURCE], [10]
    assert HuggingFaceModel(tmp_path).translate(sources, limits) == export.translate(sources, limits)
    again, source = AutoTokenizer.from_pretrained(tmp_path), export.bundle.tokenizers.source
    assert again("a </s> b").input_ids == [*source.encode(["a </s> b"])[0], source.eos]


def test_greedy_translations_are_the_engines_and_hold_no_marks(export: Export) -> None:
    draw = random.Random(5)
    sources = [[draw.randrange(4, 400) for _ in range(draw.randint(1, 9))] for _ in range(20)]
    limits = [draw.randint(1, 12) for _ in sources]
    found = HuggingFaceModel(export.directory).translate(sources, limits)
    assert found == export.translate(sources, limits)
    assert min(min(one, default=4) for one in found) > 3
    assert len({tuple(one) for one in found}) > 5


def test_loading_asks_nobody(export: Export, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers import AutoTokenizer

    asked: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: asked.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_, **__: asked.append(host) or [])
    HuggingFaceModel(export.directory)
    AutoTokenizer.from_pretrained(export.directory)
    assert asked == []
    assert capfd.readouterr().err == ""


def test_a_source_beyond_the_table_fails_as_the_card_says(export: Export) -> None:
    model = HuggingFaceModel(export.directory)
    model.logits([5] * 1023, [])
    with pytest.raises(IndexError):
        model.logits([5] * 1024, [])


def test_nothing_to_translate(plain: Export) -> None:
    assert HuggingFaceModel(plain.directory).translate([], []) == []


def test_the_card_tells_how(export: Export) -> None:
    card = (export.directory / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
    assert len(program.splitlines()) == 4
    program = program.replace("DIRECTORY", export.directory.as_posix()).replace(
        "padding=True)", "padding=True), max_new_tokens=5"
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    from transformers import AutoModelForSeq2SeqLM

    ids = AutoModelForSeq2SeqLM.from_pretrained(export.directory).generate(
        torch.tensor([[*export.bundle.tokenizers.source.encode(["A dog runs."])[0], 2]]), max_new_tokens=5
    )
    assert printed.getvalue() == f"{export.bundle.tokenizers.target.decode(ids.tolist())}\n"


def test_the_search_is_the_bundles(plain: Export) -> None:
    written = json.loads((plain.directory / "generation_config.json").read_text(encoding="utf-8"))
    wanted = {"num_beams": 3, "length_penalty": 0.4, "decoder_start_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    assert wanted.items() <= written.items()


def read_pieces(tokenizer: SentencePieceTokenizer) -> Pieces:
    with tempfile.TemporaryDirectory() as directory:
        tokenizer.save(Path(directory) / "model")
        return Pieces.read(Path(directory) / "model")


PIECES = {kind: read_pieces(tokenizer) for kind, tokenizer in TOKENIZERS.items()}


@pytest.fixture(scope="module")
def theirs() -> dict[str, Any]:
    built = {kind: build_tokenizer(pieces, "bpe" if kind == "bpe" else "unigram") for kind, pieces in PIECES.items()}
    for tokenizer in built.values():
        tokenizer.encode_special_tokens = True
    return built


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=200, deadline=None)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"])) | st.text("<s>/0x41ab .\u2581\ufdd0\ufdd1\n\0é\u0301", max_size=30)
)
@example("  leading, trailing  ")
@example("")
@example(" ")
@example("\r\n\t\0\x01\x7f\x85\u2028\ufeff")
@example("\u2581")
@example("\ufdd0\u25810\ufdd01\ufdd02\ufdd1<")
@example("<s> </s> <pad> <unk> <0x41> <0xE2> <b>")
@example("👩‍👩‍👧 \U0001f9ff \U0010ffff 東京 ไทย עברית")
@example("e\u0301 \u0301 \u1100\u1161\u11a8 \u212b")
def test_ids_and_text_are_ours(kind: str, theirs: dict[str, Any], text: str) -> None:
    from tokenizers.normalizers import NFC

    assume(NFC().normalize_str(text) == normalize(text))  # its tables of Unicode are older than Python's
    ours = TOKENIZERS[kind]
    (wanted,) = ours.encode([text])
    ids = theirs[kind].encode(text).ids
    assert ids.pop() == ours.eos
    if kind != "bpe" and ids != wanted:  # of two cuts with the same score, rounding decides
        scores = PIECES[kind].scores
        assert sum(scores[i] for i in ids) == pytest.approx(sum(scores[i] for i in wanted), abs=1e-3)
    else:
        assert ids == wanted
    assert theirs[kind].decode([ours.bos, *ids, ours.eos, ours.pad]) == ours.decode([ids])[0] == normalize(text)


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(data=st.data())
@settings(deadline=None)
def test_whatever_the_model_writes_is_decoded_alike(kind: str, theirs: dict[str, Any], data: st.DataObject) -> None:
    ours = TOKENIZERS[kind]
    ids = data.draw(st.lists(st.integers(0, 3) | st.integers(4 + 256, ours.size - 1), max_size=8))
    assert theirs[kind].decode(ids) == ours.decode([ids])[0]


def test_real_sentences_are_cut_alike(theirs: dict[str, Any]) -> None:
    lines = make_lines(seed=1) + make_lines(seed=4)
    for kind, tokenizer in TOKENIZERS.items():
        assert [one.ids[:-1] for one in theirs[kind].encode_batch(lines)] == tokenizer.encode(lines)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_tags_are_cut_alike(kind: Literal["bpe", "unigram"]) -> None:
    ours = SentencePieceTokenizer.train(make_lines(seed=1), kind=kind, vocab_size=330, tags=["<2de>", "<news>"])
    built = build_tokenizer(read_pieces(ours), kind)
    more = ["<2de>  a dog", "<2de> <news>   a dog", "<2de> \ta dog", "<2de>a dog", "<2de>"]  # one space is the tag's own
    for text in ["<2de> a dog", "<2de> <news> a dog runs", "a dog", *more]:
        ids = built.encode(text).ids[:-1]
        assert ids == ours.encode([text])[0]
        assert built.decode(ids) == ours.decode([ids])[0]


def test_checking_a_tokenizer(export: Export, tmp_path: Path) -> None:
    texts = ["a dog", "</s> <0x41>", "\ud800", " \u2581"]
    assert check_tokenizer(export.bundle, export.directory, texts) == ["\ud800"]
    wrong = tmp_path / "wrong"
    shutil.copytree(export.directory, wrong)
    place = wrong if export.bundle.tokenizers.shared else wrong / "target_tokenizer"
    build_tokenizer(read_pieces(OTHER), "bpe").save(str(place / "tokenizer.json"))
    assert check_tokenizer(export.bundle, wrong, ["a dog", ""]) == ["a dog"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"positions": "learned"}, ["learned", "--to ctranslate2"]),
        ({"positions": "none"}, ["none", "--to onnx"]),
        ({"d_k": 2, "d_v": 2}, ["d_k 2 and d_v 2", "12 / 3", "--to ctranslate2"]),
        ({"d_v": 8}, ["d_v 8", "--to onnx"]),
        ({"scale_attention": False}, ["sqrt(d_k)", "--to onnx can"]),
        ({"norm": "pre", "tie": "target"}, ["pre-norm", "tie is target"]),
        ({"norm": "pre", "tie": "none"}, ["pre-norm", "tie is none"]),
        ({"norm": "pre", "tie": "none", "positions": "none"}, ["tie is none", "positions are none"]),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(RequestError) as refusal:
        check_exportable(make_architecture(**changes))
    assert [word for word in words if word not in str(refusal.value)] == []


def test_a_refusal_leaves_nothing_behind(plain: Export, tmp_path: Path) -> None:
    architecture = plain.bundle.manifest.architecture.model_copy(update={"positions": "learned"})
    manifest = plain.bundle.manifest.model_copy(update={"architecture": architecture})
    with pytest.raises(RequestError):
        write_huggingface(Bundle(plain.bundle.directory, manifest, plain.bundle.tokenizers), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_transformers_is_not_needed_to_write(plain: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    write_huggingface(plain.bundle, tmp_path)
    for path in plain.directory.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(HeadwayError, match="pip install transformers"):
        HuggingFaceModel(plain.directory)


def test_a_missing_package_is_named(plain: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(HeadwayError, match=r"headway\[huggingface\]"):
        write_huggingface(plain.bundle, tmp_path)


TEXTS = SentencePieceTokenizer.train(make_lines(seed=1), kind="unigram", vocab_size=440, marks=[MASK, *SENTINELS[:9]])
CHARACTERS = SentencePieceTokenizer.train(make_lines(seed=1), kind="char", vocab_size=400, begins_with_space=False)
SHAPE: dict[str, Any] = {"n_layers": 2, "d_model": 12, "d_ff": 20, "n_heads": 3, "dropout": 0.1, "activation": "gelu"}
T5_SHAPE = SHAPE | {"vocab": TEXTS.size, "n_decoder_layers": 1, "d_k": 5, "buckets": 8, "max_distance": 20}
NAMES = ClassNames(["good", "bad", "so so"])
RELATIVES: dict[str, tuple[AnyArchitecture, Tokenizers]] = {
    "t5": (T5Architecture(**T5_SHAPE, gated=False, tie=True), Tokenizers(TEXTS, TEXTS)),
    "t5 1.1": (T5Architecture(**T5_SHAPE | {"activation": "gelu-tanh"}, gated=True, tie=False), Tokenizers(TEXTS, TEXTS)),
    "bert": (BertArchitecture(**SHAPE, vocab=TEXTS.size, max_positions=20), Tokenizers(TEXTS, TEXTS)),
    "classes": (BertArchitecture(**SHAPE, vocab=TEXTS.size, max_positions=20, classes=3), Tokenizers(TEXTS, NAMES)),
    "gpt": (GptArchitecture(**SHAPE, vocab=CHARACTERS.size, max_positions=20), Tokenizers(CHARACTERS, CHARACTERS)),
    "vit": (VitArchitecture(**SHAPE, image_size=9, patch_size=4, channels=2, classes=3), Tokenizers(NAMES, NAMES)),
}


@pytest.fixture(scope="module", params=RELATIVES)
def relative(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, Path]:
    """A bundle of our own that is no translator of the paper's kind, and its export."""
    place = tmp_path_factory.mktemp("relative")
    architecture, tokenizers = RELATIVES[request.param]
    model = assemble(architecture, pad=0).eval()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.4)
    pictures = Pictures(mean=[0.1, 0.2], deviation=[0.3, 0.4]) if architecture.kind == "vit" else None
    kind = TokenizerSettings.model_construct(kind="char" if tokenizers.source is CHARACTERS else "unigram")
    manifest = Manifest(architecture=architecture, tokenizer=kind, pictures=pictures)
    write_bundle(place / "bundle", manifest, get_weights(model), tokenizers)
    bundle = read_bundle(place / "bundle")
    (place / "exported").mkdir()
    write_huggingface(bundle, place / "exported")
    return bundle, place / "exported"


def test_relatives_have_the_same_logits(relative: tuple[Bundle, Path]) -> None:
    import transformers

    bundle, directory = relative
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    kind = getattr(transformers, config["architectures"][0])
    _, found = kind.from_pretrained(directory, output_loading_info=True)
    assert not any(found.values()), found
    if config["model_type"] != "t5":
        assert find_largest_difference(bundle, directory) < 1e-4
        return
    with torch.inference_mode():
        ours = bundle.build_model()(torch.tensor([[*SOURCE, 2]]), torch.tensor([[1, *TARGET]]))[0].numpy()
    model = HuggingFaceModel(directory)
    np.testing.assert_allclose(model.logits(SOURCE, TARGET), ours, atol=1e-4, rtol=1e-5)
    assert min(min(one, default=4) for one in model.translate([SOURCE, TARGET], [9, 9])) > 1


def test_relatives_read_the_same_ids(relative: tuple[Bundle, Path]) -> None:
    from transformers import AutoTokenizer

    bundle, directory = relative
    if bundle.manifest.architecture.kind == "vit":
        settings = json.loads((directory / "preprocessor_config.json").read_text(encoding="utf-8"))
        assert settings["image_mean"] == [0.1, 0.2] and settings["image_std"] == [0.3, 0.4]
        return
    texts = [*make_lines(seed=1)[:9], " two  spaces ", "é 😀"]
    assert check_tokenizer(bundle, directory, texts) == []
    tokenizer, ours = AutoTokenizer.from_pretrained(directory), bundle.tokenizers.source
    for text in texts:
        assert tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True) == ours.decode(ours.encode([text]))[0]
    if ours.mask is not None:
        assert tokenizer.mask_token_id == ours.mask and ours.mask in tokenizer("a <mask> b").input_ids


def test_classes_keep_their_names(relative: tuple[Bundle, Path]) -> None:
    bundle, directory = relative
    if bundle.tokenizers.target.SUFFIX == NAMES.SUFFIX:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        assert list(config["id2label"].values()) == NAMES.names


def test_a_gate_that_t5_has_not() -> None:
    with pytest.raises(RequestError, match="gelu-tanh"):
        check_exportable(T5Architecture(**T5_SHAPE, gated=True, tie=True))
