import pytest

from headway.config import Settings, TrainingSettings, build_settings
from headway.training.choices import choose_budget, default_tokens, resolve, total_updates


def resolved(pairs: int, tokens: int, **training):
    return resolve(Settings(training=TrainingSettings(**training)), pairs=pairs, target_tokens=tokens)


def test_larger_corpora_get_larger_models_and_less_dropout():
    sizes = [resolved(pairs, pairs * 15).model for pairs in (1_000, 29_000, 300_000, 4_500_000)]
    assert [size.preset for size in sizes] == ["tiny", "tiny", "small", "base"]
    assert [size.dropout for size in sizes] == [0.3, 0.3, 0.2, 0.1]
    assert [size.norm for size in sizes] == ["pre", "pre", "pre", "post"]


def test_what_the_user_set_stays():
    settings = resolved(1000, 15_000, batch_tokens=123, learning_rate=0.5, accumulate=7)
    assert (settings.training.batch_tokens, settings.training.learning_rate, settings.training.accumulate) == (123, 0.5, 7)


def test_multi30k_gets_the_measured_recipe():
    training = resolved(29_000, 420_000).training
    assert (training.batch_tokens, training.accumulate, training.learning_rate) == (2048, 1, 0.003)


def test_a_model_to_begin_with_moves_less_and_one_with_a_new_vocabulary_half_as_much_as_a_new_model():
    def rate(**sections):
        return resolve(build_settings(sections), pairs=29_000, target_tokens=420_000).training.learning_rate

    start = {"init": "models/en-de"}
    assert rate(training=start) == pytest.approx(0.05 / 128)
    assert rate(training=start, tokenizer={"vocabulary": "new"}) == pytest.approx(rate() / 2)
    assert rate(training=start | {"learning_rate": 0.002}, tokenizer={"vocabulary": "new"}) == 0.002


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
