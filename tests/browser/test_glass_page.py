"""The glass box in a browser, opened from a file: the parts of figure 1, what they are said to hold, and the beam's tree."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from screens import DESK, PHONE
from small_models import write_model, write_relative

import headway
from headway.family.classifier import Classifier
from headway.family.filler import Filler
from headway.family.generator import Generator
from headway.glass.parts import Glass
from headway.glass.relatives import see_filler, see_generator, see_picture
from headway.glass.translation import see_translation
from headway.reports.glass.page import render_glass

SENTENCE = "copy oak <b>elm</b></script>"


@pytest.fixture(scope="module")
def glasses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Glass]:
    home = tmp_path_factory.mktemp("glasses")
    Image.new("RGB", (12, 12), "red").save(home / "red.png")
    translator = headway.load(write_model(home / "model", seed=3, ends=7.0, words=3.0), engine="torch")
    translator.decoding = translator.decoding.model_copy(update={"min_length": 4})
    return {
        "translation": see_translation(translator, SENTENCE),
        "gpt": see_generator(Generator.load(write_relative(home / "gpt", "gpt")), "copy oak"),
        "bert": see_filler(Filler.load(write_relative(home / "bert", "bert")), "copy [MASK]"),
        "vit": see_picture(Classifier.load(write_relative(home / "vit", "vit")), home / "red.png"),
    }


@pytest.fixture
def show(browser: Any, glasses: dict[str, Glass], tmp_path: Path) -> Iterator[Any]:
    """Open a page; whatever the test does with it, no request may leave and no error may come."""
    complaints: list[str] = []
    pages: list[Any] = []

    def show(name: str, viewport: dict[str, int] = DESK) -> Any:
        path = tmp_path / f"{name}.html"
        path.write_text(render_glass(glasses[name]), encoding="utf-8")
        page = browser.new_page(viewport=viewport)
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        assert requests == [path.as_uri()]
        pages.append(page)
        return page

    yield show
    for page in pages:
        page.close()
    assert complaints == []


def read_shapes(page: Any, place: str) -> dict[str, list[int]]:
    told = page.locator(f"{place} .shape").all_inner_texts()
    found = [re.fullmatch(r"(.*)\s\[([\d, ]+)\]", text) for text in told]
    return {one[1].strip(): [int(side) for side in one[2].split(",")] for one in found if one}


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_translation_from_bottom_to_top(show: Any, glasses: dict[str, Glass], viewport: dict[str, int]) -> None:
    glass, page = glasses["translation"], show("translation", viewport)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("h1").inner_text() == SENTENCE
    assert page.locator(".translation").inner_text() == " ".join(glass.answer.split())
    assert page.locator("math").count() >= 10
    assert page.evaluate("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.getAttribute('href')))")
    assert page.locator("nav svg").is_visible() == (viewport is DESK)

    s, t = (len(given.ids) for given in glass.inputs)
    assert page.locator("#pieces .pieces small").all_inner_texts() == [str(one) for one in glass.inputs[0].ids]
    assert read_shapes(page, "#embedding")["x"] == [s, 16]
    assert read_shapes(page, "#encoder-attention") == {
        **{"x": [s, 16], "Q": [2, s, 8], "K": [2, s, 8], "V": [2, s, 8]},
        **{"weights": [2, s, s], "Concat(head₁ … headₕ)": [s, 16]},
    }
    assert read_shapes(page, "#decoder-cross")["weights"] == [2, t, s]
    assert read_shapes(page, "#distribution")["p"] == [t, 320]
    assert "MultiHeadAttention.attend in headway/nn/attention.py" in page.locator("#encoder-attention").inner_text()

    steps = page.locator("#distribution .step")
    assert steps.locator("h3 span").all_inner_texts() == [step.written for step in glass.predictions.each]
    total = sum(step.log_probability or 0 for step in glass.predictions.each)
    assert float(page.locator("#sum").inner_text()) == pytest.approx(total, abs=1e-4)
    assert glass.beam is not None
    winner = page.locator("#tree .winner .piece").all_text_contents()
    assert winner == [step.written for step in glass.predictions.each]
    assert page.locator("#tree g").count() == len(glass.beam.nodes)
    best = page.locator("table.ended .winner td").all_inner_texts()
    assert best[-1] == " ".join(glass.answer.split()) and float(best[0]) == pytest.approx(glass.beam.ended[0].score, abs=1e-4)


def test_pointing_at_a_map_tells_its_number(show: Any, glasses: dict[str, Glass]) -> None:
    glass, page = glasses["translation"], show("translation")
    layer = page.locator("#decoder-2")
    layer.locator("summary").click()
    canvas = layer.locator("canvas[data-map='cross-2-1']")
    canvas.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector(\"canvas[data-map='cross-2-1']\").shape")
    box, shape = canvas.bounding_box(), canvas.evaluate("canvas => canvas.shape")
    x, y = shape["left"] + 2.5 * shape["cell"], shape["top"] + 1.5 * shape["high"]
    page.mouse.move(box["x"] + x, box["y"] + y)
    cross = glass.stacks[1].layers[1].cross
    assert cross is not None
    row, column = glass.predictions.each[1].written, glass.inputs[0].labels[2]
    assert page.locator("#tip").inner_text().split() == [*f"{row} → {column}".split(), f"{cross[0, 1, 2]:.4f}"]


def test_figure_1_and_the_alignment_without_a_mouse(show: Any, glasses: dict[str, Glass]) -> None:
    glass, page = glasses["translation"], show("translation")
    nav = page.get_by_role("navigation")
    names = ["encoder: self-attention", "decoder: cross-attention", "decoder: add & norm", "outputs: embedding", "beam search"]
    assert [nav.get_by_role("link", name=name, exact=True).count() for name in names] == [1, 1, 3, 1, 1]
    page.locator("nav p a").focus()  # to the alignment, the last of them
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#lines') !== null")
    assert glass.alignment is not None
    weights = glass.alignment.weights
    row, column = divmod(int(weights[:, 1:].argmax()), weights.shape[1] - 1)
    for _ in range(column + 1):
        page.keyboard.press("ArrowDown")
    told = page.evaluate("document.activeElement.getAttribute('aria-label')")
    source, written = glass.inputs[0].labels[column + 1], glass.predictions.each[row].written
    assert told.startswith(f"{source}: {written} {weights[row, column + 1]:.2f}")
    assert 0 < page.locator("#lines path.faint").count() < page.locator("#lines path").count()


BLANK = """() => [...document.querySelectorAll("canvas")].filter(one => one.parentElement.clientWidth
    && !one.getContext("2d").getImageData(0, 0, one.width, one.height).data.some(Boolean)).length"""


def test_what_was_not_scrolled_to_is_printed_too(show: Any) -> None:
    page = show("translation", PHONE)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(BLANK) == 0
    page = show("gpt", PHONE)
    page.wait_for_function(f"() => !({BLANK})()", polling=300, timeout=15000)


def test_what_is_wider_than_a_phone_scrolls_in_its_box_with_a_sign(show: Any) -> None:
    page = show("translation", PHONE)
    wide = page.evaluate("""[...document.querySelectorAll("math, #tree svg, table")].filter(
        one => one.getBoundingClientRect().right > innerWidth).map(one => one.closest(".scroll, .equations"))
        .map(box => box !== null && getComputedStyle(box).backgroundAttachment.includes("local"))""")
    assert len(wide) > 2 and all(wide)


@pytest.mark.parametrize("name", ["gpt", "bert", "vit"])
def test_a_relative_has_the_parts_that_it_has(show: Any, glasses: dict[str, Glass], name: str) -> None:
    glass, page = glasses[name], show(name, PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.getAttribute('href')))")
    assert page.locator("#alignment, #decoder-cross, #tree").count() == 0
    assert page.locator(f"#{glass.stacks[0].name}-attention").count() == 1
    assert page.locator("#distribution .step").count() == len(glass.predictions.each)
    assert page.locator("#beam").inner_text().endswith(glass.without_beam)
    assert (page.locator("canvas[data-look]").count() > 4) == (name == "vit")
