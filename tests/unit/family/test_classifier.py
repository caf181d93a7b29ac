"""Texts and pictures sorted: a batch as one at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from small_models import CLASSES, write_relative

from headway.bundle import read_bundle, write_bundle
from headway.errors import BundleError, DataError, RequestError
from headway.family.classifier import Classifier
from headway.family.reading import roll_out

LABELS = ["bad", "fair", "good"]
TEXTS = ["copy oak", "", "copy oak elm rowan ash", "reverse elm", "oak " * 100]


@pytest.fixture(scope="module")
def sorter(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    return Classifier.load(write_relative(tmp_path_factory.mktemp("models") / "bert", "bert", classes=LABELS))


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    return Classifier.load(write_relative(tmp_path_factory.mktemp("models") / "vit", "vit"))


def make_pictures(n: int) -> list[np.ndarray]:
    return list(np.random.default_rng(0).integers(0, 256, (n, 3, 12, 12), dtype=np.uint8))


def test_texts_get_the_models_classes(sorter: Classifier) -> None:
    t = sorter.tokenizer
    (found,) = sorter.classify(["copy oak"], top=None)
    with torch.no_grad():
        wanted = sorter.model(torch.tensor([[t.bos, *t.encode(["copy oak"])[0], t.eos]]))[0, 0].softmax(dim=-1)
    assert dict(found.labels) == pytest.approx(dict(zip(LABELS, wanted.tolist(), strict=True)))
    assert [share for _, share in found.labels] == sorted(wanted.tolist(), reverse=True)
    assert (found.label, found.probability) == found.labels[0] and not found.cut


def test_a_batch_of_texts_is_each_alone(sorter: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [sorter.classify([text], top=None)[0] for text in TEXTS]
    assert [one.cut for one in alone] == [False, False, False, False, True]
    seen: list[tuple[int, ...]] = []
    for size in (1, 60, 2048):
        monkeypatch.setattr("headway.family.classifier.BATCH_TOKENS", size)
        together = sorter.classify(TEXTS, top=None, on_progress=lambda *told: seen.append(told))
        assert seen[-1] == (5, 5)
        for one, other in zip(alone, together, strict=True):
            assert one.cut == other.cut
            assert dict(one.labels) == pytest.approx(dict(other.labels), abs=1e-5)
    assert sorter.classify([]) == []


def test_a_text_that_is_too_long_is_cut(sorter: Classifier) -> None:
    pieces = sorter.tokenizer.encode([TEXTS[-1]])[0][: sorter.longest]
    (beginning,) = sorter.tokenizer.decode([pieces])
    whole, cut = sorter.classify([beginning, TEXTS[-1]])
    assert cut.cut and whole.labels == cut.labels


def test_pictures_get_the_models_classes(viewer: Classifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = make_pictures(5)
    with torch.no_grad():
        pixels = (torch.from_numpy(np.stack(pictures)).float() / 255 - 0.5) / 0.5
        wanted = viewer.model(pixels)[:, 0].softmax(dim=-1)
    monkeypatch.setattr("headway.family.classifier.BATCH_PICTURES", 2)
    found = viewer.classify_pictures(pictures, top=None)
    for one, row in zip(found, wanted.tolist(), strict=True):
        assert dict(one.labels) == pytest.approx(dict(zip(CLASSES, row, strict=True)), abs=1e-5)
    Image.fromarray(pictures[3].transpose(1, 2, 0)).save(tmp_path / "a.png")
    (read,) = viewer.classify_pictures([tmp_path / "a.png"], top=None)
    assert dict(read.labels) == pytest.approx(dict(found[3].labels), abs=1e-5)
    assert viewer.classify_pictures([str(tmp_path / "a.png")])[0].labels == read.labels[:1]


def test_what_cannot_be_sorted(sorter: Classifier, viewer: Classifier, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="sorts pictures, not texts"):
        viewer.classify(["oak"])
    with pytest.raises(RequestError, match="sorts texts, not pictures"):
        sorter.classify_pictures(make_pictures(1))
    with pytest.raises(RequestError, match=r"uint8 of \[1, 5, 5\]; the model looks at uint8 of \[3, 12, 12\]"):
        viewer.classify_pictures([np.zeros((1, 5, 5), np.uint8)])
    with pytest.raises(RequestError, match="float64"):
        viewer.classify_pictures([np.zeros((3, 12, 12))])
    with pytest.raises(RequestError, match="no 0 labels"):
        sorter.classify(["oak"], top=0)
    with pytest.raises(TypeError, match="list"):
        sorter.classify("oak")
    with pytest.raises(TypeError, match="list"):
        viewer.classify_pictures(tmp_path)
    with pytest.raises(DataError, match=r"none\.png"):
        viewer.classify_pictures([tmp_path / "none.png"])


def test_a_model_that_does_not_tell_how_it_takes_pixels(viewer: Classifier, tmp_path: Path) -> None:
    bundle = read_bundle(viewer.directory)
    manifest = bundle.manifest.model_copy(update={"pictures": None})
    write_bundle(tmp_path / "vit", manifest, bundle.weights(), bundle.tokenizers)
    with pytest.raises(BundleError, match="pixels"):
        Classifier.load(tmp_path / "vit")


def test_what_it_looks_at_in_a_text(sorter: Classifier) -> None:
    reading = sorter.inspect("copy oak")
    assert reading.weights.shape == (2, 2, len(reading.pieces), len(reading.pieces))
    assert reading.answer.startswith(sorter.classify(["copy oak"])[0].label)
    for text, word in ((" ", "no text"), (TEXTS[-1], "too long")):
        with pytest.raises(RequestError, match=word):
            sorter.inspect(text)


def test_what_it_looks_at_in_a_picture(viewer: Classifier) -> None:
    (picture,) = make_pictures(1)
    reading = viewer.inspect_picture(picture)
    assert reading.looks.shape == (2, 2, 3, 3) and reading.rollout.shape == (2, 3, 3)
    assert (reading.looks.sum(axis=(2, 3)) < 1).all()  # the rest is what the class's vector keeps for itself
    assert reading.rollout.sum(axis=(1, 2)) == pytest.approx(1, abs=1e-5)
    mean = reading.looks[0].mean(axis=0)
    assert reading.rollout[0] == pytest.approx(mean / mean.sum(), abs=1e-5)
    assert reading.answer.startswith(viewer.classify_pictures([picture])[0].label)


def test_rollout_by_hand() -> None:
    first, second = np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    rolled = roll_out(np.stack([first, second])[:, None].astype(np.float32))
    assert rolled[0] == pytest.approx(np.array([[0.5, 0.5], [0.25, 0.75]]))
    assert rolled[1] == pytest.approx(np.array([[0.5, 0.5], [0.375, 0.625]]))
