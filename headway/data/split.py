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

SHARE, MOST = 0.02, 2_000  # of the corpus, for each part


@dataclass(frozen=True)
class Digests:
    """One row a pair: the hashes of its sentences, whether it may be used at all, and whether it is fit to be held out."""

    source: NDArray[np.uint64]
    target: NDArray[np.uint64]
    usable: NDArray[np.bool_]
    eligible: NDArray[np.bool_]


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
    leaking: NDArray[np.bool_]


def digest(sentence: str) -> int:
    """The same for sentences that differ only in Unicode composition or in white space."""
    content = " ".join(normalize(sentence).split()).encode()
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def default_held_out(pairs: int) -> int:
    return min(MOST, max(1, round(SHARE * pairs)))


def cut(digests: Digests, *, valid: int, test: int, apart_from: NDArray[np.uint64]) -> Split:
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
    leaking = digests.usable & (np.isin(digests.source, held_out) | np.isin(digests.target, held_out))
    leaking[chosen] = False
    return Split(chosen[to_valid], chosen[~to_valid], leaking)


def _choose(digests: Digests, size: int, apart_from: NDArray[np.uint64]) -> NDArray[np.int64]:
    rows = np.flatnonzero(digests.eligible & ~np.isin(digests.source, apart_from) & ~np.isin(digests.target, apart_from))
    source, target = digests.source[rows], digests.target[rows]
    everything = np.sort(np.concatenate([digests.source[digests.usable], digests.target[digests.usable]]))
    cost = _occurrences(source, everything) + _occurrences(target, everything)
    by_hash = source * np.uint64(0x9E3779B97F4A7C15) + target  # wraps around; odd, so that no bit of the source is lost
    chosen: list[int] = []
    seen: set[int] = set()
    for place in np.lexsort((by_hash, cost)):
        if len(chosen) == size:
            break
        sentences = {int(source[place]), int(target[place])}
        if seen.isdisjoint(sentences):
            chosen.append(int(rows[place]))
            seen |= sentences
    return np.array(chosen, np.int64)


def _occurrences(values: NDArray[np.uint64], ordered: NDArray[np.uint64]) -> NDArray[np.int64]:
    return np.searchsorted(ordered, values, "right") - np.searchsorted(ordered, values, "left")
