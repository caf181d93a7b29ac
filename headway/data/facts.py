"""What preparing a corpus found and did, in numbers for a program and in sentences for a person."""

from dataclasses import dataclass, field

from headway.amounts import amount
from headway.data.filters import Reason


@dataclass
class Facts:
    max_length: int
    max_ratio: float
    noun: str = "pair"  # what an example is called
    pairs_read: int = 0
    pairs_kept: int = 0
    dropped: dict[Reason, int] = field(default_factory=lambda: {"blank": 0, "long": 0, "ratio": 0})
    renamed: int = 0  # pairs that were made of others, with other names
    leaking: int = 0  # pairs left out of training because they repeat a sentence of a part that was cut off
    source_characters: int = 0  # of all pairs that are not blank
    target_characters: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    valid_pairs: int = 0
    test_pairs: int = 0
    valid_given: bool = False
    test_given: bool = False
    valid_overlap: int = 0  # source sentences of a given part that also stand in training
    test_overlap: int = 0
    vocab_asked: int = 0
    source_vocab: int = 0
    target_vocab: int = 0
    shared: bool = True
    classes: int = 0  # of a corpus of labels
    unknown: int = 0  # pieces that a given vocabulary does not know
    directions: dict[str, int] = field(default_factory=dict)  # of several, the training pairs of each that has a corpus
    missing: list[str] = field(default_factory=list)  # directions that are asked for and have none
    valid_directions: dict[str, int] = field(default_factory=dict)
    test_directions: dict[str, int] = field(default_factory=dict)

    def summary(self) -> list[str]:
        found = [self._pairs(), *self._directions(), *self._held_out(), *self._overlaps()]
        return [*found, self._vocabulary(), *self._unknown()]

    def losses(self) -> list[str]:
        """Why pairs were dropped, each reason that occurred."""
        reasons = {
            "blank": f"{self.dropped['blank']:,} blank",
            "long": f"{self.dropped['long']:,} over {self.max_length:,} pieces",
            "ratio": f"{self.dropped['ratio']:,} of a length ratio over {self.max_ratio:g}",
        }
        return [text for reason, text in reasons.items() if self.dropped[reason]]  # type: ignore[index]

    def _pairs(self) -> str:
        losses = f"; dropped: {', '.join(self.losses())}" if self.losses() else ""
        renamed = f", and {self.renamed:,} made of them with other names" if self.renamed else ""
        return f"{self._count(self.pairs_read)} read, {self.pairs_kept:,} kept for training{renamed}{losses}"

    def _directions(self) -> list[str]:
        """How many pairs each has, and where there is nothing to learn from or to judge by."""
        if not self.directions:
            return []
        told = [", ".join(f"{name} {self._count(pairs)}" for name, pairs in self.directions.items())]
        if self.missing:
            told.append(f"no corpus, so not learned: {', '.join(self.missing)}")
        for part, pairs in (("validation", self.valid_directions), ("test", self.test_directions)):
            if without := [name for name in self.directions if name not in pairs]:
                told.append(f"not in {part}: {', '.join(without)}")
        return [f"directions: {'; '.join(told)}"]

    def _held_out(self) -> list[str]:
        cut = [
            f"{self._count(size)} for {name}"
            for name, size, given in (
                ("validation", self.valid_pairs, self.valid_given),
                ("test", self.test_pairs, self.test_given),
            )
            if not given
        ]
        if not cut:
            return []
        repeat = "repeats" if self.leaking == 1 else "repeat"
        more = f"; {self.leaking:,} more that {repeat} one of their sentences left out of training" if self.leaking else ""
        return [f"held out: {', '.join(cut)}{more}"]

    def _overlaps(self) -> list[str]:
        return [
            f"{name}: {self._count(size)} given"
            + (f"; {overlap:,} of its source sentences also stand{'s' if overlap == 1 else ''} in training" if overlap else "")
            for name, size, given, overlap in (
                ("validation", self.valid_pairs, self.valid_given, self.valid_overlap),
                ("test", self.test_pairs, self.test_given, self.test_overlap),
            )
            if given
        ]

    def _unknown(self) -> list[str]:
        share = self.unknown / max(1, self.source_tokens + self.target_tokens)
        if share < 0.01:
            return []
        return [f"{share:.0%} of the pieces are unknown to the vocabulary of the model: is it one of these languages?"]

    def _count(self, number: int) -> str:
        return amount(number, self.noun)

    def _vocabulary(self) -> str:
        if self.noun == "picture":
            return f"{self.classes:,} classes"
        if self.classes:
            return f"vocabulary: {self.source_vocab:,} pieces; {self.classes:,} classes"
        sizes = f"{self.source_vocab:,} pieces, shared"
        if not self.shared:
            sizes = f"{self.source_vocab:,} pieces for the source, {self.target_vocab:,} for the target"
        shrunk = min(self.source_vocab, self.target_vocab) < self.vocab_asked
        return f"vocabulary: {sizes}" + (f", shrunk from {self.vocab_asked:,}: the corpus allows no more" if shrunk else "")
