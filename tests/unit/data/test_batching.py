from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.data import batching
from headway.data.batching import IGNORED, collate, epoch_batches
from headway.data.store import Segment, Store, StoreWriter

DRAW = np.random.default_rng(1)
SOURCE = DRAW.integers(1, 60, 2_000)
TARGET = DRAW.integers(1, 60, 2_000)
WHOLE = [Segment(0, 2_000, 1.0)]
WEIGHTED = [Segment(0, 1_000, 0.3), Segment(1_000, 1_500, 2.0), Segment(1_500, 2_000, 1.5)]


def batches(
    segments: list[Segment] = WHOLE, *, batch_tokens: int = 1_000, accumulate: int = 3, seed: int = 1, epoch: int = 1
) -> list[list[np.ndarray]]:
    return epoch_batches(
        SOURCE + 1, TARGET + 1, segments, batch_tokens=batch_tokens, accumulate=accumulate, seed=seed, epoch=epoch
    )


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


def test_the_order_is_the_one_that_older_runs_had() -> None:
    """A run that goes on with a newer Headway must not see some pairs twice and others never."""
    assert batches()[0][2].tolist() == [1458, 1674, 1174, 1150, 633, 1190]
    assert batches(WEIGHTED)[0][2].tolist() == [1148, 1148, 1618, 1618, 60, 11, 1603, 1603, 1239, 1239, 1860]


def test_the_order_takes_four_bytes_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "POOL", 300)
    passes = list(chain.from_iterable(batches()))
    (order,) = {id(one_pass.base): one_pass.base for one_pass in passes}.values()
    assert order is not None and order.nbytes == 4 * 2_000


def test_pairs_beyond_the_reach_of_four_bytes() -> None:
    far = 2**31
    lengths = np.broadcast_to(np.int64(5), far + 2)  # takes no memory
    updates = epoch_batches(lengths, lengths, [Segment(far - 1, far + 2, 1.0)], batch_tokens=50, accumulate=1, seed=1, epoch=1)
    assert sorted(flat(updates)) == [far - 1, far, far + 1]


def test_weights_take_a_share_or_repeat() -> None:
    counts, later = Counter(flat(batches(WEIGHTED))), Counter(flat(batches(WEIGHTED, epoch=2)))
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
    source, read = batch.inputs
    assert source.tolist() == [[5, 6, 2], [4, 2, 0]]
    assert read.tolist() == [[1, 7, 0], [1, 8, 9]]
    assert batch.target.tolist() == [[7, 2, IGNORED], [8, 9, 2]]
    assert batch.judged == 5
    assert source.dtype == read.dtype == batch.target.dtype == np.int64


@pytest.mark.parametrize("kind", [list, np.uint16, np.uint32])
def test_collate_is_row_by_row_what_it_should_be(kind: type) -> None:
    def sentences() -> list[Any]:
        drawn = [DRAW.integers(0, 60_000, size) for size in [0, *DRAW.integers(0, 12, 40)]]  # special ids too: they are kept
        return [ids.tolist() if kind is list else ids.astype(kind) for ids in drawn]

    sources, targets = sentences(), sentences()
    batch = collate(sources, targets, pad=0, bos=1, eos=2)
    widths = max(map(len, sources)) + 1, max(map(len, targets)) + 1
    sources_read, targets_read = batch.inputs
    assert sources_read.shape == (41, widths[0]) and targets_read.shape == batch.target.shape == (41, widths[1])
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        assert sources_read[row].tolist() == [*source, 2] + [0] * (widths[0] - len(source) - 1)
        assert targets_read[row].tolist() == [1, *target] + [0] * (widths[1] - len(target) - 1)
        assert batch.target[row].tolist() == [*target, 2] + [IGNORED] * (widths[1] - len(target) - 1)
    assert batch.judged == sum(map(len, targets)) + 41
    assert sources_read.dtype == targets_read.dtype == batch.target.dtype == np.int64
