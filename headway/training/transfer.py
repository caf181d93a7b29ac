"""Transfer to other languages: a model goes on with a new vocabulary, whose rows are made of those that it has learned.

A translator of another pair is a better beginning than chance (Zoph et al., 2016), even where the languages are not related
(Kocmi and Bojar, 2018), and best where pieces that both vocabularies have keep what was learned of them (Aji et al., 2020).
"""

import re
from dataclasses import dataclass
from itertools import accumulate, zip_longest

import torch
import torch.nn.functional as F
from torch import Tensor

from headway.architectures import has_one_embedding
from headway.bundle import Bundle
from headway.text.tokenizer import Tokenizer, Tokenizers

BYTE = re.compile("<0x[0-9A-F]{2}>")  # no text, though it could be read as one


@dataclass(frozen=True)
class Origins:
    """The rows of an old vocabulary that each row of a new one is the mean of: one, several, or none."""

    old: list[list[int]]
    own: int  # rows that stay what they are: a piece or mark of both

    def rows(self, learned: Tensor, drawn: Tensor) -> Tensor:
        """New rows of a matrix, or numbers of a bias, from those that were learned.

        A row without origin is the mean of all, moved by what was drawn for it: as likely as any, and like no other.
        """
        table = learned.reshape(len(learned), -1)
        starts = [0, *accumulate(map(len, self.old))]
        ids = torch.tensor([number for some in self.old for number in some], dtype=torch.long)
        means = F.embedding_bag(ids, table, torch.tensor(starts[:-1]), mode="mean")
        anew = torch.tensor([not some for some in self.old])
        means[anew] = table.mean(dim=0) + drawn.reshape(len(drawn), -1)[anew]
        return means.reshape(drawn.shape)

    def __str__(self) -> str:
        size, anew = len(self.old), sum(not some for some in self.old)
        told = f"{size:,} pieces, {self.own:,} of them the model's own, {size - self.own - anew:,} begin from their parts"
        return told + (f", {anew:,} anew" if anew else "")


@dataclass(frozen=True)
class Transfer:
    """From the vocabularies of a model to those of a run."""

    source: Origins
    target: Origins

    def of(self, weight: str) -> Origins | None:
        """Of the weights that have a row a piece."""
        if weight == "source_embedding.weight":  # which may be the others too
            return self.source
        return self.target if weight.startswith(("target_embedding.", "output.")) else None

    def summary(self) -> list[str]:
        if self.source is self.target:
            return [f"Vocabulary: {self.source}."]
        return [f"Source vocabulary: {self.source}.", f"Target vocabulary: {self.target}."]


def plan_transfer(start: Bundle, new: Tokenizers) -> Transfer:
    old = start.tokenizers
    source = find_origins(old.source, new.source)
    if has_one_embedding(start.manifest.architecture) or (old.shared and new.shared):
        return Transfer(source, source)
    return Transfer(source, find_origins(old.target, new.target))


def find_origins(old: Tokenizer, new: Tokenizer) -> Origins:
    """A mark comes from the one of its use, a piece of both from itself, any other from what the old tokenizer cuts it into."""
    by_use = dict(zip_longest(_marks(new), _marks(old)))
    marks = set(_marks(old))
    by_name = {piece: [number] for number, piece in enumerate(old.pieces(range(old.size))) if number not in marks}
    pieces = new.pieces(range(new.size))
    origins = [by_name.get(piece, []) for piece in pieces]
    for mark, old_mark in by_use.items():
        if mark is not None:
            origins[mark] = [] if old_mark is None else [old_mark]
    own = sum(map(bool, origins))
    whole = {*by_use, *new.tags}  # which mean nothing by their letters
    others = [n for n, some in enumerate(origins) if not some and n not in whole and not BYTE.fullmatch(pieces[n])]
    for number, parts in zip(others, old.cut([pieces[n] for n in others]), strict=True):
        origins[number] = [part for part in parts if part != old.unk]
    return Origins(origins, own)


def _marks(tokenizer: Tokenizer) -> list[int | None]:
    return [tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unk, tokenizer.mask, *tokenizer.sentinels]
