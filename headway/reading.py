"""What a translator reads of a text: where the text is cut, and what is put before each part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.amounts import amount, are
from headway.bundle import Lines
from headway.directions import Direction, match_directions
from headway.errors import RequestError
from headway.export.ctranslate2 import POSITIONS as LONGEST
from headway.text.sentences import segment
from headway.text.tags import find_tags, put_before
from headway.text.tokenizer import Tokenizer

Languages = Sequence[str] | str  # one for all texts, or one for each


@dataclass(frozen=True)
class Part:
    """What is translated at once: as the user wrote it, and as the model reads it, without white space around it."""

    text: str
    read: str


class Reader:
    """`to` and `from_` choose among the model's directions, each of which may have a tag; `source_prefix` is put after it.

    A text may itself begin with one of `prefixes`, those of the training text: it then holds for all of its sentences. `known`:
    the model has learned no others.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        directions: Sequence[Direction],
        prefixes: Sequence[str],
        lines: Lines,
        *,
        known: bool = False,
    ) -> None:
        self.tokenizer, self.directions, self.prefixes, self.lines, self.known = tokenizer, directions, prefixes, lines, known

    def cut_whole(self, texts: Sequence[str], to: Languages, from_: Languages, source_prefix: str) -> list[list[int]]:
        """The pieces that the model reads of texts that are not cut into sentences."""
        prefixes, own = self._find_prefixes(texts, to, from_, source_prefix), map(self._find_own_prefix, texts)
        both = zip(texts, prefixes, own, strict=True)
        return self.tokenizer.encode([put_before(prefix + own, text.removeprefix(own)) for text, prefix, own in both])

    def segment(
        self,
        texts: Sequence[str],
        to: Languages,
        from_: Languages,
        source_prefix: str,
        whole: Sequence[bool] | None = None,
    ) -> list[list[Part]]:
        """The parts of each text that are translated at once; what must stay whole is not cut at its sentences."""
        own = [self._find_own_prefix(text) for text in texts]
        rests = [text.removeprefix(prefix) for text, prefix in zip(texts, own, strict=True)]
        prefixes = self._find_prefixes(texts, to, from_, source_prefix)
        before = [prefix + written for prefix, written in zip(prefixes, own, strict=True)]
        longest = self.lines.longest - max(self._count(sorted({*before} - {""})), default=0)
        parts = segment(rests, sentences=self.lines.sentences, longest=max(1, longest), count=self._count)
        for number, text in enumerate(texts):
            if whole and whole[number] and len(parts[number]) > 1:
                if self._count([text.strip()])[0] > max(self.lines.longest, LONGEST):
                    raise RequestError(
                        f"A text of {len(text):,} characters is too long to begin its translation or to force words into it.",
                        "Give it sentence by sentence.",
                    )
                parts[number] = [rests[number]]
        found = []
        for some, written, prefix in zip(parts, own, before, strict=True):
            as_written = [written + some[0], *some[1:]]
            found.append([Part(text, put_before(prefix, bare.strip())) for text, bare in zip(as_written, some, strict=True)])
        return found

    def _find_prefixes(self, texts: Sequence[str], to: Languages, from_: Languages, source_prefix: str) -> list[str]:
        """What is put before each sentence of each text."""
        self._check_tags(source_prefix)
        if isinstance(to, str) and isinstance(from_, str):
            return [match_directions(self.directions, to, from_)[0].prefix + source_prefix] * len(texts)
        asked = [[given] * len(texts) if isinstance(given, str) else given for given in (to, from_)]
        check_texts(texts, to=asked[0], from_=asked[1])
        ways = list(zip(*asked, strict=True))
        found = {way: match_directions(self.directions, *way)[0].prefix for way in set(ways)}
        return [found[way] + source_prefix for way in ways]

    def _check_tags(self, source_prefix: str) -> None:
        """A tag that was not learned would be read as text. Which ones an imported model learned, nobody knows."""
        tags = find_tags(source_prefix)
        if taken := {one.prefix.strip() for one in self.directions} & {*tags}:
            raise RequestError(f"The prefix {source_prefix!r} has {min(taken)}, the tag of a language.", "Give --to instead.")
        if source_prefix in self.prefixes or not tags or not (self.tokenizer.tags or self.known):
            return
        if not {*self.tokenizer.encode([source_prefix])[0][: len(tags)]} <= {*self.tokenizer.tags}:
            learned = ", ".join(repr(prefix) for prefix in self.prefixes if find_tags(prefix))
            raise RequestError(
                f"The model has not learned the tag of the prefix {source_prefix!r}.",
                f"Prefixes with tags that it learned: {learned}." if learned else "It learned none: leave --source-prefix out.",
            )

    def _find_own_prefix(self, text: str) -> str:
        prefix = next((prefix for prefix in self.prefixes if text.startswith(prefix)), "")
        return prefix if text[len(prefix) :].strip() else ""

    def _count(self, parts: Sequence[str]) -> list[int]:
        return [len(pieces) for pieces in self.tokenizer.encode(parts)] if parts else []


def check_texts(texts: Sequence[str], **others: Sequence[Any] | None) -> None:
    """A text is a sequence too, of letters, and is never meant; what goes with the texts is as many as they are."""
    if isinstance(texts, str):
        raise TypeError("texts is a list of strings; for one text give [text]")
    for name, given in others.items():
        if given is not None and len(given) != len(texts):
            raise RequestError(
                f"There {are(len(texts))} {amount(len(texts), 'text')} and {len(given):,} {name}.", "Give one for each text."
            )
