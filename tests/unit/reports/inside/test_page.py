import base64
import json
import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headway.errors import HeadwayError
from headway.family.reading import Reading
from headway.reports.inside.page import render_page
from headway.translator import Inside


def make_inside(source: list[str], positions: np.ndarray | None = None) -> Inside:
    s = len(source)

    def weights(rows: int, columns: int) -> np.ndarray:
        found = np.random.default_rng(rows).random((2, 3, rows, columns), dtype=np.float32)
        return found / found.sum(axis=-1, keepdims=True)

    return Inside(source, ["‹begin›", "x"], ["x", "‹end›"], "x", weights(s, s), weights(2, 2), weights(2, s), positions)


def read_data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_holds_the_weights() -> None:
    inside = make_inside(["a", "b", "‹end›"])
    data = read_data(render_page(inside, sentence="a b"))
    assert [view["name"] for view in data["views"]] == ["encoder", "decoder", "cross"]
    for view, weights in zip(data["views"], (inside.encoder, inside.decoder, inside.cross), strict=True):
        packed = np.frombuffer(base64.b64decode(view["weights"]), "<u2").reshape(view["shape"]) / 65535
        assert packed == pytest.approx(weights, abs=1e-5)
    assert data["positions"] is None


def test_the_page_holds_the_positions() -> None:
    table = np.array([[3.0, -1.5], [0.0, 0.75]], dtype=np.float32)
    page = render_page(make_inside(["a"], table), sentence="a")
    positions = read_data(page)["positions"]
    packed = np.frombuffer(base64.b64decode(positions["values"]), "<i2").reshape(positions["shape"])
    assert packed / 32767 * positions["largest"] == pytest.approx(table, abs=1e-3)
    assert 'id="products"' in page
    assert 'id="products"' not in render_page(make_inside(["a"]), sentence="a")


def test_no_sentence_breaks_out() -> None:
    evil = "</script><script>alert(1)</script> {{ 7 * 7 }} <!-- <b> & \u2028 '\""
    page = render_page(make_inside([evil]), sentence=evil)
    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert read_data(page)["views"][0]["asked"] == [evil]
    assert "<b>" not in page and "<!-- " not in page and "{{ 7 * 7 }}" in page


def test_a_sentence_that_no_file_could_hold() -> None:
    page = render_page(make_inside(["a"]), sentence="caf\udce9")  # what a shell hands over of a word in Latin-1
    assert "caf\ufffd" in page.encode().decode()


def test_the_page_asks_nothing_of_any_network() -> None:
    page = render_page(make_inside(["a"], np.eye(4)), sentence="a")
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"https?://[^\s\"']+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of a kind of picture, not a place
    assert not re.search(r"(?:src|href)=|url\(|@import", page)


def test_without_jinja_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(HeadwayError, match=r"pip install headway\[report\]"):
        render_page(make_inside(["a"]), sentence="a")


@pytest.mark.parametrize(("forwards", "name"), [(True, "decoder"), (False, "encoder")])
def test_the_page_of_a_text_that_is_only_read(forwards: bool, name: str) -> None:
    pieces = ["a", "b", "c"]
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 3, 3)).astype(np.float32)
    page = render_page(Reading(pieces, "<good>", weights, forwards, np.eye(4)), sentence="a b c")
    (view,) = read_data(page)["views"]
    assert (view["name"], view["asking"], view["asked"]) == (name, pieces, pieces)
    assert np.frombuffer(base64.b64decode(view["weights"]), "<u2").reshape(view["shape"]) / 65535 == pytest.approx(
        weights, abs=1e-5
    )
    assert '<p class="translation" dir="auto">&lt;good&gt;</p>' in page
    assert "Inside a translation" not in page
    silent = render_page(Reading(pieces, "", weights, forwards, np.eye(4)), sentence="a b c")
    assert 'class="translation"' not in silent


def test_the_equation_is_the_models_own() -> None:
    inside = make_inside(["a", "‹end›"])
    assert "<mfrac>" in render_page(inside, sentence="a")
    page = render_page(replace(inside, scaled=False, biased=True), sentence="a")
    assert "<mfrac>" not in page and "<mi>B</mi>" in page and "does\n        not divide by" in page
