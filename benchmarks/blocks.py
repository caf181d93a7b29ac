"""Fast paths against their slow twins, forward and backward, interleaved: milliseconds and ratios.

    python benchmarks/blocks.py [--threads 1]

At the sizes of the tiny preset: 4,096 tokens in sentences of 16, d_model 128, 4 heads, 8,000 pieces.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.nn.attention import attention, fast_attention
from headway.nn.dropout import Dropout
from headway.nn.masks import causal_mask
from headway.training.loss import fused_loss


def measure(work: Callable[[], Tensor]) -> float:
    start = time.perf_counter()
    work().sum().backward()
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)

    hidden = torch.randn(4096, 128, requires_grad=True)
    weight = torch.randn(8000, 128, requires_grad=True)
    target = torch.randint(8000, (4096,))
    query, key, value = (torch.randn(256, 4, 16, 32, requires_grad=True) for _ in range(3))
    mask, cheap, usual = causal_mask(16), Dropout(0.3), nn.Dropout(0.3)
    pairs = {
        "loss": (
            lambda: fused_loss(hidden, weight, target, 0.1),
            lambda: F.cross_entropy(hidden @ weight.t(), target, label_smoothing=0.1, reduction="sum"),
        ),
        "dropout": (lambda: cheap(hidden), lambda: usual(hidden)),
        "attention": (
            lambda: fast_attention(query, key, value, mask=mask),
            lambda: attention(query, key, value, mask=mask)[0],
        ),
    }
    result = {}
    for name, (fast, slow) in pairs.items():
        times = [(measure(fast), measure(slow)) for _ in range(options.rounds + 2)][2:]
        medians = [statistics.median(side) for side in zip(*times, strict=True)]
        result[name] = {
            "fast_ms": round(medians[0], 2),
            "slow_ms": round(medians[1], 2),
            "ratio": round(statistics.median(slow / fast for fast, slow in times), 2),
        }
    print(json.dumps({"threads": options.threads, **result}, indent=2))


if __name__ == "__main__":
    main()
