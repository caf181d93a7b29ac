"""Filler: a BERT tells what may stand where `[MASK]` does. T positions, V vocabulary."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import torch

from headway.bundle import Bundle, read_bundle
from headway.errors import BundleError, RequestError
from headway.family.kinds import require
from headway.family.reading import Reading
from headway.family.recording import check_length, check_text, read_positions, record
from headway.models.bert import Bert
from headway.text.labels import label_pieces

MASK = "[MASK]"


@dataclass(frozen=True)
class Candidate:
    piece: str  # what may stand there, without space around it
    probability: float
    text: str  # the whole, with this mask filled in and others still there


class Filler:
    """A BERT that names masked pieces, with its tokenizer."""

    def __init__(self, bundle: Bundle) -> None:
        require(bundle, "fill")
        model, self.tokenizer = bundle.build_model(), bundle.tokenizers.source
        assert isinstance(model, Bert)
        self.model = model
        t = self.tokenizer
        if t.mask is None:
            raise BundleError(f"The tokenizer of {bundle.directory} has no mark for what is masked.", "Take another model.")
        marks = {t.pad, t.bos, t.eos, t.unk, t.mask, *t.sentinels}
        self._marks = [*(mark for mark in marks if mark >= 0), *range(t.size, model.architecture.vocab)]

    @classmethod
    def load(cls, directory: str | Path) -> "Filler":
        return cls(read_bundle(Path(directory)))

    @torch.inference_mode()
    def fill(self, text: str, *, top: int = 5) -> list[list[Candidate]]:
        """For each `[MASK]` of a text its likeliest pieces; each is found while the others are still masked."""
        if MASK not in text:
            raise RequestError(f"There is no {MASK} in {text[:60]!r}.", f"Write {MASK} where a word is to be found.")
        if top < 1:
            raise RequestError(f"There are no {top} candidates.", "Ask for 1 or more.")
        parts = self._cut(text)
        tokens = self._join(parts)
        if len(tokens) > self.model.architecture.max_positions:
            raise RequestError(
                f"The text has {len(tokens):,} pieces with its marks, and the model reads "
                f"{self.model.architecture.max_positions:,} at most.",
                f"Give less text around {MASK}.",
            )
        logits = self.model(torch.tensor([tokens], device=self.model.device))[0].float()  # [T, V]
        masked = [place for place, token in enumerate(tokens) if token == self.tokenizer.mask]
        probabilities = logits[masked].softmax(dim=-1)
        probabilities[:, self._marks] = -1.0
        best = probabilities.topk(min(top, probabilities.shape[1] - len(self._marks)))
        found = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [list(self._tell(text, n, parts[n], *one)) for n, one in enumerate(found)]

    def inspect(self, text: str) -> Reading:
        """Where every head looks while `text` is read; the answer is the text with its masks filled in."""
        check_text(text)
        tokens = self._join(self._cut(text))
        check_length(len(tokens), self.model.architecture.max_positions)
        return Reading(
            pieces=label_pieces(self.tokenizer, tokens),
            answer=", ".join(some[0].piece for some in self.fill(text, top=1)) if MASK in text else "",
            weights=record(self.model, torch.tensor([tokens])),
            forwards=False,
            positions=read_positions(self.model.positions),
        )

    def _cut(self, text: str) -> list[list[int]]:
        """The pieces of what stands before, between and after the masks, as they would be with words there.

        What follows a mask without a space goes on with its word: cut behind a line break, it gets no space of its own.
        """
        first, *more = text.split(MASK)
        (line_break,) = self.tokenizer.encode(["\n"])
        goes_on = [bool(line_break) and not part[:1].isspace() for part in more]
        texts = [first.strip(), *("\n" * on + part.strip() for part, on in zip(more, goes_on, strict=True))]
        before, *found = self.tokenizer.encode(texts)
        return [before, *(ids[ids.index(line_break[-1]) + 1 :] if on else ids for ids, on in zip(found, goes_on, strict=True))]

    def _join(self, parts: list[list[int]]) -> list[int]:
        t = self.tokenizer
        assert t.mask is not None
        first, *more = parts
        return [t.bos, *first, *(token for part in more for token in (t.mask, *part)), t.eos]

    def _tell(self, text: str, number: int, before: list[int], ids: list[int], shares: list[float]) -> Iterator[Candidate]:
        """The candidates for one mask, before which these pieces stand: they decide whether a space comes between."""
        parts = text.split(MASK)
        start = [0, *accumulate(len(part) + len(MASK) for part in parts)][number] + len(parts[number])
        ahead, behind = text[:start], text[start + len(MASK) :]
        without, *with_each = self.tokenizer.decode([before, *([*before, token] for token in ids)])
        alone = self.tokenizer.decode([[token] for token in ids])
        for share, whole, piece in zip(shares, with_each, alone, strict=True):
            if before and whole.startswith(without):
                filled = ahead.rstrip() + whole[len(without) :] + behind
            else:
                filled = ahead + piece.lstrip() + behind
            yield Candidate(piece.strip(), share, filled)
