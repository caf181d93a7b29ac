"""The pages of evaluations and runs in a browser, opened from a file: at a desk and on a phone, by day and by night."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from evaluations import ARABIC, CHINESE, HOSTILE, make_evaluation, make_result, make_run
from screens import DESK, PHONE

from headway.reports.evaluation.page import write_evaluation
from headway.reports.runs.comparison import Compared, find_differences, write_runs_page
from headway.reports.runs.page import write_run_page

SIZES = {"desk": DESK, "phone": PHONE}
LIMIT = 3_000_000  # bytes of a page

Open = Callable[[str, str], Any]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("pages")
    old, new = make_run("old"), make_run("new", clip=2.0)
    compared = Compared(
        runs=[old, new],
        systems={"old": [old], "new": [new]},
        evaluations=[make_evaluation(make_result("old", 31.25), make_result("new", 34.0))],
        differing=find_differences([old, new]),
        notes=[f"A note {HOSTILE}"],
    )
    return {
        "evaluation": write_evaluation(make_evaluation(), directory / "evaluation.html", title=f"Title {HOSTILE}"),
        "run": write_run_page(old, make_evaluation(make_result("old", 31.25)), directory / "run.html"),
        "runs": write_runs_page(compared, directory / "runs.html"),
    }


@pytest.fixture(scope="module")
def open_page(browser: Any, pages: dict[str, Path]) -> Iterator[Open]:
    """A page at one of the sizes; whatever tests do with it, no request may leave and no error may come."""
    page = browser.new_page()
    requests: set[str] = set()
    complaints: list[str] = []
    page.on("request", lambda request: requests.add(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def open_one(name: str, size: str) -> Any:
        page.set_viewport_size(SIZES[size])
        if page.url != pages[name].as_uri():
            page.goto(pages[name].as_uri())
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        return page

    yield open_one
    page.close()
    assert requests <= {path.as_uri() for path in pages.values()}
    assert complaints == []


@pytest.mark.parametrize("name", ["evaluation", "run", "runs"])
@pytest.mark.parametrize("size", SIZES)
def test_every_page_fits_its_screen_and_tells_scores_with_intervals(open_page: Open, name: str, size: str) -> None:
    page = open_page(name, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(FIND_CUT) == []
    scores = page.get_by_label("Scores")
    assert scores.locator("figcaption b").all_inner_texts() == ["BLEU", "chrF", "TER"]
    first = scores.locator(".row").first
    assert first.locator(".told").inner_text().split() == ["31.25", "29.75", "to", "32.75"]
    whisker, dot = (first.locator(part).bounding_box() for part in (".whisker", ".dot"))
    assert whisker["width"] > dot["width"]
    assert dot["x"] + dot["width"] / 2 == pytest.approx(whisker["x"] + whisker["width"] / 2, abs=1.5)


# Text that is wider than its box, where the box does not scroll.
FIND_CUT = """() => [...document.querySelectorAll(".card *, .tiles *, article *, .note")]
    .filter(one => one.children.length === 0 && !one.matches("i, .unseen") && one.scrollWidth > one.clientWidth + 1
                   && getComputedStyle(one).display !== "inline" && !one.closest(".scale"))
    .map(one => one.outerHTML)"""


def test_text_of_any_kind_is_shown_as_it_is(open_page: Open) -> None:
    page = open_page("evaluation", "desk")
    assert page.locator("h1").inner_text() == f"Title {HOSTILE}"
    assert page.locator("b", has_text="quoted").count() == 0, "the text became part of the page"
    line = page.locator("article", has_text="line 1,200").first
    source, reference = line.locator(".source"), line.locator(".reference")
    assert source.inner_text() == ARABIC and reference.inner_text() == CHINESE
    assert [part.evaluate("one => getComputedStyle(one).direction") for part in (source, reference)] == ["rtl", "ltr"]
    assert line.locator(".hypothesis").first.locator("mark.only").inner_text() == "花"
    assert line.locator(".hypothesis").nth(1).inner_text() == "(nothing)"


def test_words_are_marked_by_what_the_reference_has(open_page: Open) -> None:
    page = open_page("evaluation", "phone")
    article = page.locator("article", has_text="line 7").first
    first, second = article.locator(".hypothesis").all()
    assert first.locator("mark.only").all_inner_texts() == ["rennt"]
    assert "Hund" in second.locator("mark.moved").all_inner_texts()
    colours = [one.evaluate("one => getComputedStyle(one).backgroundColor") for one in (first, first.locator("mark.only"))]
    assert colours[0] != colours[1]


def test_comparisons_are_told_in_words(open_page: Open) -> None:
    told = open_page("evaluation", "desk").get_by_label("Comparisons").inner_text()
    assert "2.75 BLEU more than old (95 % interval +0.85 to +4.65): better (p = 0.0040 by bootstrap)." in told
    assert "no clear difference (p = 0.4120 by bootstrap)." in told
    assert "1.50 TER less than old: not tested (too few sentences)." in told


def test_bars_are_as_long_as_their_values(open_page: Open) -> None:
    bars = open_page("evaluation", "phone").locator(".breakdowns .card").first.locator(".bar").all()
    told = [float(bar.locator("b").inner_text()) for bar in bars]
    long = [bar.locator("i").bounding_box()["width"] for bar in bars]
    assert told == [62.5, 65.0, 58.0, 57.5, 41.0, 49.5]
    assert [width / long[0] for width in long] == pytest.approx([value / told[0] for value in told], abs=0.02)


def test_bars_and_lines_are_told_apart_without_colours(open_page: Open) -> None:
    page = open_page("evaluation", "phone")
    bars = page.locator(".breakdowns .card").first.locator(".bar")
    assert bars.all_text_contents()[:2] == ["old: 62.5", f"new {HOSTILE}: 65.0"]
    box = bars.first.locator(".unseen").bounding_box()
    assert box["width"] <= 1 and box["height"] <= 1
    plot = open_page("runs", "desk").locator(".plot", has_text="Validation BLEU").first
    for lines in (".line", ".sample"):
        assert plot.locator(lines).evaluate_all("all => all.map(one => getComputedStyle(one).strokeDasharray)") == [
            "none",
            "7px, 3px",
        ]


@pytest.mark.parametrize("name", ["evaluation", "run", "runs"])
def test_night_and_weight(open_page: Open, pages: dict[str, Path], name: str) -> None:
    page = open_page(name, "desk")
    light = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        paper, ink = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
        light[scheme] = [sum(map(int, re.findall(r"\d+", colour))) for colour in (paper, ink)]
    assert light["light"][0] > light["light"][1] and light["dark"][0] < light["dark"][1]
    assert pages[name].stat().st_size < LIMIT


def test_curves_of_a_run_rise_where_the_figure_does(open_page: Open) -> None:
    page = open_page("run", "phone")
    plot = page.locator(".plot", has_text="Validation BLEU")
    points = re.findall(r"([\d.]+) ([\d.]+)", plot.locator(".line").get_attribute("d"))
    (x1, y1), (x2, y2) = [(float(x), float(y)) for x, y in points]
    assert x1 < x2 and y1 > y2  # from the upper left
    assert "best 20 at update 20" in plot.inner_text()
    assert page.locator(".plot svg").first.bounding_box()["height"] > 150


def test_runs_side_by_side(open_page: Open) -> None:
    page = open_page("runs", "phone")
    rows = page.get_by_label("Runs").locator("tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["old", "new"]
    assert page.get_by_label("Settings").locator("tbody tr").all_inner_texts() == ["training.clip\t1\t2"]
    assert page.locator(".plot", has_text="Validation BLEU").first.locator(".line").count() == 2
    box = page.locator(".wide").first
    assert box.evaluate("one => one.scrollWidth > one.clientWidth"), "wide tables scroll in a box of their own"
