"""The glass box shows what the model computed: its parts, put together again, are the whole."""

import importlib
import math
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_models import make_tokenizer, write_model

import headway
from headway.architectures import T5Architecture
from headway.bundle import Manifest, write_bundle
from headway.errors import RequestError
from headway.glass.limits import MOST_PIECES
from headway.glass.parts import Code, Glass
from headway.glass.predictions import spread
from headway.glass.translation import see_translation
from headway.models.build import build
from headway.models.weights import get_weights
from headway.text.tokenizer import Tokenizers

SENTENCE, TARGET = "copy oak elm", "elm oak"
SHAPES: dict[str, dict[str, Any]] = {
    "pre-norm": {},
    "post-norm, learned, two vocabularies": {"norm": "post", "positions": "learned", "tie": "target", "n_decoder_layers": 1},
    "no positions": {"positions": "none"},
    "unscaled": {"scale_attention": False},
}


def write_t5(directory: Path, gated: bool) -> Path:
    tokenizer = make_tokenizer(320)
    sizes = {"n_layers": 2, "n_decoder_layers": 1, "d_model": 16, "d_ff": 32, "n_heads": 2, "d_k": 4, "dropout": 0.1}
    kind = {"buckets": 8, "max_distance": 16, "activation": "gelu-tanh" if gated else "relu", "gated": gated, "tie": not gated}
    architecture = T5Architecture(vocab=tokenizer.size, **sizes, **kind)  # type: ignore[arg-type]
    write_bundle(
        directory, Manifest(architecture=architecture), get_weights(build(architecture)), Tokenizers(tokenizer, tokenizer)
    )
    return directory


def load(tmp_path: Path, shape: str) -> headway.Translator:
    if shape.startswith("t5"):
        return headway.load(write_t5(tmp_path / "model", gated="1.1" in shape), engine="torch")
    return headway.load(write_model(tmp_path / "model", ends=6.0, words=3.0, **SHAPES[shape]), engine="torch")


@pytest.mark.parametrize("shape", [*SHAPES, "t5", "t5 1.1"])
def test_what_is_shown_recomposes(tmp_path: Path, shape: str) -> None:
    translator = load(tmp_path, shape)
    model, tokenizers = translator.engines.torch.model, translator.tokenizers
    glass = see_translation(translator, SENTENCE, TARGET)
    source, target = tokenizers.source.encode([SENTENCE])[0], tokenizers.target.encode([TARGET])[0]

    for given, ids in zip(glass.inputs, ([*source, tokenizers.source.eos], [tokenizers.target.bos, *target]), strict=True):
        assert given.ids == ids and len(given.labels) == len(ids)
        assert given.total == pytest.approx(np.sum([term.values for term in given.terms], axis=0), abs=1e-6)
    for given, stack, own in zip(glass.inputs, glass.stacks, (model.encoder, model.decoder), strict=True):
        assert len(stack.layers) == len(own.layers)
        for layer in stack.layers:
            assert layer.attention.sum(axis=-1) == pytest.approx(np.ones(layer.attention.shape[:-1]), abs=1e-5)
            assert layer.units.active.tolist() == [(row > 0).sum() for row in layer.units.values]
        assert given.total.shape == stack.layers[0].output.shape

    last = torch.from_numpy(glass.stacks[1].layers[-1].output)
    p = spread(model.output.logits(model.head(model.decoder.norm(last))), translator.engines.torch.never).detach()
    for row, step in zip(p, glass.predictions.each, strict=True):
        best = row.topk(10)
        assert [share for _, share in step.likeliest] == pytest.approx(best.values.tolist(), abs=1e-5)
        assert step.entropy == pytest.approx(float(torch.special.entr(row).sum()) / math.log(2), abs=1e-3)
        assert step.lens[-1][1] == pytest.approx(step.likeliest[0][1], abs=1e-5)
    (scored,) = translator.score([SENTENCE], [TARGET])
    assert scored.tokens is not None
    assert [step.log_probability for step in glass.predictions.each] == pytest.approx([s for _, s in scored.tokens], abs=1e-4)

    assert glass.alignment is not None and glass.beam is None and "given" in glass.without_beam
    (aligned,) = translator.engines.torch.align([source], [target], 100)
    assert glass.alignment.weights[: len(target), : len(source)] == pytest.approx(aligned, abs=1e-5)
    assert (glass.stacks[0].bias is not None) == shape.startswith("t5")


