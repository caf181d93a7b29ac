"""The glass box as a page: small enough to send, whatever the sentence, and honest about what it leaves out."""

from pathlib import Path

import numpy as np
import pytest
from small_models import write_model

import headway
from headway.glass.limits import MOST_PIECES
from headway.glass.parts import Beam, Node
from headway.glass.translation import see_translation
from headway.reports.glass.beam import draw_beam, lay_out
from headway.reports.glass.maps import choose_layers, make_maps, thin
from headway.reports.glass.page import render_glass
from headway.reports.glass.pictures import list_pictures

LARGEST = 3_000_000  # bytes


@pytest.mark.parametrize(
    ("layers", "heads", "size", "most", "shown", "by_head"),
    [
        (4, 4, 900, 100_000, [0, 1, 2, 3], True),
        (6, 8, 3600, 100_000, [0, 2, 5], True),
        (6, 8, 40_000, 100_000, [0, 5], False),
        (6, 8, 90_000, 100_000, [5], False),
    ],
)
def test_as_many_layers_as_there_is_room_for(layers, heads, size, most, shown, by_head) -> None:
    found = choose_layers(layers, heads, size, most)
    assert (found.layers, found.heads) == (shown, by_head)


def test_thinning_takes_every_nth_column() -> None:
    values = np.arange(24).reshape(2, 12)
    some, step = thin(values, 9)
    assert step == 3 and some.tolist() == [[0, 3, 6, 9], [12, 15, 18, 21]]
    assert thin(values, 24)[1] == 1


def test_a_page_stays_small_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    shape = {"n_layers": 4, "n_decoder_layers": 4, "d_model": 128, "d_ff": 512, "n_heads": 4, "d_k": 32, "d_v": 32}
    translator = headway.load(write_model(tmp_path / "model", sharpness=0.02, **shape), engine="torch")
    (sentence,) = translator.tokenizers.source.decode([translator.tokenizers.source.encode(["oak elm ash " * 20])[0][:30]])
    glass = see_translation(translator, sentence, sentence)
    assert 28 <= len(glass.inputs[0].ids) <= 32
    assert make_maps(glass).notes == {}
    assert len(render_glass(glass).encode()) < LARGEST / 2

    (sentence,) = translator.tokenizers.source.decode(
        [translator.tokenizers.source.encode(["oak elm ash " * 100])[0][: MOST_PIECES - 1]]
    )
    glass = see_translation(translator, sentence, sentence)
    assert len(glass.inputs[0].ids) >= MOST_PIECES - 2
    page = render_glass(glass)
    assert len(page.encode()) < LARGEST
    assert "Of 512 units every 5th is shown; all are counted." in page
    assert "The page has room for" in page
    names = list(list_pictures(glass))
    assert {"embedding-source", "encoder-4", "cross-2", "units-decoder-1", "alignment", "distribution"} <= set(names)


def test_the_beam_is_drawn_with_the_dropped_below(tmp_path: Path) -> None:
    nodes = [
        Node(-1, 1, "Ein", -0.1, "kept", None, winner=True),
        Node(-1, 1, "Der", -2.0, "pruned", None, winner=False),
        Node(-1, 1, "‹end›", -3.0, "ended", -2.5, winner=False),
        Node(0, 2, "‹end›", -0.4, "ended", -0.3, winner=True),
    ]
    beam = Beam(nodes, [], width=2, alpha=0.6, penalty="paper", codes=[])
    assert lay_out(beam) == [(0, 0), (0, 2), (0, 1), (1, 0)]
    _, svg = draw_beam(beam, tmp_path / "beam")
    drawn = svg.read_text(encoding="utf-8")
    assert all(word in drawn for word in ("Ein", "Der", "-0.40 → -0.300", "a beam of 2"))
