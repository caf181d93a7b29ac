"""What each trick of training gives: a step with all of them against a step with one of them taken out, interleaved.

    python benchmarks/ablation.py [--preset tiny] [--tokens 2048] [--rounds 15] [--out benchmarks/results/ablation.json]

One process, one thread, as each process of a run has it: forward, backward, clipping and Adam on one batch of `--tokens`
target tokens in sentences of 16 pieces, 8,000 pieces, dropout 0.3, label smoothing 0.1. Times are processor time, medians.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
from machine import describe_run
from torch import Tensor

from headway.config import ModelSettings
from headway.data.batching import Batch, collate
from headway.models.build import build
from headway.models.presets import PRESETS, build_architecture
from headway.nn import attention, products
from headway.nn.dropout import Dropout
from headway.training import loss
from headway.training.group import Group
from headway.training.loss import Loss
from headway.training.machine import bound_products, keep_memory
from headway.training.replicas import Replicas

VOCAB, LENGTH = 8000, 16


def make_batch(tokens: int, random: np.random.Generator) -> Batch:
    def sentences(shortest: int) -> list[list[int]]:
        lengths = random.integers(shortest, LENGTH, tokens // LENGTH)
        return [random.integers(4, VOCAB, length).tolist() for length in lengths]

    return collate(sentences(12), sentences(LENGTH - 1), pad=0, bos=1, eos=2)


@contextmanager
def without_short_attention() -> Iterator[None]:
    with mock.patch.object(attention, "find_longest", lambda dtype, wide: 0):
        yield


@contextmanager
def with_dropout_of_torch() -> Iterator[None]:
    def forward(self: Dropout, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)

    def add(self: Dropout, x: Tensor, y: Tensor) -> Tensor:
        return x + F.dropout(y, self.p, self.training)

    with mock.patch.object(Dropout, "forward", forward), mock.patch.object(Dropout, "add", add):
        yield


@contextmanager
def with_masks_of_bytes() -> Iterator[None]:
    """Cheap masks, but made as truth values and not added in the same go."""

    def forward(self: Dropout, x: Tensor) -> Tensor:
        draws = torch.randint(-(2**63), 2**63 - 1, ((x.numel() + 3) // 4,))
        keep = draws.view(torch.int16)[: x.numel()].view(x.shape) >= self.dropped - 2**15
        return x * (keep.to(x.dtype) * (2**16 / (2**16 - self.dropped)))

    def add(self: Dropout, x: Tensor, y: Tensor) -> Tensor:
        return x + forward(self, y)

    with mock.patch.object(Dropout, "forward", forward), mock.patch.object(Dropout, "add", add):
        yield


@contextmanager
def with_all_logits() -> Iterator[None]:
    def cross_entropy(hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float) -> Tensor:
        return F.cross_entropy(hidden @ weight.t(), target, label_smoothing=smoothing, reduction="sum")

    with mock.patch.object(loss, "fused_loss", cross_entropy):
        yield


def with_products_of_torch() -> object:
    return mock.patch.object(products, "has_wide_products", lambda: False)


def with_rows(rows: int) -> Callable[[], object]:
    return lambda: mock.patch.dict(loss.ROWS, cpu=rows)


VARIANTS: dict[str, Callable[[], object]] = {
    "all": nullcontext,
    "attention by torch's kernel": without_short_attention,
    "dropout by nn.Dropout": with_dropout_of_torch,
    "dropout masks by way of bytes": with_masks_of_bytes,
    "products by torch's choice of a library": with_products_of_torch,
    "loss on all logits at once": with_all_logits,
    "loss in chunks of 512 rows": with_rows(512),
    "loss in chunks of 64 rows": with_rows(64),
}


def measure(preset: str, tokens: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of processor time of each variant's steps."""
    random = np.random.default_rng(1)
    settings = ModelSettings(preset=preset, dropout=0.3)
    model = build(build_architecture(settings, source_vocab=VOCAB, target_vocab=VOCAB, shared=True)).train()
    learner = Replicas(Loss(model, smoothing=0.1), Group())
    batches = [make_batch(tokens, random) for _ in range(4)]
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for turn in range(rounds + 1):
        for name, variant in VARIANTS.items():
            with variant(), products.wide_products():  # type: ignore[attr-defined]
                begun = time.process_time()
                learner.begin()
                (learner.loss(batches[turn % len(batches)]) / tokens).backward()
                learner.finish(clip=1.0)
                learner.step(1e-4)
                if turn:  # the first round warms up
                    times[name].append(time.process_time() - begun)
    return times


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="tiny", choices=PRESETS)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--return-memory", action="store_true", help="let the C library give freed memory back")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "ablation.json")
    return parser.parse_args(words)


def main() -> None:
    options = parse()
    torch.set_num_threads(1)
    if not options.return_memory:
        keep_memory()
    bound_products()
    times = measure(options.preset, options.tokens, options.rounds)
    whole = times["all"]
    result = {
        name: {
            "ms": round(1000 * statistics.median(seconds), 1),
            "ratio": round(statistics.median(one / other for one, other in zip(seconds, whole, strict=True)), 3),
        }
        for name, seconds in times.items()
    }
    told = json.dumps({"preset": options.preset, "tokens": options.tokens, **describe_run(), "steps": result}, indent=2)
    options.out.write_text(f"{told}\n", encoding="utf-8")
    print(told)


if __name__ == "__main__":
    main()
