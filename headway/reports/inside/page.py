"""A translation from inside, or the reading of a text, in a directory: one page to play with, and pictures to keep.

The page asks nothing of any network. It is written as `inside.html`, `.css` and `.js` and `positions.js`, which Jinja joins.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from headway.atomic import write_file, writing
from headway.errors import RequestError
from headway.family.reading import Reading
from headway.progress import Display
from headway.reports.colours import DARK, LIGHT, make_scale
from headway.reports.inside.attention import GAMMA, Name, draw_layer, make_views
from headway.reports.inside.positions import choose_waves, draw_products, draw_table, is_sinusoidal, wavelengths
from headway.reports.numbers import pack
from headway.reports.page import render
from headway.text.normalize import normalize

if TYPE_CHECKING:
    from headway.translator import Inside


def write_inside(
    inside: "Inside | Reading", sentence: str, directory: Path, display: Display, *, only_layer: int | None = None
) -> Path:
    """Write the page, which is handed back, and pictures of all layers' heads (or of one layer's) and of the positions."""
    views = make_views(inside)
    check_layer(only_layer, max(len(view.weights) for view in views))
    page, content = directory / "inside.html", render_page(inside, sentence=sentence)
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    write_file(page, content)
    for name in get_args(Name):  # of another sentence, or of another model
        for old in directory.glob(f"{name}-*.[ps][nv]g"):
            old.unlink()
    layers = [(view, layer) for view in views for layer in range(1, len(view.weights) + 1) if only_layer in (None, layer)]
    for done, (view, layer) in enumerate(layers):
        display.update("Drawing where it looks", done, len(layers))
        draw_layer(view, layer, directory / f"{view.name}-{layer}")
    if inside.positions is not None:
        draw_table(inside.positions, directory / "positions")
        draw_products(inside.positions, directory / "position-products")
    display.close()
    return page


def check_layer(layer: int | None, deepest: int) -> None:
    """Before anything is drawn of one layer: is it there?"""
    if layer is not None and not 1 <= layer <= deepest:
        raise RequestError(f"There is no layer {layer}.", f"Give a layer from 1 to {deepest}, or none for all.")


def render_page(inside: "Inside | Reading", *, sentence: str) -> str:
    """The page of a sentence's translation, or of a text that is read, as HTML with all that it needs inside it."""
    told: dict[str, Any] = {"sentence": normalize(sentence), "data": _gather(inside)}
    if isinstance(inside, Reading):
        told |= {"eyebrow": "Inside a model that reads", "answer": inside.answer, "scaled": True, "biased": False}
    else:
        told |= {"eyebrow": "Inside a translation", "answer": inside.translation or "(nothing)"}
        told |= {"scaled": inside.scaled, "biased": inside.biased}
    return render("inside/inside.html", **told)


def _gather(inside: "Inside | Reading") -> dict[str, Any]:
    """What the page's script reads; the template turns it into JSON in which no sentence can end the script."""
    schemes = {"light": LIGHT, "dark": DARK}
    return {
        "gamma": GAMMA,
        "scales": {name: {key: make_scale(*stops) for key, stops in scales.items()} for name, scales in schemes.items()},
        "views": [
            {
                "name": view.name,
                "title": view.title,
                "story": view.story,
                "asking": view.asking,
                "asked": view.asked,
                "sides": view.sides,
                "shape": view.weights.shape,
                "weights": pack(view.weights, "<u2"),
            }
            for view in make_views(inside)
        ],
        "positions": None if inside.positions is None else _gather_positions(inside.positions),
    }


def _gather_positions(table: np.ndarray) -> dict[str, Any]:
    largest = float(np.abs(table).max()) or 1.0
    chosen = choose_waves(table)
    return {
        "shape": table.shape,
        "largest": largest,
        "values": pack(table / largest, "<i2"),
        "waves": chosen,
        "wavelengths": wavelengths(table.shape[1])[chosen].tolist() if is_sinusoidal(table) else None,
    }
