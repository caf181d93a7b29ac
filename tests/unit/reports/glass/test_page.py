"""The glass box as a page: small enough to send, whatever the sentence, and honest about what it leaves out."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from small_models import write_model, write_relative

import headway
from headway.family.classifier import Classifier
from headway.family.generator import Generator
from headway.glass.limits import MOST_PIECES
from headway.glass.parts import Beam, Node
from headway.glass.relatives import see_generator, see_picture
from headway.glass.translation import see_translation
from headway.reports.glass.beam import draw_beam, lay_out
from headway.reports.glass.maps import choose_layers, make_maps, thin
from headway.reports.glass.page import render_glass
from headway.reports.glass.pictures import foresee_pictures, list_pictures

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


@pytest.mark.parametrize("scaled", [True, False])
def test_the_equation_is_that_of_the_model(tmp_path: Path, scaled: bool) -> None:
    translator = headway.load(write_model(tmp_path / "model", scale_attention=scaled), engine="torch")
    glass = see_translation(translator, "copy oak", "oak")
    assert [stack.scaled for stack in glass.stacks] == [scaled, scaled]
    page = render_glass(glass)
    root = "<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"
    assert page.count(root) == (2 if scaled else 0)
    assert page.count("This model, other than the paper’s, does not divide") == (0 if scaled else 2)


def test_pictures_are_known_by_name_before_anything_is_computed(tmp_path: Path) -> None:
    translator = headway.load(write_model(tmp_path / "model", n_decoder_layers=1), engine="torch")
    architecture = translator.engines.torch.model.architecture
    for target in ("oak", None):
        found = list(list_pictures(see_translation(translator, "copy oak", target)))
        assert sorted(foresee_pictures(architecture, searched=target is None)) == sorted(found)
    Image.new("RGB", (12, 12), "red").save(tmp_path / "red.png")
    gpt = Generator.load(write_relative(tmp_path / "gpt", "gpt"))
    vit = Classifier.load(write_relative(tmp_path / "vit", "vit"))
    for model, glass in ((gpt.model, see_generator(gpt, "oak")), (vit.model, see_picture(vit, tmp_path / "red.png"))):
        assert sorted(foresee_pictures(model.architecture, searched=True)) == sorted(list_pictures(glass))


def test_the_page_says_how_to_have_its_pictures(tmp_path: Path) -> None:
    translator = headway.load(write_model(tmp_path / "model"), engine="torch")
    page = render_glass(see_translation(translator, "copy oak", "oak"))
    assert "headway inspect MODEL SENTENCE --picture cross-1" in page and "beside this page" not in page


def test_every_map_is_called_by_what_it_shows(tmp_path: Path) -> None:
    translator = headway.load(write_model(tmp_path / "model"), engine="torch")
    page = render_glass(see_translation(translator, "copy oak", "oak"))
    labels = re.findall(r'<canvas [^>]*aria-label="([^"]*)"', page)
    assert len(labels) == len(set(labels)) > 20
    assert {
        "Self-attention of encoder layer 1, head 1",
        "Self-attention of decoder layer 2, head 2",
        "Cross-attention of decoder layer 2, head 1",
        "source, sum",
    } <= set(labels)


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
