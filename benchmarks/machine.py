"""What every result carries: the machine that it was measured on, and the command that gave it."""

import shlex
import sys
from pathlib import Path
from typing import Any

from headway.experiments.experiment import describe_machine


def describe_run(**places: Path | None) -> dict[str, Any]:
    """Of this process. `places` are directories of this machine by the names that they get in the command; inner ones first."""
    return {"machine": describe_machine(), "command": tell_command(sys.argv, places)}


def tell_command(words: list[str], places: dict[str, Path | None]) -> str:
    """A command as anybody could type it: with names in place of one machine's directories."""
    named = {str(path): name for name, path in places.items() if path}
    told = []
    for word in words[1:]:
        place = next((one for one in named if word == one or word.startswith(f"{one}/")), None)
        told.append(word if place is None else word.replace(place, named[place], 1))
    return shlex.join(["python", f"benchmarks/{Path(words[0]).name}", *told])
