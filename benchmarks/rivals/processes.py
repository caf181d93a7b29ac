"""One command in several processes: the first starts the others with its own arguments, and all do the same in step."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from torch.distributed import TCPStore  # type: ignore[attr-defined]

from headway.errors import TrainingError
from headway.training.group import LOCAL, Group, join

PLACE = "HEADWAY_RIVAL_PLACE"  # of a process that was started so: its rank, their number and the port where they meet
_HERE = "process {} is here"


def is_first() -> bool:
    return PLACE not in os.environ


@contextmanager
def start_processes(size: int) -> Iterator[Group]:
    if not is_first():
        yield _join_first()
        return
    if size == 1:
        yield Group()
        return
    store = TCPStore(LOCAL, 0, size, is_master=True, wait_for_workers=False)
    others = [_start(rank, size, store.port) for rank in range(1, size)]
    try:
        while not store.check([_HERE.format(rank) for rank in range(1, size)]):
            if any(other.poll() is not None for other in others):
                raise TrainingError("A process ended before its work began.", "What it said stands above.")
            time.sleep(0.02)
        group = join(store, 0, size)
        yield group
        group.leave()
    finally:
        for other in others:
            assert other.stdin
            other.stdin.close()  # which ends it
            other.wait()


def _start(rank: int, size: int, port: int) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, PLACE: f"{rank} {size} {port}"}
    return subprocess.Popen([sys.executable, *sys.argv], env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)


def _join_first() -> Group:
    rank, size, port = map(int, os.environ[PLACE].split())
    threading.Thread(target=_end_with_first, daemon=True).start()
    store = TCPStore(LOCAL, port, size, is_master=False)
    store.set(_HERE.format(rank), "")
    return join(store, rank, size)


def _end_with_first() -> None:
    sys.stdin.buffer.read()
    os._exit(0)
