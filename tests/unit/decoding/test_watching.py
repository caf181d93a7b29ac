"""Who watches a beam search sees all of it, and changes nothing."""

import torch
from toy_search import BOS, EOS, make_toy

from headway.decoding.options import Options
from headway.decoding.search import Look, beam_search


def test_a_watched_search_finds_the_same() -> None:
    toy, options, limits = make_toy(5, sentences=3), Options(beam=3, patience=1.5), torch.tensor([7, 4, 9])
    looks: list[Look] = []
    common = {"bos": BOS, "eos": EOS, "limits": limits, "options": options}
    watched = beam_search(toy.step, toy.start(), **common, watch=looks.append)
    assert watched == beam_search(toy.step, toy.start(), **common)

    tokens: dict[int, list[int]] = {root: [] for root in range(3)}
    ended: list[list[tuple[list[int], float]]] = [[], [], []]
    alive = set(tokens)
    for look in looks:
        assert set(look.parents.flatten().tolist()) <= alive
        for row, sentence in enumerate(look.sentences.tolist()):
            columns = (look.nodes, look.parents, look.tokens, look.totals, look.ended)
            for node, parent, token, total, done in zip(*(column[row].tolist() for column in columns), strict=True):
                tokens[node] = [*tokens[parent], token]
                if done and total > -torch.inf:
                    ended[sentence].append((tokens[node], total))
        alive = set(look.alive.flatten().tolist())
    for found, seen in zip(watched, ended, strict=True):
        for one in found:
            path = [*one.tokens, EOS] if one.log_probability is not None else one.tokens
            totals = [total for way, total in seen if way == path]
            assert len(totals) == 1 and (one.log_probability is None or totals == [one.log_probability])
