"""Headway: from the bilingual text that people already have to a translator that they own.

    import headway
    translator = headway.load("runs/en-de/best")
    translator.translate(["A dog runs."])[0].text

Importing headway is cheap: torch and the rest are imported when something needs them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.training.run import train
    from headway.translator import Translation, Translator, load

__version__ = "0.1.0"
__all__ = ["Translation", "Translator", "load", "train"]


def __getattr__(name: str) -> Any:
    if name in ("Translation", "Translator", "load"):
        from headway import translator

        return getattr(translator, name)
    if name == "train":
        from headway.training.run import train

        return train
    raise AttributeError(f"module 'headway' has no attribute {name!r}")
