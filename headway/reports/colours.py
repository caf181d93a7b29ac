"""Colour scales in which equal steps of a number look like equal steps of colour.

Colours are mixed in OKLab (Ottosson, 2020), where straight distance is what the eye sees, and not in sRGB, where it is not.
"""

from functools import cache

import numpy as np

STEPS = 256

# From nothing to all, by what is shown; on paper from light to dark, on a dark screen from dark to light.
LIGHT = {
    "encoder": ("#f5f6f7", "#7ba7cc", "#123a63"),
    "decoder": ("#f5f6f5", "#79b39a", "#0d4637"),
    "cross": ("#f8f6f4", "#e8956f", "#71190f"),
    "signed": ("#0f4c75", "#6fa3c4", "#f7f6f3", "#e2926f", "#8f2412"),
}
DARK = {
    "encoder": ("#1d2126", "#3f7db0", "#e3f1ff"),
    "decoder": ("#1d2221", "#3c8a6c", "#defae9"),
    "cross": ("#25201e", "#c05b34", "#ffe9dc"),
    "signed": ("#7cb9ea", "#33729f", "#1f2225", "#a84c29", "#f09a73"),
}

_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@cache
def make_scale(*stops: str) -> list[str]:
    """`STEPS` colours from the first stop to the last, through the others, evenly spaced to the eye."""
    points = np.array([to_oklab(stop) for stop in stops])
    way = np.concatenate([[0.0], np.linalg.norm(np.diff(points, axis=0), axis=1).cumsum()])
    at = np.linspace(0.0, way[-1], STEPS)
    return [from_oklab(np.array([np.interp(x, way, points[:, axis]) for axis in range(3)])) for x in at]


def to_oklab(colour: str) -> np.ndarray:
    """#rrggbb -> lightness, green to red, blue to yellow."""
    rgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return _LAB @ np.cbrt(_LMS @ linear)


def from_oklab(lab: np.ndarray) -> str:
    linear = (np.linalg.inv(_LMS) @ (np.linalg.inv(_LAB) @ lab) ** 3).clip(0, 1)
    rgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * value):02x}" for value in rgb)
