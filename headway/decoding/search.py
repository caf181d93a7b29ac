"""Greedy and beam search (section 6.1) over a step function: nothing here knows what a Transformer is.

The step function takes the last token of each row and the caller's state (caches and such) and hands back what may come
next; the search reorders, repeats and drops rows of the state as hypotheses win and lose. A sentence that is done leaves
the batch at once, so the last steps, for the few longest sentences, are cheap.

A sentence is done when as many hypotheses have ended as the beam is wide, times the patience: CTranslate2's rule, so that both
engines find the same. Which of them is best is for `ranking` to say.

Shapes: B sentences still searched, W hypotheses alive of each (1 at the first step, then the beam K), N = B * W rows that
the step function sees, C candidates, V vocabulary.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, fields
from functools import partial
from itertools import count, takewhile
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from headway.decoding.options import Options
from headway.decoding.ranking import Hypothesis
from headway.decoding.rules import Rules


class State(Protocol):
    """What a step function carries from one token to the next, one row for each hypothesis."""

    def select(self, rows: Tensor, sentences: Tensor | None) -> Self:
        """The state of these rows, in this order; a row may be asked for more than once, or not at all.

        `sentences` are the places of those that stay in the batch, as many rows for each; None if all do.
        """
        ...


StateT = TypeVar("StateT", bound=State)
Found = TypeVar("Found")

Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]
"""Last tokens [N] and state -> log-probabilities of the next token [N, V] and the new state.

A token that must not come has -inf; at least one token of each row has more.
"""

Settled = Callable[[], list[int]]
"""Of a search of one sentence: the tokens that no later step can change."""

Pick = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""Log-probabilities [N, V], the rows' sentences [N] and the position -> the log-probability and the token taken, [N] each."""


@dataclass(frozen=True)
class Look:
    """One step of a beam search, for who watches: all candidates, best first, and what becomes of them."""

    sentences: Tensor  # [B] places in the caller's batch
    nodes: Tensor  # [B, C] every candidate's own number, higher at later steps
    parents: Tensor  # [B, C] the numbers of those that they go on with; 0 to B - 1 where that is nothing
    tokens: Tensor  # [B, C]
    totals: Tensor  # [B, C] log-probabilities, -inf where there is no candidate
    ended: Tensor  # [B, C] whether it is done, and was put aside to be ranked
    alive: Tensor  # [B, W] the numbers of those that live on; some may have a total of -inf


Watch = Callable[[Look], None]
"""Told of each step; what it does changes nothing."""


def take_likeliest(log_probabilities: Tensor, sentences: Tensor, position: int) -> tuple[Tensor, Tensor]:
    best, tokens = log_probabilities.max(dim=-1)
    return best, tokens


def greedy_search(
    step: Step[StateT],
    state: StateT,
    *,
    bos: int,
    eos: int,
    limits: Tensor,
    rules: Rules | None = None,
    pick: Pick = take_likeliest,
) -> list[Hypothesis]:
    """One token after the other, each the one that `pick` takes. `limits` [B]: the most tokens of each sentence, at least 1."""
    return _drain(greedy_steps(step, state, bos=bos, eos=eos, limits=limits, rules=rules, pick=pick))


@torch.no_grad()
def greedy_steps(
    step: Step[StateT],
    state: StateT,
    *,
    bos: int,
    eos: int,
    limits: Tensor,
    rules: Rules | None = None,
    pick: Pick = take_likeliest,
) -> Generator[Settled, None, list[Hypothesis]]:
    """The search, halting after each step."""
    if len(limits) == 0:
        return []
    sentences = torch.arange(len(limits), device=limits.device)  # who is still in the batch
    totals = torch.zeros(len(limits), device=limits.device)
    columns: list[Tensor] = []  # at each step one token for every sentence, those that have left included
    last = torch.full_like(limits, bos)
    for position in count():
        log_probabilities, state = step(last, state)  # [N, V]
        if rules:
            history = torch.stack(columns, dim=1)[sentences] if columns else last[:, None][:, :0]
            log_probabilities = rules.apply(log_probabilities, sentences, history, position)
        gains, last = pick(log_probabilities, sentences, position)
        totals[sentences] += gains.float()
        columns.append(torch.full_like(limits, eos).index_copy(0, sentences, last))
        yield lambda: [int(column[0]) for column in columns if int(column[0]) != eos]

        staying = ((last != eos) & (limits[sentences] > position + 1)).nonzero().squeeze(1)
        if len(staying) == 0:
            break
        if len(staying) < len(last):
            sentences, last, state = sentences[staying], last[staying], state.select(staying, staying)

    hypotheses = []
    for tokens, total, limit in zip(torch.stack(columns, dim=1).tolist(), totals.tolist(), limits.tolist(), strict=True):
        tokens = tokens[:limit]
        ended = eos in tokens
        hypotheses.append(Hypothesis(tokens[: tokens.index(eos)] if ended else tokens, total if ended else None))
    return hypotheses


