"""`headway fill`: candidates for each mask."""

import io
import json
import sys
from pathlib import Path

import pytest
from small_models import write_relative

from headway.family.filler import Filler

TEXT = "copy [MASK] elm [MASK]."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_relative(tmp_path_factory.mktemp("models") / "bert", "bert")


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_line_for_each_candidate(model: Path, headway):
    result = headway("fill", model, TEXT, "--top", 3)
    assert (result.code, result.err) == (0, "")
    parts = result.out.split("\n\n")
    assert len(parts) == 2
    for part, wanted in zip(parts, Filler.load(model).fill(TEXT, top=3), strict=True):
        rows = [line.split("\t") for line in part.rstrip("\n").split("\n")]
        assert [row[0] for row in rows] == [f"{one.probability:.4f}" for one in wanted]
        assert [row[2] for row in rows] == [one.text for one in wanted]


def test_json_and_lines_of_standard_input(model: Path, headway, monkeypatch: pytest.MonkeyPatch):
    given = headway("fill", model, TEXT, "[MASK] oak", "--json", "--top", 2)
    give(monkeypatch, f"{TEXT}\n[MASK] oak\n")
    read = headway("fill", model, "--json", "--top", 2)
    assert given.code == read.code == 0 and given.out == read.out
    first, second = map(json.loads, given.out.splitlines())
    assert first["text"] == TEXT and [len(some) for some in first["masks"]] == [2, 2]
    ((wanted, _),) = Filler.load(model).fill("[MASK] oak", top=2)
    assert second["masks"][0][0] == {"piece": wanted.piece, "probability": wanted.probability, "text": wanted.text}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["copy oak"], "no [MASK]"),
        (["oak " * 60 + "[MASK]"], "40 at most"),
        ([TEXT, "--top", 0], "top"),
    ],
)
def test_requests_that_cannot_be_met(model: Path, headway, arguments: list[object], word: str):
    result = headway("fill", model, *arguments)
    assert (result.code, result.out) == (2, "") and word in result.err and "Traceback" not in result.err


def test_nothing_to_fill_in(model: Path, headway, monkeypatch: pytest.MonkeyPatch):
    give(monkeypatch, "")
    assert headway("fill", model).code == 3


def test_a_classifier_does_not_fill(tmp_path: Path, headway):
    sorter = write_relative(tmp_path / "sorter", "bert", classes=["bad", "good"])
    result = headway("fill", sorter, TEXT)
    assert result.code == 2 and f"headway classify {sorter}" in result.err
