"""Runs that are killed and started again, for the tests of exactness: in `make test` a few times, in `make soak` a hundred."""

import hashlib
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from conftest import train_command

STEPS, EVERY = 60, 5
MORE = (
    "--max-steps",
    STEPS,
    "--checkpoint-every",
    EVERY,
    "--valid-every",
    20,
    "--metric",
    "loss",
    "--sampling",
    0.1,
    "--ema",
    0.9,
)


def run_to_the_end(corpus: Path, out: Path, *more: object) -> str:
    """What the run says."""
    process = start(corpus, out, *more)
    _, said = process.communicate()
    assert process.returncode == 0, said
    return said


def start(corpus: Path, out: Path, *more: object) -> subprocess.Popen:
    command = [sys.executable, "-m", "headway", *map(str, train_command(corpus, out, *MORE, *more))]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def digest(run: Path) -> str:
    """Of all that a run ends with."""
    files = [run / name / "weights.safetensors" for name in ("best", "last")]
    newest = sorted((run / "checkpoints").iterdir())[-1]
    files += sorted(newest.glob("*.safetensors"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def kill_at_random(corpus: Path, out: Path, random: random.Random, *more: object) -> tuple[int, bool]:
    """Start the run or go on with it, and kill it somewhere: the update it went on from, and whether it was saving just then.

    Half of the moments are in the middle of writing a checkpoint: its directory is there, and has not got its name yet.
    """
    before = newest_step(out)
    goal = min(before + EVERY * random.randint(1, 3), STEPS - EVERY)
    saving = random.random() < 0.5
    place = out / "checkpoints" / (f".step-{goal:08d}.new" if saving else f"step-{goal:08d}")
    left = _made(place)  # by the kill before this one
    process = start(corpus, out, *more)
    while _made(place) in (None, left) and process.poll() is None:
        time.sleep(0.0002)
    if not saving:
        time.sleep(random.uniform(0, 0.2))
    others = children(process.pid)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), said
    wait_until_gone(others)
    begun = re.search(r"Going on from update ([0-9,]+)", said)
    assert (int(begun[1].replace(",", "")) if begun else 0) == before, said
    return before, saving and _made(place) not in (None, left)


def _made(place: Path) -> int | None:
    """When a directory was made or filled; None if it is not there."""
    try:
        return place.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def newest_step(out: Path) -> int:
    return max((int(path.name[5:]) for path in out.glob("checkpoints/step-*")), default=0)


def children(pid: int) -> list[int]:
    return [int(word) for task in Path(f"/proc/{pid}/task").glob("*/children") for word in task.read_text().split()]


def wait_until_gone(pids: list[int], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < end, f"still there: {pids}"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
