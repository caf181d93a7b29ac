"""What a head attends to, by a few patterns that can be counted. T rows that ask, S columns that are asked."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Part = Literal["encoder", "decoder", "cross"]
CLEAR = 0.2  # of its weight beyond an even share: a head that gives so much to a pattern is named after it
BROAD = 0.7  # of the largest entropy that there can be


@dataclass(frozen=True)
class Habit:
    """Of one head, over some sentences."""

    name: str  # the pattern that it keeps to, "broad" or "mixed"
    shares: dict[str, float]  # of its weight that each pattern gets
    entropy: float  # of its rows, as a share of what an even distribution has


def find_habits(part: Part, sentences: Sequence[tuple[list[str], list[str], np.ndarray]]) -> list[Habit]:
    """One for each head, from (asking pieces [T], asked pieces [S], weights [H, T, S]) of each sentence."""
    patterns = list(_patterns(part, *sentences[0][:2]))
    heads = sentences[0][2].shape[0]
    given, even = np.zeros((heads, len(patterns))), np.zeros(len(patterns))
    entropy, rows = np.zeros(heads), 0
    for asking, asked, weights in sentences:
        visible = _visible(part, len(asking), len(asked))
        for at, mask in enumerate(_patterns(part, asking, asked).values()):
            given[:, at] += (weights * mask).sum(axis=(1, 2))
            even[at] += ((mask & visible) / visible.sum(axis=1, keepdims=True)).sum()
        choices = visible.sum(axis=1)
        several = choices > 1  # the first row of a decoder has nothing to choose from
        own = -(weights * np.log(np.maximum(weights, 1e-12))).sum(axis=2)[:, several] / np.log(choices[several])
        entropy += own.mean(axis=1)
        rows += len(asking)
    shares, even, entropy = given / rows, even / rows, entropy / len(sentences)
    return [
        Habit(_name(patterns, of_head, even, spread), dict(zip(patterns, map(float, of_head), strict=True)), float(spread))
        for of_head, spread in zip(shares, entropy, strict=True)
    ]


def _name(patterns: list[str], shares: np.ndarray, even: np.ndarray, entropy: float) -> str:
    above = shares - even
    best = int(above.argmax())
    if above[best] >= CLEAR:
        return patterns[best]
    return "broad" if entropy >= BROAD else "mixed"


def _visible(part: Part, asking: int, asked: int) -> np.ndarray:
    every = np.ones((asking, asked), dtype=bool)
    return np.tril(every) if part == "decoder" else every


def _patterns(part: Part, asking: Sequence[str], asked: Sequence[str]) -> dict[str, np.ndarray]:
    """Which of the [T, S] weights belong to which pattern; in the decoder, row t has just read column t."""
    rows, columns = len(asking), len(asked)
    every = np.ones((rows, columns), dtype=bool)
    offset = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    marks = np.array([all(unicodedata.category(character)[0] == "P" for character in piece) for piece in asked])
    found = {"punctuation": every & marks[None, :]}
    if part == "cross":
        slope = np.arange(rows)[:, None] * (columns - 1) / max(1, rows - 1)
        found["same place"] = np.abs(np.arange(columns)[None, :] - slope) <= 1
        found["same piece"] = np.array([[one == other for other in asked] for one in asking])
        found["end mark"] = every & (np.arange(columns) == columns - 1)
        return found
    found |= {"itself": offset == 0, "one before": offset == -1, "two before": offset == -2}
    if part == "encoder":
        found |= {"one after": offset == 1, "two after": offset == 2, "end mark": every & (np.arange(columns) == columns - 1)}
        found["same piece"] = np.array([[one == other for other in asked] for one in asking]) & (offset != 0)
    else:
        found["begin mark"] = every & (np.arange(columns) == 0)
        found["same piece"] = np.array([[one == other for other in asked] for one in asked]) & (offset != 0)
    return found
