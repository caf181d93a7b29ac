"""What heads attend to, and heads taken out."""

from pathlib import Path

import numpy as np
import pytest
import torch
from small_models import write_model

from headway import load
from headway.experiments.head_patterns import find_habits
from headway.experiments.head_removal import Bench, Head

PIECES = ["the", "dog", "saw", "the", "cat", "."]


def name_of(part, rows, asked=PIECES) -> str:
    asking = ["ein", "Hund", "sah", "da", "Katzen", "‹Ende›"] if part == "cross" else asked
    (habit,) = find_habits(part, [(asking, asked, np.array(rows, dtype=np.float32)[None])])
    return habit.name


def shifted(by: int) -> np.ndarray:
    """Each row looks at the piece so far away, or at itself where there is none."""
    rows = np.eye(6)
    for at in range(6):
        if 0 <= at + by < 6:
            rows[at] = np.eye(6)[at + by]
    return rows


@pytest.mark.parametrize(("by", "name"), [(0, "itself"), (-1, "one before"), (1, "one after"), (-2, "two before")])
def test_neighbours(by, name):
    assert name_of("encoder", shifted(by)) == name


def test_marks_copies_and_nothing_in_particular():
    assert name_of("encoder", np.full((6, 6), 1 / 6)) == "broad"
    assert name_of("decoder", np.eye(6)[[0] * 6]) == "begin mark"
    assert name_of("encoder", np.eye(6)[[3, 0, 0, 0, 3, 3]]) == "same piece"
    assert name_of("encoder", np.eye(6)[[2] * 6], [*PIECES[:2], ",", *PIECES[3:5], "‹end›"]) == "punctuation"
    assert name_of("cross", np.eye(6)[[5] * 6], [*PIECES[:5], "‹end›"]) == "end mark"
    assert name_of("cross", np.eye(6)) == "same place"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    model = write_model(tmp_path_factory.mktemp("model") / "bundle")
    return Bench(load(model, engine="torch"), ["ash elm", "oak", "fir yew ivy"], ["elm ash", "oak", "ivy yew fir"], 10)


def test_without_heads_the_model_differs_and_is_whole_again_after(bench: Bench):
    before = bench.judge([])
    for head in bench.list_heads()[:3]:
        assert not np.allclose(bench.judge([head]).losses, before.losses)
    np.testing.assert_array_equal(bench.judge([]).losses, before.losses)


def test_without_all_heads_of_an_attention_only_its_bias_is_left(bench: Bench):
    engine = bench._engine
    heads = [head for head in bench.list_heads() if (head.part, head.layer) == ("encoder", 1)]
    attention = engine.model.encoder.layers[0].attention
    with bench._removed(heads), torch.no_grad():
        x = torch.randn(1, 3, engine.model.architecture.d_model)
        query, memory = attention.project(x)
        torch.testing.assert_close(attention.attend(query, memory), attention.output.bias.expand(1, 3, -1))
    assert Head("encoder", 1, 1).name == "encoder 1.1"


def test_a_pair_that_is_blank_or_too_long_is_passed_over(tmp_path: Path):
    model = write_model(tmp_path / "bundle")
    sources, references = ["ash", "", "ash " * 200, "oak"], ["elm", "elm", "elm", "oak"]
    assert len(Bench(load(model, engine="torch"), sources, references, 10)) == 2
