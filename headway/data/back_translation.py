"""The text of back-translation, before and after the reverse model: the genuine pairs that every training reads, the lines that
are worth translating, and of their translations those that can be right.

No sentence of a held-out part gets through, on either side: a model that has seen the references is not tested by them.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np

from headway.amounts import amount
from headway.data.build import PART, Progress
from headway.data.filters import is_blank
from headway.data.pairtext import PairWriter
from headway.data.readers import Corpus, Pair, read_lines
from headway.data.split import Hashes, Mask, among, digest
from headway.errors import DataError

Languages = tuple[str, str]  # source and target, as files end in them
Losses = dict[str, int]  # why something was left out, and how often
SHORT = 30  # characters up to which a translation may have any length
RATIO = 3.0  # a translation is wrong if it is so many times as long or as short as is usual
HELD_OUT = "that stand in the held-out parts"


@dataclass(frozen=True)
class HeldOut:
    """The held-out parts of a run, and which of their pairs its training corpora hold."""

    valid: list[Pair]
    test: list[Pair]
    cut_off: list[Pair]

    def digests(self) -> set[int]:
        return _digest_all([*self.valid, *self.test])


@dataclass(frozen=True)
class Texts:
    """What all stages read: `train-1` and so on, `monolingual-1` and so on, `valid` and `test`, each with its languages."""

    pairs: list[int]  # of each training corpus
    lines: list[int]  # of each monolingual text
    lines_read: int
    left_out: Losses  # lines
    usual: float  # characters of a source for one of its target

    def tell(self) -> str:
        losses = f"; left out: {tell_losses(self.left_out)}" if self.left_out else ""
        return f"{amount(self.lines_read, 'line')} of monolingual text, {sum(self.lines):,} to translate{losses}"


def write_texts(
    directory: Path,
    corpora: Sequence[Corpus],
    monolingual: Sequence[Path],
    held_out: HeldOut,
    languages: Languages,
    on_progress: Progress,
) -> Texts:
    """Write what all stages read into an empty directory."""
    for name, part in (("valid", held_out.valid), ("test", held_out.test)):
        with PairWriter(directory, name, languages) as writer:
            writer.append(part)
    pairs, (sources, targets), usual = _write_genuine(directory, corpora, _digest_all(held_out.cut_off), languages, on_progress)
    apart = np.array(sorted(held_out.digests()), np.uint64)
    known = {"that the corpora have already": targets, "that are source sentences of the corpora": sources}
    keep, left_out = _choose_lines(monolingual, {HELD_OUT: apart, **known}, on_progress)
    if not keep.any():
        raise DataError(
            f"No line of {', '.join(map(str, monolingual))} is left to translate: {len(keep):,} read; "
            f"left out: {tell_losses(left_out)}.",
            "Give text of the target language that the corpora do not have.",
        )
    lines, wanted = [0] * len(monolingual), iter(keep.tolist())
    for place, path in enumerate(monolingual):
        with (directory / f"monolingual-{place + 1}.{languages[1]}").open("w", encoding="utf-8", newline="\n") as file:
            for line in compress(read_lines(path), wanted):
                file.write(f"{line}\n")
                lines[place] += 1
    return Texts(pairs, lines, len(keep), left_out, usual)


def _write_genuine(
    directory: Path, corpora: Sequence[Corpus], cut_off: set[int], languages: Languages, on_progress: Progress
) -> tuple[list[int], tuple[Hashes, Hashes], float]:
    """The pairs of each corpus that share no sentence with those that were cut off: how many, their sources and targets, and
    how many characters of a source come on one of its target."""
    counts, sources, targets, read, written = [], array("Q"), array("Q"), 0, 0
    for number, corpus in enumerate(corpora, 1):
        before = len(targets)
        with PairWriter(directory, f"train-{number}", languages) as writer:
            for pair in corpus:
                source, target = map(digest, pair)
                if is_blank(*pair) or source in cut_off or target in cut_off:
                    continue
                writer.append([pair])
                sources.append(source)
                targets.append(target)
                read, written = read + len(pair[0]), written + len(pair[1])
                if len(targets) % PART == 0:
                    on_progress("Gathering pairs", len(targets), None)
        counts.append(len(targets) - before)
    return counts, (np.frombuffer(sources, np.uint64), np.frombuffer(targets, np.uint64)), read / written


def _choose_lines(files: Sequence[Path], apart: dict[str, Hashes], on_progress: Progress) -> tuple[Mask, Losses]:
    """Which lines of all files are worth translating, and why others are not: `apart` has sentences of no use, by why."""
    found = array("Q")
    for path in files:
        for line in read_lines(path):
            found.append(digest(line))
            if len(found) % PART == 0:
                on_progress("Reading monolingual text", len(found), None)
    hashes = np.frombuffer(found, np.uint64)
    repeated = np.ones(len(hashes), np.bool_)
    repeated[np.unique(hashes, return_index=True)[1]] = False
    keep, left_out = np.ones(len(hashes), np.bool_), Losses()
    for reason, bad in (
        ("blank", hashes == np.uint64(digest(""))),
        *((why, among(hashes, sentences)) for why, sentences in apart.items()),
        ("repeated", repeated),
    ):
        if count := int((bad & keep).sum()):
            left_out[reason] = count
        keep &= ~bad
    return keep, left_out


def pair_up(
    translations: Iterable[str], lines: Iterable[str], usual: float, apart: set[int], left_out: Counter[str]
) -> Iterator[Pair]:
    """The translations that can be right, as sources of their lines; why others are left out is counted."""
    for source, target in zip(translations, lines, strict=True):
        if reason := _reason_to_drop(source, target, usual, apart):
            left_out[reason] += 1
        else:
            yield source, target


def _reason_to_drop(source: str, target: str, usual: float, apart: set[int]) -> str | None:
    if not source.strip():
        return "empty"
    shorter, longer = sorted((len(source), usual * len(target)))
    if longer > SHORT and longer > RATIO * shorter:
        return "too long or too short for their sentence"
    found = digest(source)
    if found == digest(target):
        return "copied"
    return HELD_OUT if found in apart else None


def tell_losses(losses: Losses) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in losses.items())


def _digest_all(pairs: Iterable[Pair]) -> set[int]:
    return {digest(sentence) for pair in pairs for sentence in pair}
