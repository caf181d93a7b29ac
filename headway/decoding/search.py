"""Greedy and beam search (section 6.1) over a step function: nothing here knows what a Transformer is.

The step function takes the last token of each row and the caller's state (caches and such) and hands back what may come
next; the search reorders, repeats and drops rows of the state as hypotheses win and lose. A sentence that is done leaves
the batch at once, so the last steps, for the few longest sentences, are cheap.

Shapes: B sentences still searched, W hypotheses alive of each (1 at the first step, then the beam K), N = B * W rows that
the step function sees, C candidates, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import count
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

Length = TypeVar("Length", float, Tensor)


class State(Protocol):
    """What a step function carries from one token to the next, one row for each hypothesis."""

    def select(self, rows: Tensor) -> Self:
        """The state of these rows, in this order; a row may be asked for more than once, or not at all."""
        ...


StateT = TypeVar("StateT", bound=State)

Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]
"""Last tokens [N] and state -> log-probabilities of the next token [N, V] and the new state.

A token that must not come has -inf; at least one token of each row has more.
"""


@dataclass(frozen=True)
class Hypothesis:
    """A finished output, without the tokens that begin and end it."""

    tokens: list[int]
    score: float
    log_probability: float


def length_penalty(n: Length, alpha: float) -> Length:
    """lp(Y) of Wu et al. (2016), equation 14, which section 6.1 uses with alpha = 0.6; n counts the end token."""
    return ((5 + n) / 6) ** alpha


@torch.no_grad()
def greedy_search(
    step: Step[StateT], state: StateT, *, bos: int, eos: int, limits: Tensor, alpha: float = 0.0
) -> list[Hypothesis]:
    """The likeliest token at each step. `limits` [B]: the most tokens each sentence may have, the end not counted."""
    if len(limits) == 0:
        return []
    sentences = torch.arange(len(limits), device=limits.device)  # who is still in the batch
    totals = torch.zeros(len(limits), device=limits.device)
    columns: list[Tensor] = []  # at each step one token for every sentence, those that have left included
    last = torch.full_like(limits, bos)
    for position in count():
        log_probabilities, state = step(last, state)  # [N, V]
        best, last = log_probabilities.max(dim=-1)
        closing = limits[sentences] <= position
        last = last.masked_fill(closing, eos)
        totals[sentences] += torch.where(closing, _forced_end(log_probabilities, eos), best.float())
        columns.append(torch.full_like(limits, eos).index_copy(0, sentences, last))

        staying = (last != eos).nonzero().squeeze(1)
        if len(staying) == 0:
            break
        if len(staying) < len(last):
            sentences, last, state = sentences[staying], last[staying], state.select(staying)

    hypotheses = []
    for tokens, total in zip(torch.stack(columns, dim=1).tolist(), totals.tolist(), strict=True):
        tokens = tokens[: tokens.index(eos)]
        hypotheses.append(Hypothesis(tokens, total / length_penalty(len(tokens) + 1, alpha), total))
    return hypotheses


@torch.no_grad()
def beam_search(
    step: Step[StateT],
    state: StateT,
    *,
    bos: int,
    eos: int,
    limits: Tensor,
    beam: int,
    alpha: float,
    nbest: int | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, best first, by log-probability over length penalty (`alpha` >= 0).

    `limits` [B] is the most tokens each sentence may have; at its limit a hypothesis ends, at the price of the end token.
    Up to `nbest` hypotheses come back, as many as the beam is wide if not given. Asking for fewer is faster and gives the
    same ones: a sentence is done as soon as nothing alive can still beat the worst of those wanted.
    """
    if beam == 1:
        # With one hypothesis alive there is nothing for the penalty to choose from: it would only drag the search on, past
        # a likely end, into the second-best token.
        return [[best] for best in greedy_search(step, state, bos=bos, eos=eos, limits=limits, alpha=alpha)]
    if len(limits) == 0:
        return []
    history = _History()
    search = _Search.start(limits, history, beam if nbest is None else nbest)
    left: list[_Search] = []
    last = torch.full_like(limits, bos)
    for position in count():
        log_probabilities, state = step(last, state)  # [N, V]
        closing = search.limits <= position
        totals, parents, tokens = _expand(log_probabilities, search.alive, closing, eos, 2 * beam)  # [B, C] each
        ends = tokens == eos
        width = search.alive.shape[1]
        search.keep(totals.masked_fill(~ends, -torch.inf), parents, length_penalty(position + 1, alpha))

        # Of 2K candidates at most K are ends, so that K can live on.
        search.alive, places = totals.masked_fill(ends, -torch.inf).topk(min(beam, totals.shape[1]))
        parents, tokens = parents.gather(1, places), tokens.gather(1, places)
        search.alive_nodes = history.grow(tokens, search.alive_nodes.gather(1, parents))

        # Log-probabilities only fall and the penalty only grows, so no hypothesis alive can come to score more than this.
        attainable = search.alive[:, 0] / length_penalty(search.limits + 1, alpha)
        done = (attainable <= search.kept_scores[:, -1]) | closing
        staying = (~done).nonzero().squeeze(1)
        if len(staying) < len(done):
            left.append(search.select(done))
            search = search.select(staying)
        if len(staying) == 0:
            break
        state = state.select((staying[:, None] * width + parents[staying]).flatten())
        last = tokens[staying].flatten()
    return _harvest(left, history)


def _forced_end(log_probabilities: Tensor, eos: int) -> Tensor:
    """The price [N] of ending here; finite even where the end is banned, for at its limit every hypothesis ends."""
    return log_probabilities[:, eos].float().clamp(min=-1e9)


