import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from headway.errors import HeadwayError
from headway.reports.inside.attention import View, draw_layer, make_views
from headway.translator import Inside


def make_weights(layers: int, heads: int, rows: int, columns: int) -> np.ndarray:
    weights = np.random.default_rng(0).random((layers, heads, rows, columns), dtype=np.float32)
    return weights / weights.sum(axis=-1, keepdims=True)


def make_view(asking: list[str], asked: list[str], heads: int = 4) -> View:
    return View("cross", "Cross-attention", "story", asking, asked, make_weights(2, heads, len(asking), len(asked)))


def png_size(path: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def read_texts(path: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_views_name_who_asks_and_who_is_asked() -> None:
    source, read, written = ["a", "b", "‹end›"], ["‹begin›", "x"], ["x", "‹end›"]
    arrays = {"encoder": make_weights(1, 2, 3, 3), "decoder": make_weights(2, 2, 2, 2), "cross": make_weights(2, 2, 2, 3)}
    views = make_views(Inside(source, read, written, "x", **arrays, positions=None))
    assert [(view.name, view.asking, view.asked) for view in views] == [
        ("encoder", source, source),
        ("decoder", written, read),
        ("cross", written, source),
    ]
    for view in views:
        assert view.weights.shape[2:] == (len(view.asking), len(view.asked))


def test_a_picture_has_every_head_and_every_piece(tmp_path: Path) -> None:
    view = make_view(["Ein", "Hund", "‹end›"], ["A", "dog", "runs", "‹end›"])
    png, svg = draw_layer(view, 2, tmp_path / "cross-2")
    assert (png.name, svg.name) == ("cross-2.png", "cross-2.svg")
    texts = read_texts(svg)
    assert "Cross-attention, layer 2" in texts
    assert [text for text in texts if text.startswith("head")] == ["head 1", "head 2", "head 3", "head 4"]
    for piece in ("Ein", "Hund", "A", "dog", "runs"):
        assert piece in texts


def test_the_same_weights_give_the_same_bytes_and_others_do_not(tmp_path: Path) -> None:
    view = make_view(["x", "y"], ["a", "b"], heads=1)
    first, again, other = (
        [path.read_bytes() for path in draw_layer(view, layer, tmp_path / str(n))] for n, layer in enumerate((1, 1, 2))
    )
    assert first == again
    assert first[0] != other[0]


def test_pieces_that_look_like_formulas_or_markup(tmp_path: Path) -> None:
    pieces = ["$x^$", "\\frac{", "</svg>", "&", "$", "_"]
    _, svg = draw_layer(make_view(pieces, pieces, heads=1), 1, tmp_path / "a")
    assert set(pieces) <= set(read_texts(svg))


def test_a_script_without_a_font_is_no_noise(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, capfd: pytest.CaptureFixture[str]
) -> None:
    _, svg = draw_layer(make_view(["東京", "𐎀"], ["हिन्दी"], heads=1), 1, tmp_path / "a")
    assert {"東京", "𐎀", "हिन्दी"} <= set(read_texts(svg))
    assert list(recwarn) == [] and capfd.readouterr() == ("", "")
    assert "matplotlib.pyplot" not in sys.modules


def test_a_long_sentence_grows_the_picture_and_thins_the_labels(tmp_path: Path) -> None:
    sizes, shown = [], []
    for n in (10, 40, 300):
        pieces = [f"p{at}" for at in range(n)]
        png, svg = draw_layer(make_view(pieces, pieces[:8], heads=1), 1, tmp_path / str(n))
        sizes.append(png_size(png)[1])
        shown.append(len({text for text in read_texts(svg) if text in pieces}))
    assert sizes[0] < sizes[1] < sizes[2] < 2000
    assert shown[:2] == [10, 40] and 30 < shown[2] < 120


def test_one_piece_and_an_odd_number_of_heads(tmp_path: Path) -> None:
    png, svg = draw_layer(make_view(["‹end›"], ["a"], heads=3), 1, tmp_path / "a")
    assert png_size(png)[0] > 100
    assert "head 3" in read_texts(svg)


def test_without_matplotlib_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(HeadwayError, match=r"pip install headway\[report\]"):
        draw_layer(make_view(["x"], ["a"]), 1, tmp_path / "a")
