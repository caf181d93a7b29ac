"""Figures as files: made without a screen, saved as PNG and SVG, with labels in any script."""

import io
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from headway.atomic import write_file
from headway.errors import HeadwayError

INK, QUIET, RULE = "#20262c", "#5b6570", "#d9dee3"
DPI = 160

_MAIN_FONT = "DejaVu Sans"  # comes with matplotlib


def make_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise HeadwayError("Drawing pictures needs matplotlib.", "pip install headway[report]") from None
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)  # draws without a screen, and without pyplot's global state
    return figure


def place(figure: Any, left: float, top: float, width: float, height: float) -> Any:
    """A panel at so many inches from the figure's upper left corner."""
    whole_width, whole_height = figure.get_size_inches()
    bottom = whole_height - top - height
    return figure.add_axes((left / whole_width, bottom / whole_height, width / whole_width, height / whole_height))


def write_title(figure: Any, title: str, story: str, *, gap: float = 0.16) -> None:
    """Above the figure: what it shows, and in smaller letters how to read it. `gap` inches are left below them."""
    height = figure.get_size_inches()[1]
    common = {"va": "bottom", "fontfamily": font_families([title, story]), "parse_math": False}
    figure.text(0, 1 + (gap + 0.22) / height, title, fontsize=13, fontweight="bold", color=INK, **common)
    figure.text(0, 1 + gap / height, story, fontsize=8.5, color=QUIET, **common)


def quieten(panel: Any) -> None:
    """Ticks and labels that do not compete with what is drawn."""
    panel.tick_params(colors=QUIET, length=0, labelsize=9)
    panel.xaxis.label.set_color(QUIET)
    panel.yaxis.label.set_color(QUIET)


def open_frame(panel: Any, grid: Literal["x", "y", "both"] = "y") -> None:
    """A panel without a box, on a quiet grid."""
    panel.grid(axis=grid, color=RULE, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(RULE)
    quieten(panel)


def save_figure(figure: Any, stem: Path) -> list[Path]:
    """Write `stem`.png and `stem`.svg, cut to what is drawn. The same figure gives the same bytes."""
    from matplotlib import rc_context

    written = []
    # Text stays text in SVG: it can be searched, and a browser has fonts for scripts that this machine has none for.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "headway"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # an empty box says it as well
        drawn = figure.get_tightbbox().padded(0.2)  # inches; measured once for both
        for kind, metadata in (("png", {}), ("svg", {"Date": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, metadata=metadata, bbox_inches=drawn)
            path = stem.with_name(f"{stem.name}.{kind}")
            write_file(path, buffer.getvalue())
            written.append(path)
    return written


def colour_map(colours: Iterable[str]) -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap(list(colours))


def font_families(labels: Iterable[str]) -> list[str]:
    """The main font, then those of this machine that have the characters that it lacks."""
    missing = {ord(character) for label in labels for character in label} - _characters_of_main_font()
    families = [_MAIN_FONT]
    if missing:
        for family, characters in _other_fonts():
            if missing & characters:
                families.append(family)
                missing -= characters
    return families


@cache
def _characters_of_main_font() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(_MAIN_FONT)).get_charmap())


@cache
def _other_fonts() -> list[tuple[str, frozenset[int]]]:
    from matplotlib.font_manager import fontManager, get_font

    files = {font.name: font.fname for font in fontManager.ttflist if font.style == "normal"}
    return [(name, frozenset(get_font(path).get_charmap())) for name, path in sorted(files.items())]
