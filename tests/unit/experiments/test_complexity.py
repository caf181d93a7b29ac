"""Table 1 measured: the layers are what they claim to be, and what is measured can be gone on with, fitted and drawn."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from headway.config import Settings, TrainingSettings
from headway.errors import DataError
from headway.experiments import complexity
from headway.experiments.complexity import tabulate, tabulate_attentions, tell
from headway.experiments.complexity_fits import find_crossings, fit_memory, fit_time, grow
from headway.experiments.complexity_picture import draw
from headway.experiments.experiment import Request
from headway.experiments.layer_costs import Case, Point, Sizes, bound_bytes, count_peak, list_groups, measure
from headway.experiments.layers_compared import (
    COMPARING,
    DECODING,
    TRAINING,
    AdditiveHead,
    AttentionAlone,
    OneHead,
    RestrictedSelfAttention,
    SelfAttention,
)
from headway.nn.attention import equation_1
from headway.progress import Display

TINY = Sizes(
    lengths=(4, 8),
    d=8,
    tokens=16,
    dimensions=(4, 8),
    n=4,
    dimension_tokens=8,
    crossing_dimensions=(4,),
    decoding_lengths=(4, 8),
    decoding_batch=2,
    comparing_lengths=(4, 8),
    comparing_d=4,
    comparing_tokens=8,
)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def measured() -> tuple[dict[str, dict], list[Point]]:
    told: dict[str, dict] = {}
    return told, measure(TINY, budget=60, most=3, on_point=lambda key, value: told.update({key: value}))


def at_growing_cost(study, side, cost, *, axis="n", other=64) -> list[Point]:
    """Points whose time and memory for one sequence are what a formula says."""
    points = []
    for size in (16, 32, 64, 128, 256, 512):
        n, d = (size, other) if axis == "n" else (other, size)
        seconds = 4 * cost(n, d) * 1e-9
        points.append(Point(study, side, 4, n, d, seconds, 0.9 * seconds, 1.1 * seconds, 3, int(4 * cost(n, d))))
    return points


@pytest.mark.parametrize("n", [1, 7, 32, 50])
@pytest.mark.parametrize("side", [*TRAINING, *COMPARING])
def test_every_layer_keeps_the_shape_and_passes_a_gradient_on(side, n):
    layer, x = (TRAINING | COMPARING)[side](16), torch.randn(2, n, 16, requires_grad=True)
    y = layer(x)
    y.square().sum().backward()
    assert y.shape == x.shape
    assert torch.isfinite(x.grad).all() and x.grad.any()


@pytest.mark.parametrize("n", [5, 12, 33])
def test_restricted_attention_is_full_attention_under_a_band(n):
    restricted, full = RestrictedSelfAttention(128, reach=4), SelfAttention(128, equation_1)
    full.load_state_dict(restricted.state_dict())
    x = torch.randn(2, n, 128)
    query, own = full.attention.project(x)
    band = (torch.arange(n)[:, None] - torch.arange(n)).abs() <= 4
    torch.testing.assert_close(restricted(x), full.attention.attend(query, own, band), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("side", DECODING)
def test_a_decoding_step_is_the_last_row_of_the_whole(side):
    layer, x = DECODING[side](128), torch.randn(2, 40, 128)
    with torch.inference_mode():
        state = layer.start(x[:, :38])
        for at in (38, 39):
            last, state = layer.step(x[:, at : at + 1], state)
        torch.testing.assert_close(last, layer(x)[:, -1:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("side", ["recurrent", "convolution", "separable convolution"])
def test_recurrent_and_convolutional_layers_do_not_look_ahead(side):
    layer, x = TRAINING[side](16), torch.randn(1, 9, 16)
    changed = torch.cat([x[:, :5], torch.randn(1, 4, 16)], dim=1)
    torch.testing.assert_close(layer(x)[:, :5], layer(changed)[:, :5])


def test_attention_alone_is_self_attention_whose_matrices_do_nothing():
    alone, layer, x = AttentionAlone(128), SelfAttention(128), torch.randn(2, 6, 128)
    with torch.no_grad():
        layer.attention.input.weight.copy_(torch.eye(128).repeat(3, 1))
        layer.attention.output.weight.copy_(torch.eye(128))
        layer.attention.input.bias.zero_()
        layer.attention.output.bias.zero_()
    torch.testing.assert_close(alone(x), layer(x), rtol=1e-4, atol=1e-5)


def test_additive_attention_is_its_formula():
    head, x = AdditiveHead(3), torch.randn(1, 4, 3)
    w, u, v = head.query.weight, head.key.weight, head.score.weight[0]
    for asking in range(4):
        scores = torch.stack([v @ torch.tanh(w @ x[0, asking] + u @ x[0, asked]) for asked in range(4)])
        expected = sum(weight * x[0, asked] for asked, weight in enumerate(scores.softmax(dim=0)))
        torch.testing.assert_close(head(x)[0, asking], expected)


def test_the_two_dot_product_heads_agree():
    fast, plain, x = OneHead(8), OneHead(8, equation_1), torch.randn(2, 70, 8)
    plain.load_state_dict(fast.state_dict())
    torch.testing.assert_close(fast(x), plain(x), rtol=1e-4, atol=1e-5)


def test_memory_is_counted_at_its_peak():
    def run() -> None:
        first = torch.zeros(1000, 250)  # 1 MB
        second = first + 1
        del first
        assert second.repeat(2, 1).shape == (2000, 250)  # 1 MB and 2 MB: the peak

    assert count_peak(run) == pytest.approx(3_000_000, rel=0.01)


def test_all_that_is_listed_is_measured_and_told(measured):
    told, points = measured
    listed = {case.key for group in list_groups(TINY) for case in group}
    assert {point.key for point in points} == set(told) == listed
    assert all(0 < point.low <= point.seconds <= point.high and point.runs >= 3 and point.bytes > 0 for point in points)
    assert json.loads(json.dumps(told)) == told


def test_known_points_are_not_measured_again(measured):
    told, points = measured
    again: list[str] = []
    left_out = {point.key for point in points if point.study == "decoding" and point.n == 8}
    known = {key: value for key, value in told.items() if key not in left_out}
    gone_on = measure(TINY, budget=60, most=3, known=known, on_point=lambda key, value: again.append(key))
    assert set(again) == left_out
    assert [point for point in gone_on if point.key in known] == [point for point in points if point.key in known]
    assert len(gone_on) == len(points)


def test_what_the_budget_does_not_reach_is_left_out():
    assert measure(TINY, budget=0.0) == []


def test_an_interruption_loses_only_the_group_that_it_hit():
    told: dict[str, dict] = {}

    def keep(key: str, value: dict) -> None:
        if len(told) == 9:
            raise KeyboardInterrupt
        told[key] = value

    with pytest.raises(KeyboardInterrupt):
        measure(TINY, budget=60, most=3, on_point=keep)
    more: list[str] = []
    measure(TINY, budget=60, most=3, known=told, on_point=lambda key, value: more.append(key))
    assert not set(more) & set(told)
    assert len(more) + len(told) == sum(map(len, list_groups(TINY)))


@pytest.mark.parametrize("n", [16, 64, 160])
def test_no_case_needs_more_memory_than_it_is_allowed_by(n):
    sizes = Sizes(
        lengths=(n,),
        tokens=2 * n,
        d=128,
        dimensions=(),
        crossing_dimensions=(),
        decoding_lengths=(n,),
        decoding_batch=2,
        comparing_lengths=(n,),
        comparing_tokens=2 * n,
    )
    points = measure(sizes, budget=60, most=3)
    assert len(points) == len(TRAINING) + len(COMPARING) + len(DECODING)
    assert [point.key for point in points if point.bytes > bound_bytes(Case(*list(asdict(point).values())[:5]))] == []


def test_cases_beyond_the_memory_are_left_out():
    listed = [case for group in list_groups(Sizes(comparing_lengths=(512, 4096))) for case in group]
    lengths = {side: {case.n for case in listed if case.side == side} for side in COMPARING}
    assert lengths["additive"] == {512}
    assert lengths["dot-product"] == {512, 4096}


def test_exponents_are_those_of_the_cost():
    attention = at_growing_cost("length", "attention alone", lambda n, d: n * n * d)
    recurrent = at_growing_cost("dimension", "recurrent", lambda n, d: n * d * d, axis="d")
    over_n, over_d, memory = fit_time(attention, "n"), fit_time(recurrent, "d"), fit_memory(attention, "n")
    assert over_n is not None and over_d is not None and memory is not None
    assert (over_n.value, over_d.value) == (pytest.approx(2), pytest.approx(2))
    assert memory.value == pytest.approx(2, abs=0.01)
    assert over_n.sizes == (128, 512)
    assert 0.05 < over_n.error < 0.15 and memory.error == 0
    assert fit_time(attention[:2], "n") is None
    assert grow(attention) == pytest.approx(32)


def test_the_crossing_is_where_the_times_are_equal():
    attention = at_growing_cost("crossing", "self-attention", lambda n, d: n * n * d)
    recurrent = at_growing_cost("crossing", "recurrent", lambda n, d: n * d * 100)
    (crossing,) = find_crossings([*attention, *recurrent])
    assert crossing.length == pytest.approx(100) and str(crossing) == "slower from n = 100"
    (never,) = find_crossings([*attention[:2], *recurrent])
    assert never.length is None and str(never) == "faster up to n = 32"
    (always,) = find_crossings([*attention[4:], *recurrent])
    assert str(always) == "slower from n = 256 or before"


def test_the_table_stands_beside_the_papers(measured):
    _, points = measured
    exact = at_growing_cost("length", "recurrent", lambda n, d: n * d * d)
    rows = {row["layer"]: row for row in tabulate(exact)}
    assert rows["recurrent"]["n_measured"] == rows["recurrent"]["n_paper"] == 1
    assert rows["recurrent"]["same_tokens_longer"] == 1
    assert rows["convolution"]["n_measured"] is None
    assert tabulate_attentions(points)[-1]["additive_memory_over_dot_product"] > 1
    assert any("Additive attention at n = 8" in line for line in tell(points))
    assert tell([])


def test_the_experiment_goes_on_from_its_points_and_ends_in_a_table_and_a_picture(measured, tmp_path: Path, monkeypatch):
    told, _ = measured
    monkeypatch.setattr(complexity, "SIZES", TINY)
    (tmp_path / "points.json").write_text(json.dumps(told), encoding="utf-8")
    found = complexity.run(Request(Settings(), tmp_path), Display())
    assert json.loads((tmp_path / "points.json").read_text(encoding="utf-8")) == told
    assert [row[0] for row in found.rows] == list(complexity.PAPER)
    assert all(len(row) == len(found.columns) for row in found.rows)
    assert [path.name for path in found.pictures] == ["complexity.png", "complexity.svg"]
    picture = (tmp_path / "complexity.svg").read_text(encoding="utf-8")
    assert "restricted self-attention" in picture and ">d = 8: " in picture and "not measured" not in picture


def test_a_picture_of_nothing_says_so(tmp_path: Path):
    _, picture = draw([], tmp_path / "nothing")
    assert picture.read_text(encoding="utf-8").count(">not measured<") == 8


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": {"seconds": 1}}'])
def test_damaged_points_are_refused_with_a_word(content, tmp_path: Path):
    (tmp_path / "points.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"points\.json is damaged"):
        complexity.run(Request(Settings(), tmp_path), Display())


def test_the_promise_is_the_budget_and_a_little(tmp_path: Path):
    minutes = Settings(training=TrainingSettings(max_minutes=3))
    assert 180 < complexity.promise(Request(minutes, tmp_path), Display()) < 200
    assert 120 < complexity.promise(Request(Settings(), tmp_path), Display()) < 140
