"""An output file that is whole or not there, and whose making goes on after an interruption.

FILE grows as .FILE.part. .FILE.journal tells which request it answers, how many blocks are done, and how many bytes those
have; it is written after they are safely on the disk, so it never claims more than there is. What a killed process wrote after
that is cut off by the next one.
"""

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from filelock import FileLock, Timeout

from headway.atomic import write_file, writing
from headway.errors import HeadwayError, RequestError

EVERY = 1.0  # seconds between two entries: to sync after each block could take as long as to translate it


class Part:
    """The growing file. After `with`, `blocks` and `lines` tell what is done already, and `finished` whether that is all.

    Without `keep` it is not made to go on: for input that cannot be read again.
    """

    def __init__(self, path: Path, request: dict[str, Any], *, keep: bool = True) -> None:
        self.path = path.absolute()
        self.blocks = self.lines = self.bytes = 0
        self.finished = False
        self.starts_anew = False  # though another request's output had been begun
        self._keep = keep
        self._request = json.loads(json.dumps(request))
        self._part, self._journal, lock = (self.path.with_name(f".{path.name}.{what}") for what in ("part", "journal", "lock"))
        self._lock = FileLock(lock, timeout=0)
        self._file: IO[bytes] | None = None
        self._saved = time.monotonic()

    def __enter__(self) -> "Part":
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire()
            except Timeout:
                raise RequestError(f"{self.path} is being written by another process.", "Wait for it, or stop it.") from None
            try:
                if self._keep:
                    self._recall()
                if not self.finished:
                    if not self.blocks:
                        self.forget()  # what it tells of is about to be overwritten
                    self._file = self._part.open("ab", buffering=0)
                    self._file.truncate(self.bytes)
            except BaseException:
                self._release()
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file:
            self._file.close()
        if not self.finished and self._keep:
            with suppress(HeadwayError):  # the disk is full, perhaps, and whoever asked knows it by now
                self._save()
        elif not self.finished:
            self._part.unlink(missing_ok=True)
        self._release()

    def write(self, content: bytes, lines: int) -> None:
        """Add a block of so many lines."""
        assert self._file
        with writing(self.path):
            rest = memoryview(content)
            while rest:
                rest = rest[self._file.write(rest) :]
        self.blocks, self.lines, self.bytes = self.blocks + 1, self.lines + lines, self.bytes + len(content)
        if self._keep and time.monotonic() - self._saved >= EVERY:
            self._save()

    def finish(self) -> None:
        """Give it its name. The journal stays until `forget`, so that a job of many files knows which it has."""
        assert self._file
        self._file.close()
        self.finished = True
        self._save()
        with writing(self.path):
            self._part.replace(self.path)

    def forget(self) -> None:
        self._journal.unlink(missing_ok=True)

    def _save(self) -> None:
        with writing(self.path):
            with self._part.open("rb+") as file:
                os.fsync(file.fileno())
            done = {"finished": self.finished, "blocks": self.blocks, "lines": self.lines, "bytes": self.bytes}
            write_file(self._journal, json.dumps({**done, "request": self._request}, indent=1, ensure_ascii=False))
        self._saved = time.monotonic()

    def _recall(self) -> None:
        """What an earlier process did of the same request, as far as it is still there."""
        try:
            entry = json.loads(self._journal.read_text(encoding="utf-8"))
            request, finished, size, blocks, lines = (entry[key] for key in ("request", "finished", "bytes", "blocks", "lines"))
        except (OSError, ValueError, KeyError, TypeError):
            return
        if request != self._request:
            self.starts_anew = True
            return
        if finished and _size(self._part) == size:  # killed just before it got its name
            self._part.replace(self.path)
        if _size(self.path) == size if finished else _size(self._part) >= size:
            self.blocks, self.lines, self.bytes, self.finished = blocks, lines, size, finished

    def _release(self) -> None:
        Path(self._lock.lock_file).unlink(missing_ok=True)  # first: nobody waits for it, and who comes now finds it held
        self._lock.release()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else -1
