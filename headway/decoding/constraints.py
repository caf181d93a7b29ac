"""Words and phrases that must appear: beam search with banks (Post and Vilar, 2018).

A hypothesis knows how many tokens of the phrases it has written. The beam is shared evenly among those that have written as
many, so that hypotheses which are on their way to all phrases are not crowded out by likelier ones that are not.
Only sentences with such wishes come here, one at a time: plain lists, for clarity.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from headway.decoding.options import Options
from headway.decoding.ranking import Hypothesis
from headway.decoding.rules import Rules
from headway.decoding.search import StateT, Step, top

Phrase = tuple[int, ...]


@dataclass(frozen=True)
class _Alive:
    row: int  # of the step function's state
    total: float
    tokens: tuple[int, ...]
    open: tuple[Phrase, ...]  # phrases still to be written
    at: tuple[Phrase, int] | None = field(default=None)  # the one being written, and how much of it is

    @property
    def missing(self) -> int:
        """Tokens that must still come."""
        return sum(map(len, self.open)) - (self.at[1] if self.at else 0)

    def next_wanted(self) -> set[int]:
        """Tokens that bring it nearer to its phrases."""
        return {self.at[0][self.at[1]]} if self.at else {phrase[0] for phrase in self.open}

    def write(self, row: int, token: int, total: float) -> "_Alive":
        """A phrase that is left before its end must be begun anew."""
        grown = replace(self, row=row, total=total, tokens=(*self.tokens, token))
        if self.at and self.at[0][self.at[1]] == token:
            phrase, done = self.at[0], self.at[1] + 1
        else:
            # Of phrases that begin alike the longest: whoever writes it may still fall back on none, and none is met by half.
            begun = sorted((phrase for phrase in self.open if phrase[0] == token), key=len)
            if not begun:
                return replace(grown, at=None)
            phrase, done = begun[-1], 1
        if done < len(phrase):
            return replace(grown, at=(phrase, done))
        still_open = list(self.open)
        still_open.remove(phrase)
        return replace(grown, open=tuple(still_open), at=None)


def constrained_search(
    step: Step[StateT],
    state: StateT,
    *,
    bos: int,
    eos: int,
    limit: int,
    phrases: Sequence[Phrase],
    options: Options,
    rules: Rules | None = None,
) -> list[Hypothesis]:
    """Finished outputs of one sentence that hold every phrase. `limit` leaves room for them: the caller has seen to that."""
    wanted = sum(map(len, phrases))
    beam = max(options.beam, wanted + 1)
    alive = [_Alive(0, 0.0, (), tuple(phrases))]
    ended: list[Hypothesis] = []
    last = torch.tensor([bos])
    for position in range(limit):
        own, state = step(last, state)
        allowed = own
        if rules:
            history = torch.tensor([one.tokens for one in alive], device=own.device).view(len(alive), position)
            allowed = rules.apply(own, torch.zeros(len(alive), dtype=torch.long), history, position)
        begun = rules is not None and position < rules.longest_prefix
        candidates = _candidates(allowed, allowed if begun else own, alive, 2 * beam)
        room = limit - position - 1  # tokens that may still follow
        finished = [one for one in candidates if one.tokens[-1] == eos]
        ended += [Hypothesis(list(one.tokens[:-1]), one.total) for one in finished if not one.missing]
        alive = _share_beam([one for one in candidates if one.tokens[-1] != eos and one.missing <= room], beam, wanted)
        if len(ended) >= options.finished or not alive:
            break
        rows = torch.tensor([one.row for one in alive])
        state = state.select(rows, None)
        last = torch.tensor([one.tokens[-1] for one in alive])
        alive = [replace(one, row=row) for row, one in enumerate(alive)]
    else:
        ended += [Hypothesis(list(one.tokens), None) for one in alive if not one.missing]
    return ended


def _candidates(allowed: Tensor, wanted: Tensor, alive: Sequence[_Alive], n: int) -> list[_Alive]:
    """Each hypothesis with its likeliest next tokens of those allowed, and those that it needs, banned or not; best first."""
    gains, tokens = top(allowed, min(n, allowed.shape[1]))
    found: list[_Alive] = []
    for one, row_gains, row_tokens in zip(alive, gains.tolist(), tokens.tolist(), strict=True):
        choices = dict(zip(row_tokens, row_gains, strict=True))
        choices |= {token: float(wanted[one.row, token]) for token in one.next_wanted()}
        found += [one.write(one.row, token, one.total + gain) for token, gain in choices.items() if gain > -torch.inf]
    return sorted(found, key=lambda one: -one.total)


def _share_beam(candidates: Sequence[_Alive], beam: int, wanted: int) -> list[_Alive]:
    """The best of each bank in turn, those with the most phrases first, until the beam is full."""
    banks: list[list[_Alive]] = [[] for _ in range(wanted + 1)]
    for one in candidates:
        banks[one.missing].append(one)
    shared: list[_Alive] = []
    depth = 0
    while len(shared) < beam and any(len(bank) > depth for bank in banks):
        shared += [bank[depth] for bank in banks if len(bank) > depth]
        depth += 1
    return shared[:beam]
