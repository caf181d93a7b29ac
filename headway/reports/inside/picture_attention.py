"""A model of pictures from inside: where each head looks in the picture, and what that comes to layer after layer.

The picture stands grey below; the warmer a patch, the more weight lies on it. H heads, C channels.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from headway.atomic import writing
from headway.errors import RequestError
from headway.family.reading import PictureReading
from headway.progress import Display
from headway.reports.figures import QUIET, colour_map, make_figure, place, save_figure, write_title

_PANEL, _GAP, _TITLE = 2.2, 0.2, 0.3  # inches: a picture, between two, above each
_HEAT = "#c8401c"
_DENSEST = 0.86  # how much the patch with the most weight covers what is below
_NAMES = ("heads", "rollout")


def write_picture_inside(
    reading: PictureReading, name: str, directory: Path, display: Display, *, only_layer: int | None = None
) -> list[Path]:
    """Draw every layer's heads (or one layer's) and the rollout, as PNG and SVG in a directory. `name` is the picture's."""
    layers = len(reading.looks)
    if only_layer is not None and not 1 <= only_layer <= layers:
        raise RequestError(f"There is no layer {only_layer}.", f"Give a layer from 1 to {layers}, or none for all.")
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    for part in _NAMES:  # of another picture, or of a deeper model
        for old in [*directory.glob(f"{part}-*.[ps][nv]g"), *directory.glob(f"{part}.[ps][nv]g")]:
            old.unlink()
    written = []
    chosen = [layer for layer in range(1, layers + 1) if only_layer in (None, layer)]
    for done, layer in enumerate(chosen):
        display.update("Drawing where it looks", done, len(chosen))
        written += draw_heads(reading, layer, name, directory / f"heads-{layer}")
    written += draw_rollout(reading, name, directory / "rollout")
    display.close()
    return written


def draw_heads(reading: PictureReading, layer: int, name: str, stem: Path) -> list[Path]:
    """The picture, and over it the attention of each head of a layer (counted from 1)."""
    looks = reading.looks[layer - 1]
    titles = [f"head {head}, at most {weights.max():.2f}" for head, weights in enumerate(looks, 1)]
    story = "From the vector in which the class is gathered: the warmer a patch, the more of its weight lies there."
    return _draw(reading, looks, titles, f"Where layer {layer} looks", f"{name}: {reading.answer}. {story}", stem)


def draw_rollout(reading: PictureReading, name: str, stem: Path) -> list[Path]:
    """The picture, and over it what has reached the class's vector after each layer."""
    titles = [f"after layer {layer}, at most {weights.max():.2f}" for layer, weights in enumerate(reading.rollout, 1)]
    story = "Attention rollout: through all heads and layers so far, what has come from each patch to the class's vector."
    return _draw(reading, reading.rollout, titles, "What has arrived", f"{name}: {reading.answer}. {story}", stem)


def _draw(reading: PictureReading, maps: np.ndarray, titles: list[str], title: str, story: str, stem: Path) -> list[Path]:
    """maps [n, rows, columns]"""
    panels = len(maps) + 1
    across = panels if panels <= 5 else min((4, 5, 6), key=lambda n: -panels % n)  # few places stay empty
    down = math.ceil(panels / across)
    figure = make_figure(across * (_PANEL + _GAP) - _GAP, down * (_PANEL + _TITLE + _GAP) - _GAP)
    for at, name in enumerate(["the picture", *titles]):
        row, column = divmod(at, across)
        panel = place(figure, column * (_PANEL + _GAP), row * (_PANEL + _TITLE + _GAP) + _TITLE, _PANEL, _PANEL)
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_visible(False)
        panel.set_title(name, loc="left", fontsize=9, color=QUIET, pad=5)
        if at == 0:
            _show(panel, reading.picture.transpose(1, 2, 0) / 255)
        else:
            _show(panel, _dim(reading.picture))
            _lay_over(panel, maps[at - 1], reading.picture.shape[-1])
    write_title(figure, title, story)
    return save_figure(figure, stem)


def _dim(picture: np.ndarray) -> np.ndarray:
    """Grey, so that the only colour is that of attention."""
    return (picture.mean(axis=0) / 255)[:, :, None]


def _show(panel: Any, pixels: np.ndarray) -> None:
    """pixels [size, size, C], grey or in colours, from 0 to 1"""
    panel.imshow(pixels.repeat(3, axis=2) if pixels.shape[2] == 1 else pixels, interpolation="nearest")


def _lay_over(panel: Any, weights: np.ndarray, size: int) -> None:
    """The highest weight covers most; patches keep their edges, for no weight is finer than they are."""
    cover = _DENSEST * weights / (weights.max() or 1.0)
    edges = (-0.5, size - 0.5, size - 0.5, -0.5)
    panel.imshow(
        np.zeros_like(weights), alpha=cover, cmap=colour_map([_HEAT]), extent=edges, interpolation="nearest", vmin=0, vmax=1
    )
    panel.set(xlim=edges[:2], ylim=edges[2:])