def _expand(log_probabilities: Tensor, alive: Tensor, closing: Tensor, eos: int, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """The best continuations of each sentence: log-probability, place of the parent and token, [B, C] each, best first.

    The best n of a sentence are among the best n of its hypotheses. Taking those first saves adding `alive` to W * V numbers.
    """
    gains, tokens = top(log_probabilities, min(n, log_probabilities.shape[1]))
    per_parent = gains.shape[1]
    gains = gains.float().view(*alive.shape, per_parent)  # [B, W, per_parent]
    tokens = tokens.view(*alive.shape, per_parent)

    only_end = torch.full_like(gains, -torch.inf)
    only_end[..., 0] = _forced_end(log_probabilities, eos).view_as(alive)
    gains = torch.where(closing[:, None, None], only_end, gains)
    tokens = tokens.masked_fill(closing[:, None, None], eos)

    totals, places = (alive[:, :, None] + gains).flatten(1).topk(min(n, alive.shape[1] * per_parent))
    return totals, places // per_parent, tokens.flatten(1).gather(1, places)


def top(values: Tensor, k: int, group: int = 64) -> tuple[Tensor, Tensor]:
    """`values.topk(k)` of each row [N, V], two to three times faster on a processor for V in the thousands.

    The k largest values lie in the k groups with the largest maxima, and maxima, unlike `topk`, run at the memory's speed.
    """
    n_groups = values.shape[1] // group
    if n_groups <= k:
        return values.topk(k)
    grouped = values[:, : n_groups * group].unflatten(1, (n_groups, group))
    winners = grouped.amax(dim=2).topk(k).indices  # [N, k]
    members = winners[:, :, None] * group + torch.arange(group, device=values.device)  # [N, k, group]
    rest = torch.arange(n_groups * group, values.shape[1], device=values.device).expand(len(values), -1)
    columns = torch.cat([members.flatten(1), rest], dim=1)
    best, places = values.gather(1, columns).topk(k)
    return best, columns.gather(1, places)


@dataclass
class _Search:
    """Where the search stands, one row for each sentence that is still in it."""

    sentences: Tensor  # [B] places in the caller's batch
    limits: Tensor  # [B]
    alive: Tensor  # [B, W] log-probabilities of the hypotheses that have not ended, best first; -inf where there is none
    alive_nodes: Tensor  # [B, W] their last tokens in the history
    kept: Tensor  # [B, nbest] log-probabilities of the best that have ended, by score, best first
    kept_scores: Tensor  # [B, nbest] -inf where there is none yet
    kept_nodes: Tensor  # [B, nbest]

    @classmethod
    def start(cls, limits: Tensor, history: "_History", nbest: int) -> Self:
        sentences = torch.arange(len(limits), device=limits.device)
        nothing = torch.full((len(limits), nbest), -torch.inf, device=limits.device)
        root = history.grow(torch.full_like(sentences, -1)[:, None], torch.full_like(sentences, -1)[:, None])
        alive = torch.zeros(len(limits), 1, device=limits.device)
        return cls(sentences, limits, alive, root, nothing, nothing, root.expand(-1, nbest))

    def keep(self, ended: Tensor, parents: Tensor, penalty: float) -> None:
        """Merge hypotheses that end now (log-probabilities and places of their parents, [B, C]) with those kept."""
        self.kept_scores, places = torch.cat([self.kept_scores, ended / penalty], dim=1).topk(self.kept.shape[1])
        self.kept = torch.cat([self.kept, ended], dim=1).gather(1, places)
        self.kept_nodes = torch.cat([self.kept_nodes, self.alive_nodes.gather(1, parents)], dim=1).gather(1, places)

    def select(self, rows: Tensor) -> Self:
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))


class _History:
    """Every token that was ever alive, as a tree: hypotheses share their beginnings and no prefix is copied at any step."""

    def __init__(self) -> None:
        self._tokens: list[Tensor] = []
        self._parents: list[Tensor] = []
        self._size = 0

    def grow(self, tokens: Tensor, parents: Tensor) -> Tensor:
        """Hang tokens under their parent nodes; hands back the new nodes, in the same shape."""
        self._tokens.append(tokens.flatten())
        self._parents.append(parents.flatten())
        nodes = torch.arange(self._size, self._size + tokens.numel(), device=tokens.device)
        self._size += tokens.numel()
        return nodes.view_as(tokens)

    def read(self) -> Callable[[int], list[int]]:
        """Bring the tree over from the device, once; hands back what tells a node's tokens from the root on."""
        tokens: list[int] = torch.cat(self._tokens).tolist()
        parents: list[int] = torch.cat(self._parents).tolist()

        def path(node: int) -> list[int]:
            found = []
            while parents[node] >= 0:  # the root has no parent, and no token of its own
                found.append(tokens[node])
                node = parents[node]
            return found[::-1]

        return path


def _harvest(left: list[_Search], history: _History) -> list[list[Hypothesis]]:
    """The hypotheses of all sentences, in the order in which the sentences came."""
    path = history.read()
    order = torch.cat([part.sentences for part in left]).argsort()
    nodes, scores, totals = (
        torch.cat([getattr(part, name) for part in left])[order].tolist() for name in ("kept_nodes", "kept_scores", "kept")
    )
    return [
        [Hypothesis(path(node), score, total) for node, score, total in zip(*kept, strict=True) if score != -torch.inf]
        for kept in zip(nodes, scores, totals, strict=True)
    ]
