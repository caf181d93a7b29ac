"""The arithmetic of a plan against the things that it counts without building them."""

from pathlib import Path

import numpy as np
import pytest
import torch

from headway.architectures import Architecture
from headway.config import ModelSettings, Settings, TrainingSettings
from headway.data.batching import collate
from headway.data.store import Store, StoreWriter
from headway.models.build import build
from headway.models.flops import Lengths, training_flops
from headway.models.model import count_parameters
from headway.models.presets import build_architecture
from headway.nn.products import wide_products
from headway.training import forecast as f
from headway.training.group import Group
from headway.training.loss import Loss, batch_loss
from headway.training.replicas import Replicas
from headway.training.update import count_passes

VOCABULARY = 300


def shape(preset: str = "tiny", vocabulary: int = VOCABULARY, shared: bool = True, **settings) -> Architecture:
    model = ModelSettings(preset=preset, dropout=settings.pop("dropout", 0.1), **settings)
    return build_architecture(model, source_vocab=vocabulary, target_vocab=vocabulary, shared=shared)


def training(**settings) -> TrainingSettings:
    chosen = {"batch_tokens": 1000, "accumulate": 1, "processes": 1, "threads": 1, "precision": "fp32", **settings}
    return TrainingSettings(**chosen)


def alike(pairs: int, source: int, target: int) -> Lengths:
    return Lengths.of(np.full(pairs, source), np.full(pairs, target))


def paper(preset: str = "base", **settings) -> f.Figures:
    a = shape(preset, vocabulary=37_000)
    chosen = training(batch_tokens=25_000, accumulate=7, max_steps=f.PUBLISHED[preset].steps, **settings)
    epoch = f.imagine_epoch(4_500_000, 27, 27, a, chosen)
    size, speed = f.Size(None, 4_500_000, True), f.Speed(1000.0, 0.5, measured=False)
    return f.forecast(
        Settings(model=ModelSettings(preset=preset), training=chosen), a, size, epoch, speed, gpus=f.Gpus(8, 9.5, 0.3)
    )


def test_the_paper_counts_what_its_machine_could_do_and_we_what_the_model_needs():
    base, big = paper(), paper("big")
    assert (base.steps, base.parameters, base.target_tokens) == (100_000, 63_082_496, 126_000_000)
    assert base.flops == pytest.approx(9.5e17, rel=0.01)
    assert base.gpu_seconds == pytest.approx(11.6 * 3600, rel=0.01)
    assert (base.paper_flops, base.paper_utilisation) == (3.3e18, 0.289)
    assert (big.paper_flops, big.steps, big.paper_hours) == (2.3e19, 300_000, 84)
    for published in f.PUBLISHED.values():
        peak = f.PAPER_GPUS * f.PAPER_TFLOPS * 1e12
        assert published.flops == pytest.approx(published.hours * 3600 * peak, rel=0.01)


@pytest.mark.parametrize("change", [{"max_steps": 99_999}, {"batch_tokens": 25_001}, {"d_ff": 1024}, {"n_decoder_layers": 5}])
def test_only_the_papers_own_training_is_compared_with_the_paper(change: dict):
    asked = {"batch_tokens": 25_000, "max_steps": 100_000, **change}
    a = shape("base", **{name: value for name, value in change.items() if name in ModelSettings.model_fields})
    assert f.find_published(shape("base"), 25_000, 100_000) is f.PUBLISHED["base"]
    assert f.find_published(a, asked["batch_tokens"], asked["max_steps"]) is None


VARIANTS = [
    {},
    {"norm": "post"},
    {"n_decoder_layers": 2},
    {"d_k": 16},
    {"d_v": 8, "activation": "gelu"},
    {"positions": "learned", "max_positions": 50},
    {"tie": "target"},
    {"tie": "none"},
    {"shared": False},
]


@pytest.mark.parametrize("settings", VARIANTS)
def test_weights_are_counted_as_the_model_has_them(settings: dict):
    a = shape(**settings)
    assert f.count_weights(a) == count_parameters(build(a))


@pytest.mark.parametrize("settings", [{}, {"d_k": 8, "d_v": 4}, {"n_decoder_layers": 1}])
def test_what_an_optimiser_remembers_is_counted_as_it_remembers_it(settings: dict):
    a = shape(**settings)
    for kind in ("adam", "muon"):
        learner = Replicas(Loss(build(a), smoothing=0.0), Group(), optimizer=kind)
        learner.step(0.1)
        remembered = sum(moment.numel() for moment in learner.moments().values())
        assert f.count_moments(a, training(optimizer=kind)) == remembered


