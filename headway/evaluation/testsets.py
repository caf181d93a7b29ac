"""sacreBLEU's own test sets: what everybody scores on. It downloads them, once, and only when asked to."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headway.config import did_you_mean
from headway.errors import HeadwayError, RequestError

PATIENCE = 20.0  # seconds of silence from a server, which sacreBLEU itself would wait out for ever
LISTED = 24  # names that fit into a message


@dataclass(frozen=True)
class TestSet:
    """Files of one sentence a line."""

    __test__ = False  # no test of pytest's

    source: Path
    references: list[Path]


def check_testset(name: str, source_language: str, target_language: str) -> None:
    """Refuse what sacreBLEU does not have, before anything is downloaded."""
    from sacrebleu.dataset import DATASETS

    if not source_language or not target_language:
        raise RequestError(f"Which languages of {name}?", "Name them: --from en --to de.")
    pair = f"{source_language}-{target_language}"
    if name not in DATASETS:
        known = [other for other, dataset in DATASETS.items() if pair in dataset.langpairs]
        known.sort(key=lambda other: ("/" in other, other))  # wmt14 before wmt14/full, which are many
        there = f"For {pair} there are: {_list(known)}." if known else f"It has none for {pair}."
        raise RequestError(f"sacreBLEU has no test set {name}.{did_you_mean(name, sorted(DATASETS))}", there)
    dataset = DATASETS[name]
    if pair not in dataset.langpairs:
        pairs = sorted(dataset.langpairs)
        raise RequestError(f"{name} has no {pair}.{did_you_mean(pair, pairs)}", f"It has: {_list(pairs)}.")


def find_testset(name: str, source_language: str, target_language: str) -> TestSet:
    """The files of a test set, downloaded if they are not there."""
    from sacrebleu.dataset import DATASETS

    check_testset(name, source_language, target_language)
    dataset, pair = DATASETS[name], f"{source_language}-{target_language}"
    folder = Path(dataset._outdir)
    with _downloading(name, folder):
        return TestSet(Path(dataset.get_source_file(pair)), [Path(file) for file in dataset.get_reference_files(pair)])


@contextmanager
def _downloading(name: str, folder: Path) -> Iterator[None]:
    """Whatever goes wrong in sacreBLEU's code, said in our words: it exits, logs and raises in many ways.

    What it locked while it failed is taken away again.
    """
    logger, before = logging.getLogger("sacrebleu"), socket.getdefaulttimeout()
    was_disabled, logger.disabled = logger.disabled, True
    socket.setdefaulttimeout(PATIENCE)
    locked = set(folder.rglob("*.lock"))
    try:
        yield
    except SystemExit:
        _unlock(folder, locked)
        raise HeadwayError(
            f"The test set {name} was downloaded, but is not what sacreBLEU expects.", f"Delete {folder}, and try again."
        ) from None
    except Exception as error:
        _unlock(folder, locked)
        cause = getattr(error, "reason", None) or error
        reason = getattr(cause, "strerror", None) or str(cause) or type(error).__name__
        raise HeadwayError(
            f"The test set {name} cannot be downloaded: {reason.rstrip('.')}.",
            f"Check the network, or copy {folder} from a machine that has it. Other files go with --source and --references.",
        ) from None
    finally:
        socket.setdefaulttimeout(before)
        logger.disabled = was_disabled


def _unlock(folder: Path, before: set[Path]) -> None:
    for lock in set(folder.rglob("*.lock")) - before:
        lock.unlink(missing_ok=True)


def _list(names: list[str]) -> str:
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
