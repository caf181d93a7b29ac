import math

import pytest

from headway.config import ModelSettings, Settings, TrainingSettings, build_settings
from headway.training.choices import (
    Reading,
    choose_budget,
    choose_size,
    default_tokens,
    estimate_epochs,
    resolve,
    total_updates,
)


def resolved(pairs: int, tokens: int, **training):
    return resolve(Settings(training=TrainingSettings(**training)), pairs=pairs, target_tokens=tokens)


def test_larger_corpora_get_larger_models_and_less_dropout():
    sizes = [resolved(pairs, pairs * 15).model for pairs in (1_000, 29_000, 300_000, 4_500_000)]
    assert [size.preset for size in sizes] == ["tiny", "tiny", "small", "base"]
    assert [size.dropout for size in sizes] == [0.3, 0.3, 0.2, 0.1]
    assert [size.norm for size in sizes] == ["pre", "pre", "pre", "post"]


def test_a_short_training_has_no_time_for_a_large_model():
    def chosen(pairs: int, epochs: dict[str, float], max_steps: int | None = None, **model: object) -> ModelSettings:
        def look_ahead(given: ModelSettings) -> Reading:
            return Reading(10 * pairs, epochs[given.preset or ""])

        return choose_size(ModelSettings(**model), TrainingSettings(max_steps=max_steps), pairs, look_ahead)[0]

    assert chosen(4_500_000, {"base": 20}).preset == "base"
    assert chosen(4_500_000, {"base": 0.5, "small": 3}).preset == "small"
    short = chosen(300_000, {"small": 3, "tiny": 15})
    assert (short.preset, short.dropout) == ("tiny", 0.15)  # of tiny's own epochs
    assert chosen(4_500_000, {"base": 0.01, "small": 0.03, "tiny": 0.2}).preset == "tiny"
    assert chosen(4_500_000, {"base": 0.01, "small": 0.03, "tiny": 0.08, "mini": 0.14}).preset == "mini"
    assert chosen(29_000, {"tiny": 5000}).preset == "tiny"  # however long
    few = chosen(5_000, {"tiny": 50, "mini": 50})
    assert (few.preset, few.dropout, few.norm) == ("mini", 0.3, "pre")
    assert chosen(5_000, {"tiny": 50}, max_steps=100).preset == chosen(5_000, {"tiny": 50}, family="gpt").preset == "tiny"
    assert chosen(300_000, {"small": 3}, preset="small").preset == "small"
    assert chosen(300_000, {"small": 3}, family="gpt").preset == "small"
    assert chosen(300_000, {"small": 3}, max_steps=100).preset == "small"


def test_a_text_that_is_read_seldom_needs_less_dropout_and_smaller_updates():
    def chosen(epochs: float, **training: object) -> tuple[float | None, int | None]:
        settings = Settings(training=TrainingSettings(**training))
        found = resolve(settings, pairs=29_000, target_tokens=420_000, epochs=epochs)
        return found.model.dropout, found.training.batch_tokens

    assert chosen(3) == (0.03, 1024)
    assert chosen(10) == (0.1, 1680)
    assert chosen(30) == chosen(500) == (0.3, 2048)
    assert chosen(3, max_steps=615) == (0.03, 2048)  # updates that are counted stay whole
    assert chosen(3, max_steps=10**6, max_minutes=5) == chosen(3)  # unless they are but a bound
    gpt = build_settings({"model": {"family": "gpt"}})
    assert resolve(gpt, pairs=29_000, target_tokens=420_000, epochs=3).training.batch_tokens == 2048


