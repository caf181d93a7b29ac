"""The page of `headway inspect` in a browser, opened from a file: what a reader picks is shown, and what is shown is true."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screens import DESK, PHONE

from headway.family.reading import Reading
from headway.nn.positions import SinusoidalPositions
from headway.reports.colours import LIGHT, make_scale
from headway.reports.inside.attention import GAMMA
from headway.reports.inside.page import render_page
from headway.translator import Inside

on_desk_and_phone = pytest.mark.parametrize("page", [DESK, PHONE], ids=["desk", "phone"], indirect=True)
SOURCE, TARGET = ["A", "dog", "runs", ".", "‹end›"], ["Ein", "Hund", "läuft", "."]


def make_weights(layers: int, rows: int, columns: int) -> np.ndarray:
    """Random rows that sum to one, so that a weight of another head or cell would be noticed."""
    weights = np.random.default_rng(rows * columns).gamma(0.3, size=(layers, 3, rows, columns))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


INSIDE = Inside(
    source=SOURCE,
    read=["‹begin›", *TARGET],
    written=[*TARGET, "‹end›"],
    translation="Ein Hund läuft.",
    encoder=make_weights(2, 5, 5),
    decoder=make_weights(3, 5, 5),
    cross=make_weights(3, 5, 5),
    positions=SinusoidalPositions(d_model=16)(0, 64).numpy(),
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "inside.html"
    path.write_text(render_page(INSIDE, sentence="A dog runs. </script>"), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Any, address: str) -> Iterator[Any]:
    """The page, open; whatever the test does with it, no request may leave and no error may come."""
    page = browser.new_page(viewport=getattr(request, "param", DESK))
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    yield page
    page.close()
    assert requests == [address]
    assert complaints == []


def pick(page: Any, name: str, value: object) -> None:
    page.locator(f"input[name={name}][value='{value}']").check(force=True)


def hover(page: Any, canvas: Any, x: float, y: float) -> tuple[str, str, float]:
    """Point at a share of a map's width and height: the two pieces and the weight that the page tells."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    told = re.fullmatch(r"(.*) → (.*?)\s+([\d.]+)", page.locator("#tip").inner_text())
    assert told
    return told[1], told[2], float(told[3])


@on_desk_and_phone
def test_picking_a_head_and_pointing_tells_its_weights(page: Any) -> None:
    for view, layer, head in (("cross", 2, 1), ("encoder", 0, 2), ("decoder", 1, 0)):
        pick(page, "view", view)
        pick(page, "layer", layer)
        pick(page, "head", head)
        canvas = page.locator("#maps canvas")
        assert canvas.count() == 1
        assert page.locator("#maps figcaption").inner_text().startswith(f"layer {layer + 1}, head {head + 1}")
        weights = getattr(INSIDE, view)[layer, head]
        asking = INSIDE.source if view == "encoder" else INSIDE.written
        asked = INSIDE.read if view == "decoder" else INSIDE.source
        row_label, column_label, weight = hover(page, canvas, 0.6, 0.6)
        row, column = asking.index(row_label), asked.index(column_label)
        assert weight == pytest.approx(weights[row, column], abs=1e-4)
        tops = page.locator("#readout li").all_inner_texts()
        best = int(weights[row].argmax())
        label, weight = tops[0].split()
        assert label == asked[best] and float(weight) == pytest.approx(weights[row, best], abs=1e-4)
        assert len(tops) == 5


def test_what_is_told_is_what_is_under_the_pointer(page: Any) -> None:
    """Along the diagonal of the map, each told weight has the colour that the screen shows at that point."""
    page.emulate_media(color_scheme="light")
    pick(page, "layer", 1)
    pick(page, "head", 0)
    canvas = page.locator("#maps canvas")
    scale = make_scale(*LIGHT["cross"])
    matches, rows, columns = 0, set(), set()
    for share in np.linspace(0.33, 0.91, 15):
        row, column, weight = hover(page, canvas, share, share)
        page.mouse.move(0, 0)  # takes the frame around the row away
        pixel = canvas.evaluate(
            "(map, at) => [...map.getContext('2d').getImageData(at * map.width, at * map.height, 1, 1).data]", share
        )
        near = round(weight**GAMMA * 255) + np.arange(-1, 2)  # weights are told to four digits
        matches += "#{:02x}{:02x}{:02x}".format(*pixel[:3]) in [scale[at] for at in near.clip(0, 255)]
        rows.add(row)
        columns.add(column)
    assert matches >= 12  # a point may fall on the thin line between two cells
    assert len(rows) > 3 and len(columns) > 3


