"""What this machine has and can do: cores, memory, its best matrix product; and how many processes make use of them."""

import ctypes
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Literal

import torch

from headway.amounts import amount, are
from headway.config import TrainingSettings
from headway.cores import count_cores
from headway.errors import RequestError
from headway.nn.products import wide_products

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
THREADS = torch.get_num_threads()  # as torch chose them; whoever translated since may have changed them
ORDINARY_CORE, ORDINARY_GPU = 40e9, 10e12  # FLOP/s: half of what a core with AVX2 reaches at best, a third of a small GPU
LEAST_WIDTH = 256  # d_model from which on bf16 pays on a processor that has it: 1.4 times faster there, 0.8 to 1.3 times at 128
KEPT_PRODUCTS = 128  # compiled for their shapes: those of an update, which its layers share
LEAST_TOKENS = 512  # target tokens of an update for each process: less is not worth a process


def choose_division(training: TrainingSettings, d_model: int, processes: int | None = None) -> TrainingSettings:
    """The settings with what this machine decides: by how many processes and threads, and how precisely. Some may be there."""
    assert training.batch_tokens
    given = None if training.processes == "auto" else training.processes
    if given and processes and given != processes:
        raise RequestError(
            f"torchrun started {amount(processes, 'process')}, --processes says {given}.", "Leave --processes out."
        )
    processes = processes or given or _choose_processes(training.batch_tokens)
    if torch.cuda.is_available() and processes > torch.cuda.device_count() and "LOCAL_WORLD_SIZE" not in os.environ:
        there = torch.cuda.device_count()
        raise RequestError(f"There {are(there)} {amount(there, 'GPU')}, not {processes}.", "Give fewer --processes.")
    if training.shard and processes == 1:
        raise RequestError("One process has nobody to share a model with.", "Leave --shard out, or give --processes 2 or more.")
    check_optimizer(training)
    chosen = {
        "processes": processes,
        "threads": training.threads or _choose_threads(processes),
        "precision": training.precision or _choose_precision(d_model),
    }
    return training.model_copy(update=chosen)


def check_optimizer(training: TrainingSettings) -> None:
    if training.shard and training.optimizer == "muon":
        raise RequestError(
            "Muon needs whole matrices, and with --shard a process has shares of them.",
            "Leave --shard out, or train a new model with --optimizer adam.",
        )


def _choose_processes(batch_tokens: int) -> int:
    """One a GPU; on a processor one a core, if each has enough to do."""
    if torch.cuda.is_available():
        return torch.cuda.device_count()
    return max(1, min(count_cores(), batch_tokens // LEAST_TOKENS))


def _choose_threads(processes: int) -> int:
    """What OMP_NUM_THREADS says, or a process's share of this machine's cores."""
    if "OMP_NUM_THREADS" in os.environ:
        return THREADS
    here = int(os.environ.get("LOCAL_WORLD_SIZE", processes))  # torchrun's name for its processes on this machine
    return max(1, THREADS // here)


def _choose_precision(d_model: int) -> Literal["fp32", "bf16"]:
    """bf16 where the hardware has instructions for it; without them, a product takes a hundred times as long. On a processor,
    turning numbers from one kind into the other takes a narrow model about the time that its products save.
    """
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if d_model < LEAST_WIDTH:
        return "fp32"
    known = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return "bf16" if any(has and has() for has in known) else "fp32"


def keep_memory() -> None:
    """Have the C library keep what is freed: the next update takes it again, and the system need not clear its pages."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.mallopt(_M_MMAP_THRESHOLD, 2**30)
        library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def bound_products() -> None:
    """Have oneDNN, and torch that keeps them too, forget the products that were compiled for the shapes of earlier updates:
    hardly a batch has the shape of another, and a thousand of them take gigabytes. Before the first; what the user says wins.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, str(KEPT_PRODUCTS))


@contextmanager
def threads(number: int | None) -> Iterator[None]:
    """Torch's, while the block runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def ordinary_speed(training: TrainingSettings) -> float:
    """FLOP/s that training comes to on an ordinary machine with as many cores or GPUs as this one; not measured. Who says how
    many processes and threads there are may leave some cores to others.
    """
    if torch.cuda.is_available():
        return ORDINARY_GPU * torch.cuda.device_count()
    asked = training.processes * training.threads if training.processes != "auto" and training.threads else math.inf
    return ORDINARY_CORE * min(asked, count_cores())


def measure_peak(training: TrainingSettings, device: torch.device) -> float:
    """FLOP/s of this process's best large matrix product, as precise as the run's; measured once for each number of threads."""
    return _measure_peak(DTYPES[training.precision or "fp32"], device, torch.get_num_threads())


@cache
def _measure_peak(dtype: torch.dtype, device: torch.device, threads: int) -> float:
    bound_products()  # oneDNN asks once, at its first product
    with wide_products():
        small, large = 256, 8192 if device.type == "cuda" else 1536
        has_instructions = min(_time_product(small, dtype, device) for _ in range(2)) < 0.01  # seconds; bf16 may have none
        size = large if has_instructions else small
        return 2 * size**3 / min(_time_product(size, dtype, device) for _ in range(4))


def measure_joint_peak(training: TrainingSettings, device: torch.device) -> float:
    """FLOP/s of all cores or GPUs that a run will use."""
    assert isinstance(training.processes, int) and training.threads
    with threads(min(count_cores(), training.processes * training.threads)):
        return measure_peak(training, device) * (training.processes if device.type == "cuda" else 1)


def _time_product(size: int, dtype: torch.dtype, device: torch.device) -> float:
    left, right = (torch.ones(size, size, dtype=dtype, device=device) for _ in range(2))
    start = time.perf_counter()
    float((left @ right)[0, 0])  # waits for a GPU
    return time.perf_counter() - start