def beam_search(
    step: Step[StateT],
    state: StateT,
    *,
    bos: int,
    eos: int,
    limits: Tensor,
    options: Options,
    rules: Rules | None = None,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence that ended first, `options.finished` at most. `limits` [B]: the most tokens of each.

    At its limit a hypothesis is cut off, and its log-probability is not known. Who watches sees nothing of a beam of one,
    which is greedy and leaves nothing behind.
    """
    if options.beam == 1:
        return [[one] for one in greedy_search(step, state, bos=bos, eos=eos, limits=limits, rules=rules)]
    return _drain(beam_steps(step, state, bos=bos, eos=eos, limits=limits, options=options, rules=rules, watch=watch))


@torch.no_grad()
def beam_steps(
    step: Step[StateT],
    state: StateT,
    *,
    bos: int,
    eos: int,
    limits: Tensor,
    options: Options,
    rules: Rules | None = None,
    watch: Watch | None = None,
) -> Generator[Settled, None, list[list[Hypothesis]]]:
    """The search, halting after each step."""
    if len(limits) == 0:
        return []
    beam, history = options.beam, _History()
    search = _Searched.start(limits, history, options.finished)
    left: list[_Searched] = []
    last = torch.full_like(limits, bos)
    for position in count():
        log_probabilities, state = step(last, state)  # [N, V]
        width = search.alive.shape[1]
        if rules:
            rows = search.sentences.repeat_interleave(width)
            past = history.paths(search.alive_nodes.flatten()) if rules.needs_history else last[:, None][:, :0]
            log_probabilities = rules.apply(log_probabilities, rows, past, position)
        totals, parents, tokens = _expand(log_probabilities, search.alive, 2 * beam)  # [B, C] each
        ends, closing = tokens == eos, (search.limits == position + 1)[:, None]
        if rules:
            totals = rules.drop_early_ends(totals, ends, search.sentences, position, beam)
        above = search.alive_nodes.gather(1, parents)
        nodes = history.grow(tokens, above)
        among_best = torch.arange(totals.shape[1], device=totals.device) < beam
        ended = among_best & (ends | closing)
        search.keep(totals, nodes, ended, position + 1, options.alpha)

        # Of 2K candidates at most K are ends, so that K can live on.
        search.alive, places = totals.masked_fill(ends, -torch.inf).topk(min(beam, totals.shape[1]))
        search.alive_nodes = nodes.gather(1, places)
        if watch:
            watch(Look(search.sentences, nodes, above, tokens, totals, ended, search.alive_nodes))
        parents, tokens = parents.gather(1, places), tokens.gather(1, places)
        yield partial(_common_beginning, search, history, eos)

        done = (search.n_kept >= options.finished) | closing[:, 0] | (search.alive[:, 0] == -torch.inf)
        staying = (~done).nonzero().squeeze(1)
        if len(staying) < len(done):
            left.append(search.select(done))
            search = search.select(staying)
        if len(staying) == 0:
            break
        everyone = len(staying) == len(done)
        state = state.select((staying[:, None] * width + parents[staying]).flatten(), None if everyone else staying)
        last = tokens[staying].flatten()
    return _harvest(left, history, eos)


def _drain(steps: Generator[Settled, None, Found]) -> Found:
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            found: Found = stop.value
            return found


def _common_beginning(search: "_Searched", history: "_History", eos: int) -> list[int]:
    """What all hypotheses of the first sentence share, those that have ended and those alive."""
    path = history.read()
    some = [(search.alive_nodes[0], search.alive[0]), (search.kept_nodes[0], search.kept_scores[0])]
    paths = [path(int(node)) for nodes, totals in some for node, total in zip(nodes, totals, strict=True) if total > -torch.inf]
    same = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*paths, strict=False))
    return [tokens[0] for tokens in same if tokens[0] != eos]


def _expand(log_probabilities: Tensor, alive: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """The best continuations of each sentence: log-probability, place of the parent and token, [B, C] each, best first.

    The best n of a sentence are among the best n of its hypotheses. Taking those first saves adding `alive` to W * V numbers.
    """
    gains, tokens = top(log_probabilities, min(n, log_probabilities.shape[1]))
    per_parent = gains.shape[1]
    gains = gains.float().view(*alive.shape, per_parent)  # [B, W, per_parent]
    totals, places = (alive[:, :, None] + gains).flatten(1).topk(min(n, alive.shape[1] * per_parent))
    return totals, places // per_parent, tokens.view(len(alive), -1).gather(1, places)


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
class _Searched:
    """Where the search stands, one row for each sentence that is still in it."""

    sentences: Tensor  # [B] places in the caller's batch
    limits: Tensor  # [B]
    alive: Tensor  # [B, W] log-probabilities of the hypotheses that have not ended, best first; -inf where there is none
    alive_nodes: Tensor  # [B, W] their last tokens in the history
    n_kept: Tensor  # [B] how many have ended
    kept: Tensor  # [B, finished] log-probabilities of the best that have ended, best first
    kept_scores: Tensor  # [B, finished] -inf where there is none yet
    kept_nodes: Tensor  # [B, finished]

    @classmethod
    def start(cls, limits: Tensor, history: "_History", finished: int) -> Self:
        sentences = torch.arange(len(limits), device=limits.device)
        nothing = torch.full((len(limits), finished), -torch.inf, device=limits.device)
        root = history.grow(torch.full_like(sentences, -1)[:, None], torch.full_like(sentences, -1)[:, None])
        alive = torch.zeros(len(limits), 1, device=limits.device)
        return cls(sentences, limits, alive, root, torch.zeros_like(limits), nothing, nothing, root.expand(-1, finished))

    def keep(self, totals: Tensor, nodes: Tensor, chosen: Tensor, length: int, alpha: float) -> None:
        """Of the candidates [B, C], merge those chosen with those kept; the best by n^alpha stay, as in CTranslate2."""
        chosen = chosen & (totals > -torch.inf)
        self.n_kept = self.n_kept + chosen.sum(dim=1)
        scores = (totals / length**alpha).masked_fill(~chosen, -torch.inf)
        self.kept_scores, places = torch.cat([self.kept_scores, scores], dim=1).topk(self.kept.shape[1])
        self.kept = torch.cat([self.kept, totals], dim=1).gather(1, places)
        self.kept_nodes = torch.cat([self.kept_nodes, nodes], dim=1).gather(1, places)

    def select(self, rows: Tensor) -> Self:
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))


class _History:
    """Every token that was ever a candidate, as a tree: hypotheses share their beginnings, and no prefix is ever copied."""

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

    def paths(self, nodes: Tensor) -> Tensor:
        """The tokens from the root to each of the nodes [N], which all are as deep: [N, depth]."""
        tokens, parents = torch.cat(self._tokens), torch.cat(self._parents)
        columns = []
        for _ in range(len(self._tokens) - 1):  # the root holds no token
            columns.append(tokens[nodes])
            nodes = parents[nodes]
        return torch.stack(columns[::-1], dim=1) if columns else nodes[:, None][:, :0]

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


def _harvest(left: list[_Searched], history: _History, eos: int) -> list[list[Hypothesis]]:
    """The hypotheses of all sentences, in the order in which the sentences came."""
    path = history.read()
    order = torch.cat([part.sentences for part in left]).argsort()
    nodes, scores, totals = (
        torch.cat([getattr(part, name) for part in left])[order].tolist() for name in ("kept_nodes", "kept_scores", "kept")
    )

    def read(node: int, total: float) -> Hypothesis:
        tokens = path(node)
        return Hypothesis(tokens[:-1], total) if tokens[-1] == eos else Hypothesis(tokens, None)

    return [
        [read(node, total) for node, score, total in zip(*kept, strict=True) if score != -torch.inf]
        for kept in zip(nodes, scores, totals, strict=True)
    ]