def test_how_often_a_text_is_read_follows_from_the_smallest_budget(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headway.training.choices.ordinary_speed", lambda training: 1e9)

    def epochs(**training: object) -> float:
        settings = TrainingSettings(**training)
        return estimate_epochs(settings, d_model=128, target_tokens=400_000, operations=30e9)

    assert epochs() == 50
    assert epochs(max_epochs=7.5) == 7.5
    assert epochs(max_minutes=5) == pytest.approx(10)
    assert epochs(max_minutes=5, max_epochs=7.5) == 7.5
    assert epochs(max_steps=1000) == pytest.approx(1000 * 2048 / 400_000)
    assert epochs(max_steps=1000, batch_tokens=512) == pytest.approx(1000 * 512 / 400_000)
    assert epochs(max_minutes=5, schedule="paper") == math.inf


def test_what_the_user_set_stays():
    settings = resolved(1000, 15_000, batch_tokens=123, learning_rate=0.5, accumulate=7)
    assert (settings.training.batch_tokens, settings.training.learning_rate, settings.training.accumulate) == (123, 0.5, 7)


def test_multi30k_gets_the_measured_recipe():
    training = resolved(29_000, 420_000).training
    assert (training.batch_tokens, training.accumulate, training.learning_rate) == (2048, 1, pytest.approx(0.006))


def test_a_model_to_begin_with_moves_less_and_one_with_a_new_vocabulary_half_as_much_as_a_new_model():
    def rate(**sections):
        return resolve(build_settings(sections), pairs=29_000, target_tokens=420_000).training.learning_rate

    start = {"init": "models/en-de"}
    assert rate(training=start) == pytest.approx(0.05 / 128)
    adam = {"optimizer": "adam"}
    assert rate(training=start, tokenizer={"vocabulary": "new"}) == pytest.approx(rate(training=adam) / 2)
    assert rate(training=start | {"learning_rate": 0.002}, tokenizer={"vocabulary": "new"}) == 0.002


def test_muon_takes_longer_steps_than_adam_in_narrow_models():
    def times(d_model: int) -> float:
        models = {"model": {"d_model": d_model, "n_heads": 4}}
        muon, adam = (
            resolve(build_settings(models | {"training": {"optimizer": one}}), pairs=29_000, target_tokens=420_000).training
            for one in ("muon", "adam")
        )
        assert muon.learning_rate and adam.learning_rate == pytest.approx(0.384 / d_model)
        return muon.learning_rate / adam.learning_rate

    assert [times(d_model) for d_model in (32, 128, 256, 512, 1024)] == pytest.approx([2, 2, 2**0.5, 1, 1])


def test_new_translators_learn_with_muon_and_what_follows_the_paper_or_goes_on_with_adam():
    def optimizer(family: str = "transformer", **training: object) -> str | None:
        settings = build_settings({"model": {"family": family}, "training": training})
        return resolve(settings, pairs=29_000, target_tokens=420_000).training.optimizer

    assert optimizer() == optimizer("t5") == optimizer(schedule="cosine") == "muon"
    assert optimizer(schedule="paper") == optimizer(init="models/en-de") == optimizer(shard=True) == "adam"
    assert optimizer("gpt") == optimizer("bert") == optimizer("vit") == optimizer(optimizer="adam") == "adam"
    assert optimizer("gpt", optimizer="muon") == "muon"


def test_a_large_batch_is_computed_in_passes():
    training = resolved(4_500_000, 130_000_000).training
    assert (training.batch_tokens, training.accumulate) == (25_000, 7)


def test_the_smallest_budget_wins_and_minutes_alone_are_not_known_yet():
    def total(**training):
        return total_updates(TrainingSettings(**training), target_tokens=400_000, updates_per_epoch=100)

    assert total(max_steps=70) == 70
    assert total(max_epochs=1.5) == 150
    assert total(max_epochs=1.5, max_steps=70) == 70
    assert total(max_minutes=5) is None
    assert total(max_minutes=5, max_steps=70) == 70
    assert total() == 5000


def test_small_corpora_are_read_more_often():
    assert default_tokens(100_000) == 50 * 100_000
    assert default_tokens(40_000_000) < 10 * 40_000_000


def test_a_short_run_has_a_short_warmup_and_validates():
    budget = choose_budget(TrainingSettings(), total=20)
    assert (budget.warmup, budget.valid_every) == (4, 1)
    budget = choose_budget(TrainingSettings(warmup=9, valid_every=7, checkpoint_every=3), total=20)
    assert (budget.warmup, budget.valid_every, budget.checkpoint_every) == (9, 7, 3)
