"""What an engine is: pieces in, pieces out. Two machines keep this protocol, and with the same options find the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headway.decoding.options import Options
from headway.decoding.ranking import Hypothesis

Pieces = Sequence[int]


@dataclass(frozen=True)
class Job:
    """Sources (their pieces, without an end), the most pieces that each translation may have, and how to search.

    `prefixes` are the pieces that each translation begins with, which count in its limit; `phrases` must appear in it.
    `keys` tell the sources apart for draws: with the same seed and key the same is drawn, in whichever batch.
    """

    sources: Sequence[Pieces]
    limits: Sequence[int]
    options: Options
    prefixes: Sequence[Pieces] | None = None
    phrases: Sequence[Sequence[tuple[int, ...]]] | None = None
    keys: Sequence[tuple[int, ...]] = ()


@dataclass(frozen=True)
class AttentionWeights:
    """Where each layer's heads look in one pair of sentences; a row sums to one. S counts the end mark, T the begin mark."""

    encoder: np.ndarray  # [L, H, S, S]
    decoder: np.ndarray  # [L, H, T, T]
    cross: np.ndarray  # [L, H, T, S]


class Engine(Protocol):
    batch_tokens: int  # source tokens of a batch that suit it

    def translate(self, job: Job, batch_tokens: int) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        """Batch by batch, the places of sources in the job and the finished outputs of each, in no order."""

    def score(self, sources: Sequence[Pieces], targets: Sequence[Pieces], batch_tokens: int) -> list[list[float]]:
        """The log-probability of each of a target's pieces, and of its end."""

    def align(self, sources: Sequence[Pieces], targets: Sequence[Pieces], batch_tokens: int) -> list[np.ndarray]:
        """How much each target piece looks at each source piece: [T, S], the alignment layer's mean over its heads."""

    def stream(self, job: Job) -> Iterator[int]:
        """The pieces of the translation of the job's only source, each as soon as it is certain."""
