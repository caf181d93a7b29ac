"""Text as it lies on disks: plain, or packed by gzip (.gz) or Zstandard (.zst), as the ending of a file's name tells."""

import gzip
import io
import os
import select
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from headway.errors import DataError, HeadwayError

PACKED = (".gz", ".zst")
CHUNK = 2**16
PAUSE = 0.1  # seconds without input after which somebody is taken to wait for an answer


@dataclass(frozen=True)
class Input:
    """A file that is being read: its text, unpacked, and the file on the disk below it."""

    text: IO[bytes] | gzip.GzipFile
    file: IO[bytes]

    def position(self) -> int:
        """Bytes of the file that were read so far, packed ones where it is packed."""
        return self.file.tell() if self.file.seekable() else 0


@contextmanager
def open_input(path: Path) -> Iterator[Input]:
    with path.open("rb") as file:
        try:
            if path.suffix == ".gz":
                yield Input(gzip.GzipFile(fileobj=file), file)
            elif path.suffix == ".zst":
                yield Input(io.BufferedReader(_Zstandard(file)), file)
            else:
                yield Input(file, file)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(
                f"{path} cannot be unpacked: {error}.", "It is damaged or cut off: make it or copy it again."
            ) from None


def pack(text: bytes, path: Path) -> bytes:
    """Text as it is written to `path`: each call gives a member of gzip or a frame of Zstandard, and files of those may be cut
    and put together between them. The same text gives the same bytes."""
    if path.suffix == ".gz":
        return gzip.compress(text, mtime=0)
    if path.suffix == ".zst":
        return _zstandard().ZstdCompressor(write_checksum=True).compress(text)
    return text


def check_input(path: Path) -> None:
    """Say what is wrong with a file before any work is done. It is not opened: a pipe can be read only once."""
    try:
        is_directory = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise DataError(
            f"There is no file {path}." if missing else f"{path} cannot be read: {error.strerror}.",
            "Check the name." if missing else "Check who may read it.",
        ) from None
    if is_directory:
        raise DataError(f"{path} is a directory, not a file.", f"Name the files in it, for example '{path / '*.txt'}'.")
    if not os.access(path, os.R_OK):
        raise DataError(f"{path} cannot be read.", "Check who may read it.")
    if path.suffix == ".zst":
        _zstandard()


class PipeLines:
    """The lines of a pipe or a terminal, and whether the next one keeps us waiting."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._whole: list[bytes] = []  # lines that were read and not handed out, the next one last
        self._begun: list[bytes] = []  # pieces of a line whose end is still to come

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._stream.read1(CHUNK):
            first, *more = chunk.split(b"\n")
            self._begun.append(first)
            for piece in more:
                self._whole.append(b"".join(self._begun) + b"\n")
                self._begun = [piece]
            self._whole.reverse()
            while self._whole:
                yield self._whole.pop()
        if rest := b"".join(self._begun):
            yield rest

    def pauses(self) -> bool:
        if self._whole:
            return False
        if sys.platform == "win32":  # whose `select` knows only sockets
            return bool(self._stream.isatty())
        try:
            return not select.select([self._stream.fileno()], [], [], PAUSE)[0]
        except io.UnsupportedOperation:  # no file below it, so nothing to wait for
            return False


class _Zstandard(io.RawIOBase):
    """The text of one frame after another. Unlike the package's own reader it notices a last frame that was cut off."""

    def __init__(self, file: IO[bytes]) -> None:
        self._chunks = self._unpack(file)
        self._text = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._text = memoryview(chunk)
        size = min(len(buffer), len(self._text))
        buffer[:size], self._text = self._text[:size], self._text[size:]
        return size

    @staticmethod
    def _unpack(file: IO[bytes]) -> Iterator[bytes]:
        package = _zstandard()
        frame, rest = None, b""
        while packed := rest or file.read(CHUNK):
            frame, rest = frame or package.ZstdDecompressor().decompressobj(), b""
            try:
                yield frame.decompress(packed)
            except package.ZstdError as error:
                raise EOFError(error) from None
            if frame.eof:
                rest = frame.unused_data
                frame = None
        if frame:
            raise EOFError("the last frame has no end")


def _zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError:
        raise HeadwayError("Files in .zst need a package that is not here.", "pip install 'headway[zstd]'") from None
    return zstandard