def test_each_sublayer_turns_the_stream_by_what_it_is_said_to_turn(tmp_path: Path) -> None:
    """The first layer, computed once more by hand from the vectors that it is said to read."""
    for number, norm in enumerate(("pre", "post")):
        translator = headway.load(write_model(tmp_path / str(number), norm=norm), engine="torch")
        glass, model = see_translation(translator, SENTENCE, TARGET), translator.engines.torch.model
        layer: Any = model.encoder.layers[0]
        x = torch.from_numpy(glass.inputs[0].total)[None]
        with torch.no_grad():
            added = layer.attention.attend(*layer.attention.project(layer.attention_residual.before(x)))
            between = layer.attention_residual.after(x, added)
            network = layer.feed_forward(layer.feed_forward_residual.before(between))
            after = layer.feed_forward_residual.after(between, network)
        steps = {"attention": (x, added, between), "feed_forward": (between, network, after)}
        for name, (before, update, then) in steps.items():
            seen = glass.stacks[0].layers[0].changes[name]  # type: ignore[index]
            assert seen.update == pytest.approx((update.norm(dim=-1) / before.norm(dim=-1))[0].numpy(), abs=1e-5)
            assert seen.cosine == pytest.approx(torch.cosine_similarity(before, then, dim=-1)[0].numpy(), abs=1e-5)
        assert glass.stacks[0].layers[0].output == pytest.approx(after[0].numpy(), abs=1e-5)


def find_codes(glass: Glass) -> set[Code]:
    inputs = [
        code for given in glass.inputs for code in (given.tokenizer, given.normed, *(t.code for t in given.terms)) if code
    ]
    stacks = [code for stack in glass.stacks for code in stack.codes.values()]
    return {*inputs, *stacks, *glass.predictions.codes, *(glass.beam.codes if glass.beam else [])}


@pytest.mark.parametrize("shape", ["pre-norm", "t5 1.1"])
def test_every_named_function_is_there(tmp_path: Path, shape: str) -> None:
    codes = find_codes(see_translation(load(tmp_path, shape), SENTENCE))
    assert {"MultiHeadAttention.attend", "attention", "Output.logits", "SentencePieceTokenizer.encode"} <= {
        c.name for c in codes
    }
    for code in codes:
        module = importlib.import_module(code.file.removesuffix(".py").replace("/", "."))
        assert callable(reduce(getattr, code.name.split("."), module))
        assert (Path(headway.__file__).parent.parent / code.file).is_file()


def test_shapes_are_those_of_the_sentence(tmp_path: Path) -> None:
    glass = see_translation(load(tmp_path, "pre-norm"), SENTENCE, TARGET)
    s, t = (len(given.ids) for given in glass.inputs)
    told = {shape.name: shape.sides for shape in glass.stacks[1].shapes["cross_attention"]}
    assert (told["Q"], told["K"], told["weights"], told["x"]) == ((2, t, 8), (2, s, 8), (2, t, s), (t, 16))
    assert glass.predictions.shapes[-1].sides == (t, 320)


@pytest.mark.parametrize(
    ("text", "target", "word"), [(" ", None, "no text"), ("oak", " ", "blank"), ("oak " * 250, None, "too long")]
)
def test_what_cannot_be_followed(tmp_path: Path, text: str, target: str | None, word: str) -> None:
    with pytest.raises(RequestError, match=word) as refused:
        see_translation(load(tmp_path, "pre-norm"), text, target)
    assert word != "too long" or str(MOST_PIECES) in str(refused.value)
