"""The beam's tree is that of the search that translates."""

from pathlib import Path
from typing import Any

import pytest
from small_models import write_model

import headway
from headway.glass.parts import Node
from headway.glass.translation import see_translation

SENTENCE = "copy oak elm ash"


def spell(nodes: list[Node], at: int) -> list[str]:
    return [] if at < 0 else [*spell(nodes, nodes[at].parent), nodes[at].piece]


@pytest.mark.parametrize(
    ("decoding", "ends"),
    [({}, True), ({"beam": 2, "penalty": "power"}, True), ({"min_length": 9}, False), ({"max_extra": 1}, False)],
    ids=["as in the paper", "narrow", "not too short", "cut off"],
)
def test_the_winner_is_the_translation(tmp_path: Path, decoding: dict[str, Any], ends: bool) -> None:
    translator = headway.load(
        write_model(tmp_path / "model", seed=3, ends=0.0 if "max_extra" in decoding else 7.0, words=3.0), engine="torch"
    )
    translator.decoding = translator.decoding.model_copy(update=decoding)
    (best,) = translator.translate([SENTENCE], nbest=1, tokens=True)
    glass = see_translation(translator, SENTENCE)
    beam = glass.beam
    assert beam is not None and glass.answer.strip() == best.text.strip()
    assert beam.ended[0].score == pytest.approx(best.score, abs=1e-5)
    assert [one.score for one in beam.ended] == sorted((one.score for one in beam.ended), reverse=True)

    won = [node for node in beam.nodes if node.winner]
    assert [node.step for node in won] == list(range(1, len(won) + 1))
    written = [step.written for step in glass.predictions.each]
    assert [node.piece for node in won] == written[: len(won)]
    assert won[-1].fate == "ended" and won[-1].score == pytest.approx(best.score, abs=1e-5)
    if ends:  # what is cut off counts its end as well, and where pieces are banned the search sees other probabilities
        assert won[-1].piece == "‹end›" and len(won) > 2
        assert won[-1].log_probability == pytest.approx(sum(s for _, s in best.tokens or []), abs=1e-4)
    width = decoding.get("beam", 5)
    for step in range(1, max(node.step for node in beam.nodes)):
        here = [at for at, node in enumerate(beam.nodes) if node.step == step]
        kept = {at for at in here if beam.nodes[at].fate == "kept"}
        assert len(kept) <= width
        assert {node.parent for node in beam.nodes if node.step == step + 1} <= kept
        if kept:
            worst = min(beam.nodes[at].log_probability for at in kept)
            dropped = [beam.nodes[at] for at in here if beam.nodes[at].fate == "pruned" and beam.nodes[at].piece != "‹end›"]
            assert all(node.log_probability <= worst for node in dropped)
    ways = [tuple(spell(beam.nodes, at)) for at in range(len(beam.nodes))]
    assert len(set(ways)) == len(ways)


def test_a_greedy_search_leaves_no_tree(tmp_path: Path) -> None:
    translator = headway.load(write_model(tmp_path / "model", ends=4.0), engine="torch")
    translator.decoding = translator.decoding.model_copy(update={"beam": 1})
    glass = see_translation(translator, SENTENCE)
    assert glass.beam is None and "greedy" in glass.without_beam
    assert glass.answer.strip() == translator.translate([SENTENCE])[0].text.strip()
