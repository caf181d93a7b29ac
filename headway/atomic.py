"""Files and directories that are whole at every moment: written beside, synced, then renamed.

A process that is killed, or a disk that fills, leaves what was there before.
"""

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.errors import HeadwayError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """An empty directory to fill; when the block ends well it takes the place of `path`, and of what stood there."""
    path = path.absolute()
    beside, previous = path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.previous")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if previous.exists() and not path.exists():  # killed between the two renames of `_swap`
            previous.rename(path)
        shutil.rmtree(beside, ignore_errors=True)
        try:
            beside.mkdir()
            yield beside
            _sync_tree(beside)
            _swap(beside, path)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        _sync(path.parent)


def write_file(path: Path, content: bytes | str) -> None:
    """Replace a file's content as a whole."""
    path = path.absolute()
    beside = path.with_name(f".{path.name}.new")
    with writing(path):
        try:
            beside.write_bytes(content.encode() if isinstance(content, str) else content)
            _sync(beside)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        _sync(path.parent)


def _swap(new: Path, path: Path) -> None:
    """Put `new` where `path` is, in one step where the system can exchange two names (Linux), else in two."""
    if not path.exists():
        new.rename(path)
        return
    exchange = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if exchange and exchange(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(path), _RENAME_EXCHANGE) == 0:
        return
    previous = path.with_name(f".{path.name}.previous")
    shutil.rmtree(previous, ignore_errors=True)
    path.rename(previous)
    new.rename(path)
    shutil.rmtree(previous, ignore_errors=True)


def _sync_tree(directory: Path) -> None:
    for path in directory.rglob("*"):
        _sync(path)
    _sync(directory)


def _sync(path: Path) -> None:
    if os.name == "nt":  # opens no directory, and syncs no file that is open for reading
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Explain what keeps `path` from being written."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise HeadwayError(
                f"The disk is full: {path} could not be written.",
                "What was saved before is whole. Free some space, then run the same command again.",
            ) from error
        raise HeadwayError(
            f"{path} cannot be written: {error.strerror or error}.", "Give a place that you may write to."
        ) from error
