"""The processes that train one model together: which of them this one is, and the little that they say to each other.

Sums are of numbers, words are text: nothing is pickled.
"""

import os
import sys
from collections.abc import Sequence
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import Store  # type: ignore[attr-defined]

LOCAL = "127.0.0.1"
_LOOPBACK = {"linux": "lo", "darwin": "lo0"}
_PATIENCE = timedelta(days=1)  # to wait for each other: the first process may be preparing a large corpus


class Group:
    """One process of `size`, numbered by `rank`; the first one speaks, writes and decides."""

    def __init__(self, rank: int = 0, size: int = 1, place: int = 0) -> None:
        self.rank, self.size = rank, size
        self.device = torch.device("cuda", place) if torch.cuda.is_available() else torch.device("cpu")

    @property
    def first(self) -> bool:
        return self.rank == 0

    def sum(self, *numbers: float) -> list[float]:
        """Each number, summed over all processes."""
        total = torch.tensor(numbers, dtype=torch.float64)
        if self.size > 1:
            dist.all_reduce(total)
        return total.tolist()

    def tell(self, words: str) -> str:
        """What the first process says, heard by all."""
        if self.size == 1:
            return words
        said = torch.frombuffer(bytearray(words.encode()), dtype=torch.uint8) if self.first and words else torch.empty(0)
        length = torch.tensor([len(said)])
        dist.broadcast(length, 0)
        heard = said if self.first else torch.empty(int(length), dtype=torch.uint8)
        if int(length):
            dist.broadcast(heard, 0)
        return bytes(heard.to(torch.uint8).numpy()).decode()

    def gather(self, numbers: Sequence[int]) -> list[int]:
        """The numbers of the first process, then those of the second, and so on, for all."""
        if self.size == 1:
            return list(numbers)
        lengths = torch.zeros(self.size, dtype=torch.int64)
        lengths[self.rank] = len(numbers)
        dist.all_reduce(lengths)
        padded = torch.zeros(self.size, int(lengths.max()), dtype=torch.int64)
        padded[self.rank, : len(numbers)] = torch.tensor(numbers, dtype=torch.int64)
        dist.all_reduce(padded)
        return [number for row, length in zip(padded.tolist(), lengths.tolist(), strict=True) for number in row[:length]]

    def start_sum(self, tensor: Tensor) -> "dist.Work":
        """Sum a tensor in place over all processes, while this one goes on."""
        return dist.all_reduce(tensor, async_op=True)

    def leave(self) -> None:
        if self.size > 1:
            dist.destroy_process_group()


def join(store: Store, rank: int, size: int) -> Group:
    """Meet the other processes of this machine at a store that one of them keeps. Nothing leaves the machine."""
    if sys.platform in _LOOPBACK:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", _LOOPBACK[sys.platform])
    dist.init_process_group(_backend(), store=store, rank=rank, world_size=size, timeout=_PATIENCE)
    return Group(rank, size, place=rank)


def under_torchrun() -> bool:
    """Whether torchrun started this process, and others."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ["WORLD_SIZE"]) > 1


def join_torchrun() -> Group | None:
    """Meet the processes that torchrun started, perhaps on many machines; None where it did not start this one."""
    if not under_torchrun():
        return None
    dist.init_process_group(_backend(), timeout=_PATIENCE)
    return Group(dist.get_rank(), dist.get_world_size(), place=int(os.environ["LOCAL_RANK"]))


def _backend() -> str:
    return "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
