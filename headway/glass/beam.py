"""The beam search as a tree: the real search is watched, step by step, and nothing is searched twice."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from headway.decoding.options import Options
from headway.decoding.ranking import Hypothesis, Ranked, length_penalty, rank
from headway.decoding.rules import Rules
from headway.decoding.search import Look, beam_search
from headway.engines.torch import Caches, TorchEngine
from headway.glass.parts import Beam, Code, Ended, Node
from headway.text.labels import label_pieces
from headway.text.tokenizer import Tokenizer


@torch.inference_mode()
def search(
    engine: TorchEngine, source: Sequence[int], *, limit: int, options: Options, target: Tokenizer
) -> tuple[list[int], Beam | None]:
    """The best translation's pieces, and how it was found; a beam of one leaves no tree."""
    device = engine.model.device
    read = torch.tensor([[*source, engine.eos]], device=device)
    looks: list[Look] = []
    (found,) = beam_search(
        engine.step,
        Caches(tuple(model.start(read) for model in engine.models)),
        bos=engine.bos,
        eos=engine.eos,
        limits=torch.tensor([limit], device=device),
        options=options,
        rules=Rules.of(options, engine.eos),
        watch=looks.append,
    )
    known = [_with_score(engine, source, one, options) for one in found]
    ranked = rank(known, alpha=options.alpha, penalty=options.penalty)
    if not looks:
        return ranked[0].tokens, None
    beam = Beam(
        nodes=_grow(looks, ranked, engine.eos, target),
        ended=_tell(ranked, options, target),
        width=options.beam,
        alpha=options.alpha,
        penalty=options.penalty,
        codes=[Code.of(beam_search), Code.of(length_penalty), Code.of(rank)],
    )
    return ranked[0].tokens, beam


def _with_score(engine: TorchEngine, source: Sequence[int], one: Hypothesis, options: Options) -> Hypothesis:
    """What was cut off at its limit, or found while pieces were banned, is scored, as `translate` does."""
    if one.log_probability is not None and not options.bans:
        return one
    return replace(one, log_probability=sum(engine.score([source], [one.tokens], engine.batch_tokens)[0]))


def _grow(looks: list[Look], ranked: list[Ranked], eos: int, target: Tokenizer) -> list[Node]:
    places: dict[int, int] = {}  # of the search's numbers in our list
    paths: list[tuple[int, ...]] = []
    nodes: list[Node] = []
    scores = {tuple(one.tokens): one.score for one in reversed(ranked)}
    for step, look in enumerate(looks, 1):
        alive = set(look.alive[0].tolist())
        columns = (look.nodes, look.parents, look.tokens, look.totals, look.ended)
        for number, above, token, total, ended in zip(*(column[0].tolist() for column in columns), strict=True):
            if total == -torch.inf:
                continue
            parent = places.get(above, -1)
            path = (*(paths[parent] if parent >= 0 else ()), token)
            places[number] = len(nodes)
            paths.append(path)
            score = scores.get(path[:-1] if token == eos else path) if ended else None
            fate = "ended" if ended else "kept" if number in alive else "pruned"
            label = label_pieces(target, path)[-1]
            nodes.append(Node(parent, step, label, total, fate, score, winner=False))  # type: ignore[arg-type]
    return _mark(nodes, ranked[0], paths, eos)


def _mark(nodes: list[Node], best: Ranked, paths: list[tuple[int, ...]], eos: int) -> list[Node]:
    """Of the end that won, all that lie on the way to it."""
    won = {tuple(best.tokens), (*best.tokens, eos)}
    at = next(place for place, node in enumerate(nodes) if node.fate == "ended" and paths[place] in won)
    way = set()
    while at >= 0:
        way.add(at)
        at = nodes[at].parent
    return [replace(node, winner=place in way) for place, node in enumerate(nodes)]


def _tell(ranked: list[Ranked], options: Options, target: Tokenizer) -> list[Ended]:
    told = []
    for one, text in zip(ranked, target.decode([one.tokens for one in ranked]), strict=True):
        n = len(one.tokens) + 1
        penalty = length_penalty(n, options.alpha, options.penalty)
        told.append(Ended(text, n, one.score * penalty, penalty, one.score))
    return told
