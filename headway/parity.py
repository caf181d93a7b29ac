"""Proof that an exported model is the model: the same logits, the same translations, the same BLEU, on real sentences.

Whoever hands out a model in another form runs this, writes it down, and does not hand it out when it fails.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from headway.amounts import amount
from headway.decoding.options import Options
from headway.engines.engine import Job, Pieces
from headway.errors import DataError, HeadwayError
from headway.evaluation.metrics import bleu
from headway.translator import Translator

FILE = "parity.json"
LOGIT_SENTENCES = 20  # each costs a pass over every prefix
MOST_PIECES = 256  # of a sentence that is compared; some forms end at a position
LARGEST_DIFFERENCE = 1e-2  # of logits; rounding in another order gives some 1e-5
LEAST_EQUAL = 0.98  # share of translations; rounding may tip the balance between two that are as good


class Exported(Protocol):
    """What every exported form can be asked, in pieces without marks."""

    def logits(self, source: Pieces, target: Pieces) -> np.ndarray:
        """[len(target) + 1, V]: of what follows the begin mark and each piece of the target."""

    def translate(self, sources: Sequence[Pieces], limits: Sequence[int]) -> list[list[int]]:
        """Greedily, at most so many pieces each."""


@dataclass(frozen=True)
class Parity:
    sentences: int
    largest_logit_difference: float
    share_of_equal_translations: float
    bleu_of_torch: float
    bleu_of_export: float

    def __str__(self) -> str:
        return (
            f"On {amount(self.sentences, 'sentence')}: largest difference of logits {self.largest_logit_difference:.1e}, "
            f"{self.share_of_equal_translations:.1%} of translations equal, "
            f"BLEU {self.bleu_of_torch:.2f} in torch and {self.bleu_of_export:.2f} in the export (greedy)."
        )

    def write(self, directory: Path) -> None:
        (directory / FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def prove(
    translator: Translator,
    exported: Exported,
    pairs: Sequence[tuple[str, str]],
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Parity:
    """Compare an export with the torch engine, on pairs of sentences and references; what differs too much is refused."""
    engine, target = translator.engines.torch, translator.tokenizers.target
    cut = translator.tokenizers.source.encode([source.strip() for source, _ in pairs])
    pairs = [pair for pair, pieces in zip(pairs, cut, strict=True) if 0 < len(pieces) <= MOST_PIECES]
    sources = [pieces for pieces in cut if 0 < len(pieces) <= MOST_PIECES]
    if not pairs:
        raise DataError(
            "There is no sentence to compare on.", f"Give some of at most {MOST_PIECES} pieces: --source, --references."
        )
    limits = [len(source) + translator.decoding.max_extra for source in sources]
    ours: list[list[int]] = [[]] * len(sources)
    for places, found in engine.translate(Job(sources, limits, Options(beam=1)), 2048):
        for place, (best, *_) in zip(places, found, strict=True):
            ours[place] = best.tokens
    largest = 0.0
    for number in range(min(LOGIT_SENTENCES, len(pairs))):
        difference = engine.logits(sources[number], ours[number]) - exported.logits(sources[number], ours[number])
        largest = float(np.maximum(largest, np.abs(np.delete(difference, engine.never, axis=1)).max()))  # NaN stays NaN
    theirs: list[list[int]] = []
    for start in range(0, len(sources), 32):
        theirs += exported.translate(sources[start : start + 32], limits[start : start + 32])
        on_progress(len(theirs), len(sources))
    references = [[reference for _, reference in pairs]]
    parity = Parity(
        sentences=len(pairs),
        largest_logit_difference=largest,
        share_of_equal_translations=sum(map(list.__eq__, ours, theirs)) / len(ours),
        bleu_of_torch=bleu(target.decode(ours), references),
        bleu_of_export=bleu(target.decode(theirs), references),
    )
    if not (largest <= LARGEST_DIFFERENCE and parity.share_of_equal_translations >= LEAST_EQUAL):
        raise HeadwayError(f"The export is not the model. {parity}", "Nothing was written. Please report this.")
    return parity