def test_all_heads_side_by_side_and_a_click_opens_one(page: Any) -> None:
    pick(page, "layer", 1)
    pick(page, "head", "all")
    maps = page.locator("#maps canvas")
    assert maps.count() == 3 and not page.locator("#lines").is_visible()
    row, column, _ = hover(page, maps.nth(0), 0.6, 0.6)
    cell = INSIDE.written.index(row), INSIDE.source.index(column)
    told = [float(text) for text in page.locator("#maps output").all_inner_texts()]
    assert told == pytest.approx([float(INSIDE.cross[1, head][cell]) for head in range(3)], abs=1e-4)
    maps.nth(2).click()
    assert page.locator("#tip").is_hidden(), "it spoke of another map"
    assert page.evaluate("document.activeElement.tagName") == "CANVAS", "arrow keys would go nowhere"
    assert page.locator("#maps figcaption").inner_text().startswith("layer 2, head 3")
    pick(page, "layer", "all")
    pick(page, "head", "all")
    assert maps.count() == 9


def test_the_mean_of_heads(page: Any) -> None:
    pick(page, "layer", 0)
    pick(page, "head", "mean")
    row, column, weight = hover(page, page.locator("#maps canvas"), 0.6, 0.6)
    mean = INSIDE.cross[0].mean(axis=0)[INSIDE.written.index(row), INSIDE.source.index(column)]
    assert weight == pytest.approx(mean, abs=1e-4)


def test_the_keyboard_is_enough(page: Any) -> None:
    page.locator("input[name=layer]:checked").focus()
    pick(page, "layer", 0)
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.name") == "layer"
    page.locator("input[name=head]:checked").focus()
    page.keyboard.press("ArrowRight")  # from the mean to the first head
    assert page.locator("#maps figcaption").inner_text().startswith("layer 2, head 1")
    page.locator("#maps canvas").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    told = re.match(r"Hund looks at dog with ([\d.]+)", page.locator("#readout p").inner_text())
    assert told and float(told[1]) == pytest.approx(INSIDE.cross[1, 0, 1, 1], abs=1e-4)


def test_lines_join_the_words(page: Any) -> None:
    pick(page, "head", 0)
    layer = int(page.locator("input[name=layer]:checked").input_value())
    assert page.locator("#lines path").count() == int((INSIDE.cross[layer, 0] >= 0.04).sum())
    page.locator("#lines text", has_text="Hund").hover()
    assert page.locator("#lines path:not(.faint)").count() == int((INSIDE.cross[layer, 0, 1] >= 0.04).sum())
    assert page.locator("#readout p").inner_text() == "Hund looks most at"


def test_the_position_slider_tells_products(page: Any) -> None:
    page.locator("#position").fill("20")
    row = INSIDE.positions / np.linalg.norm(INSIDE.positions, axis=1, keepdims=True)  # type: ignore[operator]
    wanted = ", ".join(f"{row[20] @ row[20 + by]:.2f}" for by in (1, 2, 4, 8, 16))
    assert page.locator("#products-caption").inner_text().endswith(wanted)


@on_desk_and_phone
def test_nothing_is_wider_than_the_screen(page: Any) -> None:
    for head in ("mean", "all"):
        pick(page, "head", head)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_change_to_dark_repaints_the_maps(page: Any) -> None:
    read_pixel = """() => {
        const map = document.querySelector("#maps canvas");
        return map.getContext("2d").getImageData(0.6 * map.width, 0.6 * map.height, 1, 1).data.join();
    }"""
    page.emulate_media(color_scheme="light")
    light = page.evaluate(read_pixel)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => ({read_pixel})() !== light", arg=light, timeout=5000)


def test_a_text_that_is_only_read_has_one_attention(browser: Any, tmp_path: Path) -> None:
    pieces, weights = ["oak", "elm", "ash"], make_weights(2, 3, 3)
    path = tmp_path / "inside.html"
    reading = Reading(pieces, "good (0.90)", weights, forwards=False, positions=np.eye(8, dtype=np.float32))
    path.write_text(render_page(reading, sentence="oak elm ash"), encoding="utf-8")
    page = browser.new_page(viewport=DESK)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    assert page.locator("input[name=view]").count() == 0
    pick(page, "layer", 1)
    pick(page, "head", 2)
    row, column, weight = hover(page, page.locator("#maps canvas"), 0.6, 0.6)
    assert weight == pytest.approx(weights[1, 2, pieces.index(row), pieces.index(column)], abs=1e-4)
    assert page.locator("#lines .side").all_text_contents() == ["asked", "asking"]
    assert page.locator(".translation").inner_text() == "good (0.90)"
    page.close()
    assert complaints == []
