"""Held-out parts, cut so that the same corpus gives the same parts and no sentence of theirs stays in training.

A sentence is known by 8 bytes of a hash: the cut depends on contents alone, not on the order of the files nor on a run's seed
(runs of several seeds are tested on the same sentences), and a corpus of millions of pairs is split in a few bytes a pair.
"""

from array import array
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from headway.errors import DataError
from headway.text.normalize import normalize

Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]
SHARE, MOST = 0.02, 2_000  # of the corpus, for each part
ONCE = 2  # the cost of a pair whose two sentences occur nowhere else
PART = 1_000_000  # hashes looked up at once


@dataclass(frozen=True)
class Digests:
    """One row a pair: the hashes of its sentences, whether it may be used at all, and whether it is fit to be held out."""

    source: Hashes
    target: Hashes
    usable: Mask
    eligible: Mask


@dataclass
class DigestCollector:
    """Gathers `Digests` pair by pair."""

    _source: "array[int]" = field(default_factory=lambda: array("Q"))
    _target: "array[int]" = field(default_factory=lambda: array("Q"))
    _flags: bytearray = field(default_factory=bytearray)

    def add(self, source: str, target: str, *, usable: bool = True, eligible: bool = True) -> None:
        self._source.append(digest(source))
        self._target.append(digest(target))
        self._flags.append(usable + 2 * (usable and eligible))

    def finish(self) -> Digests:
        flags = np.frombuffer(self._flags, np.uint8)
        source, target = np.frombuffer(self._source, np.uint64), np.frombuffer(self._target, np.uint64)
        return Digests(source, target, (flags & 1).astype(np.bool_), (flags & 2).astype(np.bool_))


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

    Pairs whose sentences occur nowhere else come first, since holding them out costs training nothing else; among equals the
    hash decides.
    """
    chosen = _choose(digests, valid + test, apart_from)
    if len(chosen) < min(valid, 1) + min(test, 1) or len(chosen) >= int(digests.usable.sum()):
        parts = " and ".join(name for name, size in (("validation", valid), ("test", test)) if size)
        raise DataError(
            f"{int(digests.usable.sum()):,} usable pairs are too few to cut {valid + test:,} off for {parts} "
            f"and have some left to train on: {len(chosen):,} of ordinary length share no sentence with another part.",
            "Give held-out corpora with --valid and --test, a smaller --held-out, or more training data.",
        )
    # Dealt out in turn, so that both parts are alike where the corpus has few sentences that occur once.
    turns = np.arange(len(chosen))
    to_valid = turns * valid // (valid + test) < (turns + 1) * valid // (valid + test) if valid else turns < 0
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


def _choose(digests: Digests, size: int, apart_from: Hashes) -> NDArray[np.int64]:
    """Rows by their cost and then by their hash, without those that share a sentence with one before."""
    if not size:
        return np.empty(0, np.int64)
    free = digests.eligible & ~among(digests.source, apart_from) & ~among(digests.target, apart_from)
    by_hash = digests.source * np.uint64(0x9E3779B97F4A7C15)  # wraps around; odd, so that no bit of the source is lost
    by_hash += digests.target
    # Most pairs of most corpora occur once: the first few by hash hold enough of them, and the others need no look.
    looked_at = 4 * size
    while True:
        looked_at = min(looked_at, len(by_hash))
        rows = np.flatnonzero(free & (by_hash <= np.partition(by_hash, looked_at - 1)[looked_at - 1]))
        cost = _cost(digests, rows)
        if looked_at == len(by_hash) or np.count_nonzero(cost == ONCE) >= size:
            break
        looked_at *= 16
    chosen: list[int] = []
    seen: set[int] = set()
    for row in rows[np.lexsort((by_hash[rows], cost))].tolist():
        if len(chosen) == size:
            break
        sentences = {int(digests.source[row]), int(digests.target[row])}
        if seen.isdisjoint(sentences):
            chosen.append(row)
            seen |= sentences
    return np.array(chosen, np.int64)


def _cost(digests: Digests, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often the two sentences of each row occur in the corpus."""
    sides = digests.source, digests.target
    wanted = np.concatenate([side[rows] for side in sides])
    found = np.sort(np.concatenate([side[digests.usable & among(side, wanted)] for side in sides]))
    occurrences = np.searchsorted(found, wanted, "right") - np.searchsorted(found, wanted, "left")
    return occurrences[: len(rows)] + occurrences[len(rows) :]
