from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np

from headway.data.batching import collate, epoch_batches
from headway.data.store import Segment, Store, StoreWriter

DRAW = np.random.default_rng(1)
SOURCE = DRAW.integers(1, 60, 2_000)
TARGET = DRAW.integers(1, 60, 2_000)
WHOLE = [Segment(0, 2_000, 1.0)]


def batches(
    segments: list[Segment] = WHOLE, *, batch_tokens: int = 1_000, accumulate: int = 3, seed: int = 1, epoch: int = 1
) -> list[list[np.ndarray]]:
    return epoch_batches(SOURCE, TARGET, segments, batch_tokens=batch_tokens, accumulate=accumulate, seed=seed, epoch=epoch)


def flat(updates: list[list[np.ndarray]]) -> list[int]:
    return np.concatenate(list(chain.from_iterable(updates))).tolist()


def test_every_pair_once() -> None:
    assert sorted(flat(batches())) == list(range(2_000))


def test_passes_keep_to_both_budgets() -> None:
    updates = batches()
    for one_pass in chain.from_iterable(updates):
        assert (TARGET[one_pass] + 1).sum() <= 1_000 / 3
        assert len(one_pass) * (SOURCE[one_pass].max() + 1) <= 2 * 1_000 / 3
    assert {len(update) for update in updates[:-1]} == {3} and 1 <= len(updates[-1]) <= 3


def test_passes_are_well_filled_and_little_padded() -> None:
    passes = list(chain.from_iterable(batches()))
    real = sum((TARGET[one_pass] + 1).sum() for one_pass in passes)
    padded = sum(len(one_pass) * (TARGET[one_pass].max() + 1) for one_pass in passes)
    assert real / padded > 0.95
    assert real / len(passes) > 0.6 * 1_000 / 3


def test_a_pair_longer_than_the_budget_is_a_pass_alone() -> None:
    updates = epoch_batches(
        np.array([5, 900, 5]), np.array([900, 5, 5]), [Segment(0, 3, 1.0)], batch_tokens=50, accumulate=1, seed=1, epoch=1
    )
    assert sorted(update[0].tolist() for update in updates) == [[0], [1], [2]]


def test_the_order_is_fixed_by_seed_and_epoch() -> None:
    assert flat(batches()) == flat(batches())
    assert flat(batches(seed=2)) != flat(batches()) != flat(batches(epoch=2))


def test_weights_take_a_share_or_repeat() -> None:
    segments = [Segment(0, 1_000, 0.3), Segment(1_000, 1_500, 2.0), Segment(1_500, 2_000, 1.5)]
    counts, later = Counter(flat(batches(segments))), Counter(flat(batches(segments, epoch=2)))
    share = [i for i in range(1_000) if counts[i]]
    assert len(share) == 300 and max(counts[i] for i in share) == 1
    assert share != [i for i in range(1_000) if later[i]]
    assert {counts[i] for i in range(1_000, 1_500)} == {2}
    assert Counter(counts[i] for i in range(1_500, 2_000)) == {1: 250, 2: 250}


def test_collate_pads_and_marks_the_ends(tmp_path: Path) -> None:
    with StoreWriter(tmp_path, source_vocab=20, target_vocab=20) as writer:
        writer.append([[9], [5, 6], [4]], [[19], [7], [8, 9]])
        writer.end_segment(1.0)
    store = Store(tmp_path)
    batch = collate([store.source(1), store.source(2)], [store.target(1), store.target(2)], pad=0, bos=1, eos=2)
    assert batch.source.tolist() == [[5, 6, 2], [4, 2, 0]]
    assert batch.target_in.tolist() == [[1, 7, 0], [1, 8, 9]]
    assert batch.target_out.tolist() == [[7, 2, 0], [8, 9, 2]]
    assert batch.target_tokens == 5
    assert batch.source.dtype == batch.target_in.dtype == batch.target_out.dtype == np.int64
