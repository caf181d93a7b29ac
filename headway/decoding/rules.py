"""What may come next besides what the model thinks: a given beginning, a least length, no n-gram twice.

N rows, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from headway.decoding.options import Options


class Rules:
    """`prefixes`: the tokens that each sentence begins with, free of charge. Banned tokens leave their probability to the
    others. Both as in CTranslate2; the model's own figures come from scoring what was found.
    """

    def __init__(self, options: Options, eos: int, prefixes: Sequence[Sequence[int]] | None = None) -> None:
        self.min_length, self.no_repeat_ngram, self.eos = options.min_length, options.no_repeat_ngram, eos
        self.prefixes = prefixes
        self.longest_prefix = max(map(len, prefixes), default=0) if prefixes else 0

    @classmethod
    def of(cls, options: Options, eos: int, prefixes: Sequence[Sequence[int]] | None = None) -> "Rules | None":
        """None where everything may come."""
        return cls(options, eos, prefixes) if options.bans or (prefixes and any(prefixes)) else None

    @property
    def needs_history(self) -> bool:
        return self.no_repeat_ngram > 0

    def apply(self, log_probabilities: Tensor, sentences: Tensor, history: Tensor, position: int) -> Tensor:
        """Log-probabilities [N, V] of rows that belong to these sentences [N] and have written `history` [N, position].

        Without `needs_history` the history may be empty.
        """
        allowed = log_probabilities
        if position < self.min_length or self.no_repeat_ngram:
            banned = torch.zeros_like(log_probabilities, dtype=torch.bool)
            if position < self.min_length:
                banned[:, self.eos] = True
            if self.no_repeat_ngram:
                _ban_repeats(banned, history, self.no_repeat_ngram)
            banned &= ~(banned | log_probabilities.isneginf()).all(dim=1, keepdim=True)
            allowed = log_probabilities.masked_fill(banned, -torch.inf).log_softmax(dim=-1)
        if position < self.longest_prefix:
            allowed = self._force(allowed, sentences, position)
        return allowed

    def drop_early_ends(self, totals: Tensor, ends: Tensor, sentences: Tensor, position: int, beam: int) -> Tensor:
        """Candidates [B, C] of the step after a beginning without the ends that are not the likeliest, as in CTranslate2.

        The places that they had among the best stay empty: ends further down do not move up.
        """
        if not self.prefixes or not 0 < position <= self.longest_prefix:
            return totals
        first_free = torch.tensor([len(self.prefixes[row]) == position for row in sentences.tolist()], device=totals.device)
        lost = ends & first_free[:, None]
        lost[:, 0] = False
        lost[:, beam:] |= lost[:, :beam].any(dim=1, keepdim=True)
        return totals.masked_fill(lost, -torch.inf)

    def _force(self, allowed: Tensor, sentences: Tensor, position: int) -> Tensor:
        assert self.prefixes
        wanted = [self.prefixes[row][position] if position < len(self.prefixes[row]) else -1 for row in sentences.tolist()]
        tokens = torch.tensor(wanted, device=allowed.device)[:, None]
        forced = torch.full_like(allowed, -torch.inf).scatter(1, tokens.clamp(min=0), 0.0)
        return torch.where(tokens >= 0, forced, allowed)


def _ban_repeats(banned: Tensor, history: Tensor, n: int) -> None:
    """Ban each token [N, V] that would end an n-gram which the row's history [N, T] holds already."""
    if history.shape[1] < n:
        return
    windows = history.unfold(1, n, 1)  # [N, T - n + 1, n]
    tail = history[:, history.shape[1] - (n - 1) :] if n > 1 else history[:, :0]
    seen = (windows[:, :, : n - 1] == tail[:, None, :]).all(dim=2)  # [N, T - n + 1]
    rows, places = seen.nonzero(as_tuple=True)
    banned[rows, windows[rows, places, n - 1]] = True
