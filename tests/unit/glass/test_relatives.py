"""The relatives' glass boxes tell what the relatives themselves answer."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from small_models import write_relative

from headway.errors import RequestError
from headway.family.classifier import Classifier
from headway.family.filler import Filler
from headway.family.generator import Generator
from headway.glass.parts import Glass
from headway.glass.relatives import see_classifier, see_filler, see_generator, see_picture


def check_sum(glass: Glass) -> None:
    (given,) = glass.inputs
    assert given.total == pytest.approx(np.sum([term.values for term in given.terms], axis=0), abs=1e-5)
    assert len(glass.stacks) == 1 and glass.alignment is None and glass.beam is None and glass.without_beam


def test_gpt_tells_what_comes_next_at_each_place(tmp_path: Path) -> None:
    generator = Generator.load(write_relative(tmp_path / "model", "gpt"))
    glass = see_generator(generator, "copy oak elm")
    check_sum(glass)
    (ids,) = generator.tokenizer.encode(["copy oak elm"])
    logits = generator.model(torch.tensor([ids]))[0].detach()
    logits[:, generator._never] = -torch.inf
    expected = logits.log_softmax(dim=-1)
    assert [step.log_probability for step in glass.predictions.each] == [
        *(pytest.approx(float(expected[at, token]), abs=1e-4) for at, token in enumerate(ids[1:])),
        None,
    ]
    assert [step.likeliest[0][1] for step in glass.predictions.each] == pytest.approx(
        expected.exp().amax(dim=1).tolist(), abs=1e-5
    )
    assert (np.triu(glass.stacks[0].attention, 1) == 0).all()


def test_bert_tells_what_stands_at_each_mask(tmp_path: Path) -> None:
    filler = Filler.load(write_relative(tmp_path / "model", "bert"))
    text = "copy [MASK] elm [MASK]"
    glass = see_filler(filler, text)
    check_sum(glass)
    assert [term.name for term in glass.inputs[0].terms] == ["embedding", "position", "segment"] and glass.inputs[0].normed
    for step, candidates in zip(glass.predictions.each, filler.fill(text, top=10), strict=True):
        assert [share for _, share in step.likeliest] == pytest.approx([one.probability for one in candidates], abs=1e-5)
        assert step.lens[-1] == (step.likeliest[0][0], pytest.approx(step.likeliest[0][1], abs=1e-5))
    assert see_filler(filler, "copy oak").predictions.each == []
    with pytest.raises(RequestError, match="too long"):
        see_filler(filler, "oak " * 60)


def test_a_bert_with_classes_tells_them(tmp_path: Path) -> None:
    classifier = Classifier.load(write_relative(tmp_path / "model", "bert", classes=["bad", "good"]))
    glass = see_classifier(classifier, "copy oak")
    check_sum(glass)
    (step,) = glass.predictions.each
    (found,) = classifier.classify(["copy oak"], top=None)
    assert [name for name, _ in step.likeliest] == [name for name, _ in found.labels]
    assert [share for _, share in step.likeliest] == pytest.approx([share for _, share in found.labels], abs=1e-5)


def test_vit_tells_the_class_of_a_picture(tmp_path: Path) -> None:
    classifier = Classifier.load(write_relative(tmp_path / "model", "vit"))
    pixels = np.random.default_rng(1).integers(0, 255, (12, 12, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "picture.png")
    glass = see_picture(classifier, tmp_path / "picture.png")
    check_sum(glass)
    assert glass.picture is not None and (glass.picture.pixels == pixels.transpose(2, 0, 1)).all()
    assert glass.inputs[0].total.shape == (1 + 9, 16)
    looks = glass.stacks[0].attention[:, :, 0, 1:]
    assert glass.picture.looks.reshape(looks.shape) == pytest.approx(looks, abs=1e-6)
    (found,) = classifier.classify_pictures([tmp_path / "picture.png"], top=None)
    assert glass.predictions.each[0].likeliest == [(name, pytest.approx(share, abs=1e-5)) for name, share in found.labels]
