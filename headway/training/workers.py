"""The other processes of this machine: started, told whom to join, watched, and ended with this one.

`headway train` is the first process of the group; each worker is a Python of its own that runs `main` here. A worker holds
nothing that the first process has not got too, so it may be ended at any moment.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from torch.distributed import TCPStore  # type: ignore[attr-defined]

from headway.errors import HeadwayError, TrainingError
from headway.training.group import LOCAL, Group, join

_ROOT = Path(__file__).parents[2]  # the last place where a worker looks for this Headway
_HUNG_UP = 75  # exit code of a worker whose others are gone
_LEFT_ALONE = (_HUNG_UP, -signal.SIGABRT)  # how such a worker ends: gloo's own threads may be the first to notice, and abort
_GRACE, _POLL = 3.0, 0.02  # seconds between a worker's end and the news of it; between two looks


@contextmanager
def start_group(size: int) -> Iterator[Group]:
    """This process and `size - 1` workers. If one of them ends before it is told to, so does the block, with its error."""
    if size == 1:
        yield Group()
        return
    store = TCPStore(LOCAL, 0, size, is_master=True, wait_for_workers=False)
    workers: list[_Worker] = []
    group = None
    try:
        for rank in range(1, size):
            workers.append(_Worker(rank, size, store.port))
        while not store.check([worker.arrival for worker in workers]):
            _raise_failure(workers)
            time.sleep(_POLL)
        group = join(store, 0, size)
        yield group
    except RuntimeError:  # perhaps somebody hung up
        end = time.monotonic() + _GRACE
        while time.monotonic() < end:
            _raise_failure(workers, apart_from=_LEFT_ALONE)
            time.sleep(_POLL)
        _raise_failure(workers, apart_from=(_HUNG_UP,))
        _raise_failure(workers)
        raise
    finally:
        for worker in workers:
            worker.end()
        if group:
            group.leave()


class _Worker:
    def __init__(self, rank: int, size: int, port: int) -> None:
        self.rank, self.arrival = rank, _arrival(rank)
        self._said: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `end`)
        # Modules are found where this process finds them, in the same order: nothing comes before Python's own.
        path = os.pathsep.join(map(os.path.abspath, [*sys.path, str(_ROOT)]))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "headway.training.workers", str(rank), str(size), str(port)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
        )

    def end(self) -> None:
        """By closing its standard input, which is also what happens if this process is killed."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._said.close()

    def explain(self, code: int) -> str:
        """Why it ended with such a code, in its own words if it has any."""
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip()
        if code < 0:
            return f"it was ended by {signal.Signals(-code).name}" + (" (out of memory?)" if code == -signal.SIGKILL else "")
        return said or f"it ended with code {code}"


def _arrival(rank: int) -> str:
    """What a worker leaves at the store when it is there."""
    return f"process {rank} is here"


def _raise_failure(workers: list[_Worker], apart_from: Container[int] = ()) -> None:
    """If one has ended, but for those that did their work, or ended with one of the codes `apart_from`."""
    for worker in workers:
        code = worker.process.poll()
        if code and code not in apart_from:
            raise TrainingError(
                f"Process {worker.rank + 1} of {len(workers) + 1} stopped: {worker.explain(code)}",
                "What was saved before is whole: the same command goes on from there; --processes 1 does without others.",
            )


def main() -> None:
    """A worker: `python -m headway.training.workers RANK SIZE PORT`, with a standard input that ends when its parent does."""
    rank, size, port = map(int, sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the first process, which tells the others
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    from headway.training.team import follow

    store = TCPStore(LOCAL, port, size, is_master=False)
    store.set(_arrival(rank), "")
    try:
        follow(join(store, rank, size))
    except HeadwayError as error:
        sys.exit(str(error))
    except RuntimeError as error:  # of gloo, most likely
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(_HUNG_UP)  # at once: to take down a group that has lost a member may abort
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
