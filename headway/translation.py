"""A translation: what comes back for a text, and how that of a long text is put together from its parts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headway.text.sentences import join


@dataclass(frozen=True)
class Translation:
    """The best translation, and more of it where asked. `score` is its log-probability over the length penalty.

    A text of several sentences was translated in parts: its score is the sum of theirs.
    """

    source: str
    text: str
    score: float
    alternatives: list["Translation"] = field(default_factory=list)  # all that were asked for, the best among them
    tokens: list[tuple[str, float]] | None = None  # pieces, the end the last, with their log-probabilities
    alignment: list[tuple[int, int]] | None = None  # (source word, target word), counted from 0, as white space parts them
    sentences: list["Translation"] = field(default_factory=list)  # the parts, where there are several

    def to_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"source": self.source, "text": self.text, "score": round(self.score, 4)}
        if self.alternatives:
            content["alternatives"] = [{"text": other.text, "score": round(other.score, 4)} for other in self.alternatives]
        if self.tokens is not None:
            content["tokens"] = [{"piece": piece, "score": round(score, 4)} for piece, score in self.tokens]
        if self.alignment is not None:
            content["alignment"] = [list(link) for link in self.alignment]
        if self.sentences:
            content["sentences"] = [
                {"source": one.source, "text": one.text, "score": round(one.score, 4)} for one in self.sentences
            ]
        return content


def put_together(source: str, parts: Sequence[Translation]) -> Translation:
    """The translation of a text from those of its parts, which concatenate to it."""
    if not source.strip():
        return Translation(source, "", 0.0)
    sources = [part.source for part in parts]
    if len(parts) == 1:
        (only,) = parts
        others = [_other(source, sources, [other]) for other in only.alternatives]
        text = only.text.strip() if source == source.strip() else join(sources, [only.text])
        return Translation(source, text, only.score, others, only.tokens, only.alignment)
    translated = [part for part in parts if part.source.strip()]
    ranks = range(max((len(part.alternatives) for part in parts), default=0))
    # The n-th alternative of the whole has the n-th of each part, or its last where it has fewer.
    others = [
        _other(
            source,
            sources,
            [part.alternatives[min(n, len(part.alternatives) - 1)] if part.alternatives else part for part in parts],
        )
        for n in ranks
    ]
    return Translation(
        source,
        join(sources, [part.text for part in parts]),
        sum(part.score for part in parts),
        others,
        _all([part.tokens for part in translated]),
        _align(parts) if all(part.alignment is not None for part in translated) else None,
        [replace(part, text=part.text.strip()) for part in translated],
    )


def _other(source: str, sources: Sequence[str], chosen: Sequence[Translation]) -> Translation:
    return Translation(source, join(sources, [one.text for one in chosen]), sum(one.score for one in chosen))


def _all(several: Sequence[list[tuple[str, float]] | None]) -> list[tuple[str, float]] | None:
    given = [tokens for tokens in several if tokens is not None]
    return [token for tokens in given for token in tokens] if len(given) == len(several) else None


def _align(parts: Sequence[Translation]) -> list[tuple[int, int]]:
    """The parts' links, with words counted through the whole text."""
    links: list[tuple[int, int]] = []
    for number, part in enumerate(parts):
        before = parts[:number]
        sources = [one.source for one in before]
        source, target = "".join(sources), join(sources, [one.text for one in before])
        first = _words_before(source, part.source), _words_before(target, part.text)
        links += [(first[0] + left, first[1] + right) for left, right in part.alignment or []]
    return links


def _words_before(text: str, following: str) -> int:
    """How many words end before `following` begins; a word that goes on in it is not counted."""
    goes_on = text[-1:].strip() and following[:1].strip()
    return len(text.split()) - (1 if goes_on else 0)
