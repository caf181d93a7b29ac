"""Held-out parts, cut so that the same corpus gives the same parts and no sentence of theirs stays in training.

A sentence is known by 8 bytes of a hash: the cut depends on contents alone, not on the order of the files nor on a run's seed
(runs of several seeds are tested on the same sentences), and a corpus of millions of pairs is split in a few bytes a pair.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from headway.amounts import amount, are
from headway.errors import DataError
from headway.text.normalize import normalize

Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]
SHARE, MOST = 0.02, 2_000  # of the corpus, for each part
ONCE = 2  # the cost of a pair whose two sentences occur nowhere else
TENTHS = 10  # of its pairs, in which a direction gives to the parts
PART = 1_000_000  # hashes looked up at once


@dataclass(frozen=True)
class Digests:
    """One row a pair: the hashes of its sentences, whether it may be used at all, whether it is fit to be held out, and the
    number of its direction.
    """

    source: Hashes
    target: Hashes
    usable: Mask
    eligible: Mask
    direction: NDArray[np.uint16]


@dataclass
class DigestCollector:
    """Gathers `Digests` pair by pair."""

    _source: "array[int]" = field(default_factory=lambda: array("Q"))
    _target: "array[int]" = field(default_factory=lambda: array("Q"))
    _flags: bytearray = field(default_factory=bytearray)
    _direction: "array[int]" = field(default_factory=lambda: array("H"))

    def add(self, source: str, target: str, *, usable: bool = True, eligible: bool = True, direction: int = 0) -> None:
        self._source.append(digest(source))
        self._target.append(digest(target))
        self._flags.append(usable + 2 * (usable and eligible))
        self._direction.append(direction)

    def finish(self) -> Digests:
        flags = np.frombuffer(self._flags, np.uint8)
        source, target = np.frombuffer(self._source, np.uint64), np.frombuffer(self._target, np.uint64)
        direction = np.frombuffer(self._direction, np.uint16)
        return Digests(source, target, (flags & 1).astype(np.bool_), (flags & 2).astype(np.bool_), direction)


@dataclass(frozen=True)
class Split:
    """Row numbers of the parts, and which rows training loses because they repeat a held-out sentence."""

    valid: NDArray[np.int64]
    test: NDArray[np.int64]
    leaking: Mask


def digest(sentence: str) -> int:
    """The same for sentences that differ only in Unicode composition or in white space."""
    content = " ".join(normalize(sentence).split()).encode()
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def default_held_out(pairs: int, least: int = 1) -> int:
    """`least`: so many at least, unless they would be more than a tenth."""
    return min(MOST, max(1, min(least, pairs // 10), round(SHARE * pairs)))


def cut(digests: Digests, *, valid: int, test: int, apart_from: Hashes) -> Split:
    """Choose `valid` and `test` pairs (0: none) that share no sentence with each other or with `apart_from`.

    Of each direction, pairs whose sentences occur nowhere else come first, since holding them out costs training nothing else;
    among equals the hash decides.
    """
    # The parts take turns, so that both are alike where the corpus has few sentences that occur once.
    turns = np.arange(valid + test)
    to_valid = turns * valid // (valid + test) < (turns + 1) * valid // (valid + test) if valid else turns < 0
    chosen = _choose(digests, to_valid, apart_from)
    usable = int(digests.usable.sum())
    if len(chosen) < min(valid, 1) + min(test, 1) or len(chosen) >= usable:
        parts = " and ".join(name for name, size in (("validation", valid), ("test", test)) if size)
        raise DataError(
            f"{amount(usable, 'usable pair')} {are(usable)} too few to cut {valid + test:,} off for {parts} "
            f"and have some left to train on: of ordinary length and without a sentence of another part "
            f"there {are(len(chosen))} {len(chosen):,}.",
            "Give held-out corpora with --valid and --test, a smaller --held-out, a larger --max-length, or more text.",
        )
    to_valid = to_valid[: len(chosen)]
    held_out = np.concatenate([digests.source[chosen], digests.target[chosen]])
    leaking = digests.usable & (among(digests.source, held_out) | among(digests.target, held_out))
    leaking[chosen] = False
    return Split(chosen[to_valid], chosen[~to_valid], leaking)


def among(values: Hashes, wanted: Hashes) -> Mask:
    """`np.isin` where many values meet few wanted ones: that would sort the values, in many times their memory."""
    if not len(wanted):
        return np.zeros(len(values), np.bool_)
    ordered = np.sort(wanted)
    parts = (values[start : start + PART] for start in range(0, len(values), PART))
    return np.concatenate([ordered[np.searchsorted(ordered[:-1], part)] == part for part in parts])


@dataclass
class _Queue:
    """The rows of a direction that may be held out, best first, and how many of them each part has got."""

    direction: int
    rows: Iterator[int]
    usable: int
    taken: list[int] = field(default_factory=lambda: [0, 0])

    def place(self, part: int) -> tuple[int, ...]:
        """Of the directions, the first by this gives the part's next pair.

        That is the one of which the part has fewest. But one that has given a tenth of its pairs waits until all others have:
        as many of a small direction as of a large one could be all that it has.
        """
        taken = sum(self.taken)
        return ((taken + 1) * TENTHS - 1) // self.usable, self.taken[part], taken, self.direction


def _choose(digests: Digests, to_valid: Mask, apart_from: Hashes) -> NDArray[np.int64]:
    """A row for each turn, none of which shares a sentence with one before; fewer, where there are no more."""
    if not len(to_valid):
        return np.empty(0, np.int64)
    free = digests.eligible & ~among(digests.source, apart_from) & ~among(digests.target, apart_from)
    by_hash = digests.source * np.uint64(0x9E3779B97F4A7C15)  # wraps around; odd, so that no bit of the source is lost
    by_hash += digests.target
    queues = []
    for direction in range(int(digests.direction.max(initial=0)) + 1):
        own = digests.direction == direction
        rows = _rank(digests, free & own, by_hash, len(to_valid))
        queues.append(_Queue(direction, iter(rows), max(1, int(np.count_nonzero(digests.usable & own)))))
    chosen: list[int] = []
    seen: set[int] = set()
    while queues and len(chosen) < len(to_valid):
        part = int(to_valid[len(chosen)])
        queue = min(queues, key=lambda queue: queue.place(part))
        for row in queue.rows:
            sentences = {int(digests.source[row]), int(digests.target[row])}
            if seen.isdisjoint(sentences):
                chosen.append(row)
                seen |= sentences
                queue.taken[part] += 1
                break
        else:
            queues.remove(queue)
    return np.array(chosen, np.int64)


def _rank(digests: Digests, own: Mask, by_hash: Hashes, size: int) -> list[int]:
    """The rows by their cost and then by their hash: all, or so many that `size` of them can be chosen."""
    hashes = by_hash[own]
    # Most pairs of most corpora occur once: the first few by hash hold enough of them, and the others need no look.
    looked_at = 4 * size
    while len(hashes):
        looked_at = min(looked_at, len(hashes))
        hashes.partition(looked_at - 1)
        rows = np.flatnonzero(own & (by_hash <= hashes[looked_at - 1]))
        cost = _cost(digests, rows)
        if looked_at == len(hashes) or np.count_nonzero(cost == ONCE) >= size:
            return rows[np.lexsort((by_hash[rows], cost))].tolist()
        looked_at *= 16
    return []


def _cost(digests: Digests, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often the two sentences of each row occur in the corpus."""
    sides = digests.source, digests.target
    wanted = np.concatenate([side[rows] for side in sides])
    found = np.sort(np.concatenate([side[digests.usable & among(side, wanted)] for side in sides]))
    occurrences = np.searchsorted(found, wanted, "right") - np.searchsorted(found, wanted, "left")
    return occurrences[: len(rows)] + occurrences[len(rows) :]
