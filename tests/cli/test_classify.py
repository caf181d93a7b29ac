"""`headway classify`: a line for each line, a line for each picture."""

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from small_models import CLASSES, write_relative

from headway.family.classifier import Classifier

LINES = ["copy oak", "", "reverse elm rowan", "oak " * 80]


@pytest.fixture(scope="module")
def sorter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_relative(tmp_path_factory.mktemp("models") / "bert", "bert", classes=["bad", "good"])


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_relative(tmp_path_factory.mktemp("models") / "vit", "vit")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    (tmp_path / "scans" / "deep").mkdir(parents=True)
    for number, name in enumerate(["b.png", "a.jpg", "deep/c.png"]):
        pixels = np.random.default_rng(number).integers(0, 256, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "scans" / name)
    (tmp_path / "scans" / "notes.txt").write_text("no picture")
    return tmp_path / "scans"


def test_a_line_for_each_line(sorter: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.txt").write_text("\n".join(LINES[:2]) + "\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("\n".join(LINES[2:]).encode()))
    result = headway("classify", sorter, tmp_path / "a.txt", tmp_path / "b.txt.gz")
    wanted = [f"{one.label}\t{one.probability:.4f}" for one in Classifier.load(sorter).classify(LINES)]
    assert result.code == 0 and result.out.splitlines() == wanted
    assert "1 of 4 lines was longer than the 38 pieces" in result.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(LINES).encode())))
    assert headway("classify", sorter).out == result.out


def test_more_labels_and_json(sorter: Path, tmp_path: Path, headway):
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    wanted = Classifier.load(sorter).classify(LINES, top=2)
    rows = [line.split("\t") for line in headway("classify", sorter, tmp_path / "a.txt", "--top", 5).out.splitlines()]
    assert [row[::2] for row in rows] == [[label for label, _ in one.labels] for one in wanted]
    told = [json.loads(line) for line in headway("classify", sorter, tmp_path / "a.txt", "--json").out.splitlines()]
    assert [one["text"] for one in told] == LINES
    assert [(one["label"], one["probability"]) for one in told] == [(one.label, one.probability) for one in wanted]
    assert [one.get("cut", False) for one in told] == [False, False, False, True] and "labels" not in told[0]
    (first, *_) = headway("classify", sorter, tmp_path / "a.txt", "--json", "--top", 2).out.splitlines()
    assert json.loads(first)["labels"] == dict(wanted[0].labels)


def test_a_line_for_each_picture(viewer: Path, pictures: Path, headway):
    result = headway("classify", viewer, pictures, pictures / "b.png")
    paths = [pictures / "a.jpg", pictures / "b.png", pictures / "deep" / "c.png", pictures / "b.png"]
    wanted = Classifier.load(viewer).classify_pictures(paths)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        f"{path}\t{one.label}\t{one.probability:.4f}" for path, one in zip(paths, wanted, strict=True)
    ]
    told = json.loads(headway("classify", viewer, pictures / "b.png", "--json", "--top", 3).out)
    assert told["file"] == str(pictures / "b.png") and set(told["labels"]) == set(CLASSES)


def test_pictures_that_cannot_be_read(viewer: Path, pictures: Path, tmp_path: Path, headway):
    (pictures / "z.png").write_bytes((pictures / "b.png").read_bytes()[:500])
    (tmp_path / "empty").mkdir()
    for arguments, code, word in (
        ([pictures], 3, "z.png is damaged"),
        ([pictures / "notes.txt"], 3, "notes.txt is no picture"),
        ([pictures / "none.png"], 3, "no file"),
        ([tmp_path / "empty"], 3, "no pictures in"),
        ([tmp_path / "*.png"], 3, "No file matches"),
        ([], 2, "none is given"),
    ):
        result = headway("classify", viewer, *arguments)
        assert result.code == code and word in result.err and "Traceback" not in result.err


def test_texts_that_cannot_be_read(sorter: Path, pictures: Path, tmp_path: Path, headway):
    (tmp_path / "empty").write_text("")
    for arguments, word in (
        ([pictures], "is a directory"),
        ([pictures / "b.png"], "is a picture"),
        ([tmp_path / "none"], "no file"),
        ([tmp_path / "empty"], "nothing to classify"),
    ):
        result = headway("classify", sorter, *arguments)
        assert (result.code, result.out) == (3, "") and word in result.err and "Traceback" not in result.err


def test_a_model_that_fills_in_does_not_classify(tmp_path: Path, headway):
    filler = write_relative(tmp_path / "bert", "bert")
    result = headway("classify", filler, tmp_path / "a.txt")
    assert result.code == 2 and f"headway fill {filler}" in result.err
