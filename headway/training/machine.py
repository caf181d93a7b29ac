"""What this machine has and can do: cores, memory, its best matrix product; and how many processes make use of them."""

import ctypes
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from headway.config import TrainingSettings

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LEAST_TOKENS = 512  # target tokens of an update for each process: with fewer, they wait for each other (benchmarks/README.md)


def count_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_division(training: TrainingSettings, processes: int | None = None) -> TrainingSettings:
    """The settings with what this machine decides: by how many processes and threads, and how precisely. Some may be there."""
    assert training.batch_tokens
    if processes is None:
        processes = _choose_processes(training.batch_tokens) if training.processes == "auto" else training.processes
    chosen = {
        "processes": processes,
        "threads": training.threads or _choose_threads(processes),
        "precision": training.precision or _choose_precision(),
    }
    return training.model_copy(update=chosen)


def _choose_processes(batch_tokens: int) -> int:
    """One a GPU; on a processor one a core, if each has enough to do."""
    if torch.cuda.is_available():
        return torch.cuda.device_count()
    return max(1, min(count_cores(), batch_tokens // LEAST_TOKENS))


def _choose_threads(processes: int) -> int:
    """Each process's share of those that torch would use: the cores, or what OMP_NUM_THREADS says."""
    return max(1, torch.get_num_threads() // processes)


def _choose_precision() -> Literal["fp32", "bf16"]:
    """bf16 where it is faster: on a processor without instructions for it, a product takes a hundred times as long."""
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    wide, narrow = (min(_time_product(256, torch.device("cpu"), kind) for _ in range(3)) for kind in DTYPES.values())
    return "bf16" if narrow < 0.7 * wide else "fp32"


def keep_memory() -> None:
    """Have the C library keep what is freed: the next update takes it again, and the system need not clear its pages."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.mallopt(_M_MMAP_THRESHOLD, 2**30)
        library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


@contextmanager
def threads(number: int | None) -> Iterator[None]:
    """Torch's, while the block runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def measure_peak(device: torch.device) -> float:
    """FLOP/s of this process's best large fp32 matrix product."""
    size = 8192 if device.type == "cuda" else 1536
    return 2 * size**3 / min(_time_product(size, device, torch.float32) for _ in range(4))


def _time_product(size: int, device: torch.device, dtype: torch.dtype) -> float:
    left, right = (torch.ones(size, size, device=device, dtype=dtype) for _ in range(2))
    start = time.perf_counter()
    float((left @ right)[0, 0])  # waits for a GPU
    return time.perf_counter() - start
