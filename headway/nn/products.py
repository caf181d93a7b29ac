"""Which library computes the fp32 matrix products of learning.

Torch asks MKL, and MKL gives the processors of AMD kernels of half their width. oneDNN, which torch brings along, does not: on
those with AVX-512 its products are as exact and take half the time. It compiles one for each shape, so that it is for the large
products of learning, and not for searches, in which every step has a shape of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from headway.cores import name_processor

_MKLDNN = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]


@contextmanager
def wide_products() -> Iterator[None]:
    """While the block runs, where it pays; of one training at a time in a process."""
    if are_wide() or not has_wide_products():
        yield
        return
    before, _MKLDNN.fp32_precision = _MKLDNN.fp32_precision, "bf16"
    try:
        yield
    finally:
        _MKLDNN.fp32_precision = before


def are_wide() -> bool:
    return has_wide_products() and _MKLDNN.fp32_precision == "bf16"


@cache
def has_wide_products() -> bool:
    """Torch has no other name for them than bf16, which oneDNN may take then, and does where there is AMX: so only if they are
    exact. Not by what is faster today: the same run has to compute the same whenever it goes on.
    """
    if "AMD" not in name_processor() or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    left = torch.linspace(-1, 1, 64 * 64, dtype=torch.float32, device="cpu").reshape(64, 64)
    exact = left.double() @ left.double().t()
    before, _MKLDNN.fp32_precision = _MKLDNN.fp32_precision, "bf16"
    try:
        with torch.autocast("cpu", enabled=False):
            error = (left @ left.t() - exact).abs().max()
    finally:
        _MKLDNN.fp32_precision = before
    return bool(error < 1e-5 * exact.abs().max())  # bf16 has errors of a thousandth