@pytest.mark.parametrize("lengths", [(20, 24), (90, 80), (280, 270)])  # our attention, ours or torch's, torch's
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "post"},
        {"dropout": 0.0},
        {"activation": "gelu"},
        {"d_k": 8, "d_v": 8},
        {"attention_dropout": 0.1, "activation_dropout": 0.1, "word_dropout": 0.1},
        {"activation_dropout": 0.1, "activation": "gelu"},
    ],
)
def test_what_is_kept_for_the_backward_pass_is_what_autograd_saves(settings: dict, lengths: tuple[int, int]):
    a = shape(**settings)
    model = build(a).train()
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    saved: dict[int, torch.Tensor] = {}

    def save(tensor: torch.Tensor) -> torch.Tensor:
        saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    pairs, source, target = 8, *lengths
    rows = [np.full(length - 1, 5) for length in (source, target)]
    batch = collate([rows[0]] * pairs, [rows[1]] * pairs, pad=0, bos=1, eos=2)
    with wide_products(), torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        batch_loss(model, batch, smoothing=0.1)
    found = sum(tensor.untyped_storage().nbytes() for place, tensor in saved.items() if place not in weights)
    of_the_loss = 4 * a.target_vocab * a.d_model  # counted apart: it does not grow with the pass
    assert f.count_kept(a, alike(pairs, source, target)) == pytest.approx((found - of_the_loss) / 4, rel=0.03)


def test_recomputing_keeps_of_each_layer_its_input_and_of_one_the_rest():
    lengths = alike(50, 20, 20)
    plain, again = (f.count_kept(shape("base"), lengths, recompute=recompute) for recompute in (False, True))
    assert again < 0.3 * plain
    assert f.count_kept(shape("base", n_layers=7, n_decoder_layers=6), lengths, recompute=True) - again == 1000 * 512
    one = shape("base", n_layers=1)
    assert f.count_kept(one, lengths, recompute=True) > 0.5 * f.count_kept(one, lengths)


def test_memory_is_of_the_model_of_a_pass_and_of_a_checkpoint():
    a, epoch = shape("base", vocabulary=37_000), f.Epoch(alike(50, 20, 20), updates=1, flops=1.0)
    parameters = f.count_weights(a)

    def update(**settings) -> float:
        return f.estimate_update_memory(a, training(batch_tokens=8192, accumulate=2, **settings), epoch, "cpu")

    assert update() > f.PROGRAM + 16 * parameters
    assert update(processes=2) < update()  # half of a pass each
    assert update(processes=2) - update(processes=2, shard=True) == pytest.approx(8 * parameters)
    assert update() - update(recompute=True) > 0.2e9
    assert f.estimate_saving_memory(a, training()) == f.PROGRAM + 28 * parameters
    assert f.estimate_saving_memory(a, training(ema=0.9)) == f.PROGRAM + 36 * parameters


@pytest.mark.parametrize("measured", [None, 10**9, 10**11])
def test_measured_memory_counts_unless_saving_takes_more(measured: int | None):
    a, chosen = shape("base", vocabulary=37_000), training(max_steps=10, batch_tokens=300)
    epoch = f.imagine_epoch(1000, 10, 10, a, chosen)
    speed = f.Speed(1000.0, 0.5, measured=True, memory_bytes=measured)
    figures = f.forecast(Settings(training=chosen), a, f.Size(None, 1000, True), epoch, speed)
    assert figures.memory_measured == (measured == 10**11)
    assert figures.memory_bytes == (measured if measured == 10**11 else f.PROGRAM + 28 * figures.parameters)


