"""Headway: from the bilingual text that people already have to a translator that they own.

    import headway
    translator = headway.load("runs/en-de/best")
    translator.translate(["A dog runs."])[0].text

Importing headway is cheap: torch and the rest are imported when something needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.family.classifier import Classifier
    from headway.family.filler import Filler
    from headway.family.generator import Generator
    from headway.training.run import train
    from headway.translator import Translation, Translator, load

__version__ = "0.1.0"
__all__ = ["Classifier", "Filler", "Generator", "Translation", "Translator", "load", "train"]

_HOMES = {
    "Classifier": "headway.family.classifier",
    "Filler": "headway.family.filler",
    "Generator": "headway.family.generator",
    "Translation": "headway.translator",
    "Translator": "headway.translator",
    "load": "headway.translator",
    "train": "headway.training.run",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'headway' has no attribute {name!r}")
