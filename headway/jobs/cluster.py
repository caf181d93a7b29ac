"""The blocks of a job on a Ray cluster.

Each block is a task of one processor. A process of the cluster loads the model for its first block and keeps it. When a process
or a machine is lost, Ray does its blocks again elsewhere; results are written by the process that asked, in order, once each.
"""

import os
import socket
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway import __version__
from headway.bundle import MANIFEST
from headway.errors import HeadwayError
from headway.jobs.blocks import Block
from headway.jobs.local import OnBlock, Output, Work
from headway.jobs.render import Render, join_lines

if TYPE_CHECKING:
    from headway.translator import Translator

WAITING = 2  # blocks for each processor: one is being done, one is at hand
RETRIES = 5  # of a block whose process died: what kills them all must come to an end
SECONDS = 10  # within which a cluster answers
Facts = tuple[str, tuple[tuple[str, str], ...], tuple[tuple[str, Any], ...]]  # what `load_once` is asked for

AGAIN = "With -o the same command goes on where it stopped, with or without --ray."
STORE = 2**28  # bytes that a cluster of this machine has for blocks on their way


@contextmanager
def join_cluster(
    address: str, models: Sequence[Path], loading: dict[str, str], options: dict[str, Any], render: Render
) -> Iterator[Work]:
    """Work for a cluster at an address as Ray knows it; `local` starts one on this machine and ends it afterwards.

    `loading` is how the models are loaded: engine and compute type.
    """
    ray = _import_ray()
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    own = {"include_dashboard": False, "object_store_memory": STORE} if address == "local" else {}
    with redirect_stdout(sys.stderr):  # where Ray tells of processes that died, among the results
        try:
            _knock(address)
            ray.init(address=address, **quiet, **own)
        except (OSError, ValueError, RuntimeError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise HeadwayError(
                f"There is no Ray cluster at {address}: {reason}.",
                "Give its address, host:port, or say `--ray local` for one of this machine.",
            ) from None
        try:
            yield _make_work(ray, [model.absolute() for model in models], loading, options, render)
        finally:
            ray.shutdown()


def _knock(address: str) -> None:
    """Ray itself needs a minute to find out that nobody is there."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS).close()


def _make_work(ray: Any, models: Sequence[Path], loading: dict[str, str], options: dict[str, Any], render: Render) -> Work:
    remote = ray.remote(num_cpus=1, max_retries=RETRIES)(translate_block)
    facts = (__version__, tuple((str(model), _read_manifest(model)) for model in models), tuple(loading.items()))
    cluster = WAITING * max(1, int(ray.cluster_resources().get("CPU", 1)))

    def work(blocks: Iterable[Block], *, ahead: int, on_progress: OnBlock) -> Iterator[Output]:
        most = cluster if ahead > 1 else 1
        asked: deque[tuple[Block, Any]] = deque()
        for block in blocks:
            asked.append((block, remote.remote(facts, block.lines, {**options, "first": block.first}, render)))
            if len(asked) == most:
                yield collect(*asked.popleft())
        while asked:
            yield collect(*asked.popleft())

    def collect(block: Block, answer: Any) -> Output:
        try:
            return Output(block, *ray.get(answer))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, HeadwayError):
                raise error.cause from None
            if "No module named" not in str(error):
                raise
            problem = str(error).splitlines()[-1]
            raise HeadwayError(f"The Ray cluster lacks a package: {problem}", f"Install Headway {__version__} there.") from None
        except ray.exceptions.RayError as error:
            raise HeadwayError(f"The Ray cluster failed: {str(error).splitlines()[0]}", AGAIN) from None

    return work


def translate_block(facts: Facts, lines: list[str], options: dict[str, Any], render: Render) -> tuple[bytes, str]:
    """What a process of the cluster does: the block's translation as it is written, and the warning."""
    translator = load_once(*facts)
    return join_lines(translator.translate(lines, **options), render), translator.warn(lines)


@cache
def load_once(version: str, models: tuple[tuple[str, str], ...], loading: tuple[tuple[str, Any], ...]) -> "Translator":
    """The models that were asked for, or a word that this machine has others."""
    here = f"on {socket.gethostname()}"
    if __version__ != version:
        raise HeadwayError(f"Headway is {__version__} {here}, and {version} where the job began.", "Install the same.")
    for model, manifest in models:
        try:
            found = _read_manifest(Path(model))
        except OSError as error:
            raise HeadwayError(
                f"The model {model} cannot be read {here}: {error.strerror}.",
                "Put it where all machines of the cluster find it under the same name, such as a shared disk.",
            ) from None
        if found != manifest:
            remedy = "Copy the same model to all machines of the cluster."
            raise HeadwayError(f"The model {model} is another one {here}.", remedy)
    from headway import load

    return load([model for model, _ in models], threads=1, **dict(loading))


def _read_manifest(model: Path) -> str:
    return (model / MANIFEST).read_text(encoding="utf-8")


def _import_ray() -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # it warns of what this will mean one day
    try:
        import ray
    except ImportError:
        raise HeadwayError("--ray needs a package that is not here.", "pip install 'headway[ray]'") from None
    return ray