@pytest.mark.parametrize("tokens", [300, 2048, 8192, 25_000])
@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("accumulate", [1, 2, 7])
def test_a_pass_is_as_large_as_the_update_makes_it(tokens: int, processes: int, accumulate: int):
    chosen = training(batch_tokens=tokens, accumulate=accumulate, processes=processes)
    passes = count_passes(chosen, processes, "cpu")
    assert f.pass_tokens(chosen, "cpu") == pytest.approx(tokens / processes / passes)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two corpora: 60 pairs of 4 and 6 pieces, of which half are taken, and 10 of 9 and 2, which are taken twice."""
    with StoreWriter(tmp_path / "store", source_vocab=VOCABULARY, target_vocab=VOCABULARY) as writer:
        for pairs, source, target, weight in ((60, 4, 6, 0.5), (10, 9, 2, 2.0)):
            writer.append([[5] * source] * pairs, [[5] * target] * pairs)
            writer.end_segment(weight)
    return Store(tmp_path / "store")


def test_an_epoch_takes_each_corpus_by_its_weight(store: Store):
    a = shape()
    epoch = f.read_epoch(store, a, training(batch_tokens=50))
    sources, targets = np.repeat([5, 10], [30, 20]), np.repeat([7, 3], [30, 20])  # with end marks
    assert (epoch.lengths.source, epoch.lengths.target) == (sources.sum(), targets.sum())
    assert epoch.flops == pytest.approx(training_flops(a, Lengths.of(sources, targets)))
    assert epoch.updates == 7  # 20 pairs of 3: two of 10, for their sources; 30 of 7: 6, then 7, 7, 7, 3


def test_a_corpus_that_is_not_there_is_counted_like_one_that_is(tmp_path: Path):
    with StoreWriter(tmp_path / "store", source_vocab=VOCABULARY, target_vocab=VOCABULARY) as writer:
        writer.append([[5] * 4] * 100, [[5] * 9] * 100)
        writer.end_segment(1.0)
    a, chosen = shape(), training(batch_tokens=200)
    read, imagined = f.read_epoch(Store(tmp_path / "store"), a, chosen), f.imagine_epoch(100, 4, 9, a, chosen)
    assert imagined == read
    assert imagined.updates == 5


def test_minutes_become_updates_unless_another_budget_is_smaller():
    epoch = f.Epoch(alike(50, 20, 20), updates=10, flops=1.0)
    assert f.count_updates(training(max_minutes=2), epoch, tokens_per_second=50.0) == 60
    assert f.count_updates(training(max_minutes=2, max_steps=20), epoch, tokens_per_second=50.0) == 20
    assert f.count_updates(training(max_minutes=2, max_steps=90), epoch, tokens_per_second=50.0) == 60
    assert f.count_updates(training(max_minutes=2), epoch, tokens_per_second=1e-6) == 1
    assert f.count_updates(training(max_epochs=3), epoch, tokens_per_second=1.0) == 30


def test_the_disk_holds_the_checkpoints_that_are_kept_one_more_and_the_models():
    a = shape()
    parameters = f.count_weights(a)
    assert f.estimate_disk(a, training(), steps=1000) == parameters * (12 * 6 + 4 * 3)
    assert f.estimate_disk(a, training(keep_checkpoints=2, average=1), steps=1000) == parameters * (12 * 3 + 4 * 3)
    assert f.estimate_disk(a, training(checkpoint_every=500), steps=1000) == parameters * (12 * 2 + 4 * 3)


def test_time_is_tokens_by_speed():
    a, chosen = shape(), training(max_epochs=2.0)
    epoch = f.imagine_epoch(1000, 9, 9, a, chosen)
    figures = f.forecast(Settings(training=chosen), a, f.Size(None, 1000, True), epoch, f.Speed(100.0, 0.4, measured=True))
    assert (figures.seconds, figures.steps, figures.epochs) == (200.0, 20, 2.0)
    assert figures.flops == pytest.approx(2 * epoch.flops)
    assert figures.gpu_seconds is None and figures.paper_flops is None


def test_compiled_products_take_memory_and_wide_ones_hold_the_weights_of_longer_attentions(monkeypatch: pytest.MonkeyPatch):
    a, epoch = shape("base"), f.Epoch(alike(50, 100, 100), updates=1, flops=1.0)

    def update(precision: str, device: str = "cpu") -> float:
        return f.estimate_update_memory(a, training(batch_tokens=8192, accumulate=2, precision=precision), epoch, device)

    monkeypatch.setattr(f, "has_wide_products", lambda: False)
    assert update("bf16") - update("fp32") == f.COMPILED and update("bf16", "cuda") == update("fp32", "cuda")
    monkeypatch.setattr(f, "has_wide_products", lambda: True)
    assert update("fp32") > update("bf16") + 0.1e9
