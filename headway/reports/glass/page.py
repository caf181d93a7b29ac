"""The glass box: a page which follows one sentence through a model, and each of its pictures by itself, for a paper.

The page asks nothing of any network. Its equations and its drawing of figure 1 are in files of their own.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.atomic import write_file, writing
from headway.config import did_you_mean
from headway.errors import RequestError
from headway.glass.parts import Beam, Glass
from headway.progress import Display
from headway.reports.colours import DARK, LIGHT, make_scale
from headway.reports.glass.beam import MOST_NODES, lay_out
from headway.reports.glass.maps import Maps, make_maps
from headway.reports.glass.pictures import list_pictures
from headway.reports.numbers import pack
from headway.reports.page import render
from headway.text.normalize import normalize

ALL = "all"  # pictures
WIDTH = 100  # columns that a list of names keeps to


def write_glass(glass: Glass, directory: Path) -> Path:
    """Write `glass.html`."""
    page, content = directory / "glass.html", render_glass(glass)
    _prepare(directory)
    write_file(page, content)
    return page


def write_pictures(glass: Glass, names: Sequence[str], directory: Path, display: Display) -> list[Path]:
    """Write these pictures, or all, each as PNG and SVG."""
    pictures = list_pictures(glass)
    check_pictures(names, list(pictures))
    chosen = list(pictures) if ALL in names else list(dict.fromkeys(names))
    _prepare(directory)
    written = []
    for done, name in enumerate(chosen):
        display.update("Drawing", done, len(chosen), name)
        written += pictures[name](directory / name)
    display.close()
    return written


def check_pictures(names: Sequence[str], known: Sequence[str]) -> None:
    unknown = [name for name in names if name not in (*known, ALL)]
    if unknown:
        raise RequestError(
            f"There is no picture {', '.join(unknown)}.{did_you_mean(unknown[0], list(known))}",
            textwrap.fill(f"There are: {', '.join(known)}; or {ALL}.", WIDTH, break_on_hyphens=False),
        )


def render_glass(glass: Glass) -> str:
    maps = make_maps(glass)
    return render(
        "glass/glass.html",
        glass=glass,
        sentence=normalize(glass.sentence),
        notes=maps.notes,
        maps=maps.maps,
        pictures=list(list_pictures(glass)),
        data=_gather(glass, maps),
    )


def _prepare(directory: Path) -> None:
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)


def _gather(glass: Glass, maps: Maps) -> dict[str, Any]:
    """What the page's script reads; the template turns it into JSON in which no sentence can end the script."""
    schemes = {"light": LIGHT, "dark": DARK}
    return {
        "scales": {name: {key: make_scale(*stops) for key, stops in scales.items()} for name, scales in schemes.items()},
        "labels": maps.labels,
        "maps": maps.maps,
        "beam": None if glass.beam is None else _gather_beam(glass.beam, maps),
        "picture": None if glass.picture is None else _gather_picture(glass),
    }


def _gather_beam(beam: Beam, maps: Maps) -> dict[str, Any]:
    many = len(beam.nodes) > MOST_NODES
    if many:
        maps.notes["beam"] = "Candidates that were dropped at once are left out: there are too many."
    nodes = [
        [node.parent, column, row, node.piece, round(node.log_probability, 3), node.fate, node.score, node.winner]
        for node, (column, row) in zip(beam.nodes, lay_out(beam), strict=True)
    ]
    return {"nodes": [None if many and node[5] == "pruned" else node for node in nodes]}


def _gather_picture(glass: Glass) -> dict[str, Any]:
    assert glass.picture is not None
    pixels = glass.picture.pixels / 255
    return {
        "shape": pixels.shape,
        "pixels": pack(pixels, "<u2"),
        "looks": {"shape": glass.picture.looks.shape, "values": pack(glass.picture.looks, "<u2")},
        "rollout": {"shape": glass.picture.rollout.shape, "values": pack(glass.picture.rollout, "<u2")},
    }
