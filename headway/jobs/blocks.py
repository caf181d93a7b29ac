"""Lines in blocks, and the shards of a job, which are ranges of blocks."""

import re
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from headway.data.readers import decode_lines
from headway.errors import RequestError
from headway.jobs.streams import CHUNK, PipeLines, open_input

BLOCK = 2048  # lines; the same input gives the same bytes only with the same blocks
ALL = range(sys.maxsize)


@dataclass(frozen=True)
class Block:
    lines: list[str]
    position: int  # bytes of the input that were read up to its end; 0 where that is not known
    first: int = 0  # a number for its first line that no line of another block has: draws depend on it


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of a job that different machines do."""

    number: int
    count: int

    def choose(self, blocks: int) -> range:
        """Its blocks, of so many: the shards' outputs one after the other are the whole."""
        return range((self.number - 1) * blocks // self.count, self.number * blocks // self.count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def parse_shard(text: str) -> Shard:
    found = re.fullmatch(r"(\d+)/(\d+)", text, re.ASCII)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise RequestError(f"--shard {text} is no shard.", "The third of eight is --shard 3/8; they count from 1.")
    return Shard(int(found[1]), int(found[2]))


def read_blocks(files: Sequence[Path], size: int, wanted: range = ALL) -> Generator[Block, None, None]:
    """The wanted blocks of some files, counted over all of them; every file begins a new block."""
    number = read = 0
    for path in files:
        with open_input(path) as source:
            lines = decode_lines(_blank_unwanted(source.text, size, number, wanted), str(path))
            while number < wanted.stop and (block := list(islice(lines, size))):
                if number in wanted:
                    yield Block(block, read + source.position(), number * size)
                number += 1
            if number >= wanted.stop:
                return
            read += source.position()


def _blank_unwanted(lines: Iterable[bytes], size: int, first: int, wanted: range) -> Iterator[bytes]:
    """Lines that nobody wants are not decoded, but counted: an error names the right one."""
    for place, line in enumerate(lines):
        yield line if first + place // size in wanted else b""


def read_pipe(lines: PipeLines, size: int, *, whole: bool) -> Generator[Block, None, None]:
    """Blocks of standard input. Unless only whole ones are asked for, a pause ends a block: somebody waits for the answer."""
    block: list[str] = []
    done = 0
    for line in decode_lines(lines, "standard input"):
        block.append(line)
        if len(block) == size or (not whole and lines.pauses()):
            yield Block(block, 0, done)
            done += len(block)
            block = []
    if block:
        yield Block(block, 0, done)


def read_lines(files: Sequence[Path]) -> Iterator[str]:
    """The lines of files one after the other, or of standard input."""
    if not files:
        yield from decode_lines(sys.stdin.buffer, "standard input")
    for path in files:
        with open_input(path) as source:
            yield from decode_lines(source.text, str(path))


def count_lines(path: Path) -> int:
    """As many as `read_blocks` gives: a last line needs no end."""
    count, last = 0, b"\n"
    with open_input(path) as source:
        while chunk := source.text.read(CHUNK):
            count, last = count + chunk.count(b"\n"), chunk[-1:]
    return count + (last != b"\n")
