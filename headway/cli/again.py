"""A command that can be given again, in the words that work where the user is."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.errors import Interrupted


def headway_command() -> str:
    """`headway`, or what it was called by where the shell does not find that."""
    if shutil.which("headway"):
        return "headway"
    called_by = Path(sys.argv[0])
    return "python -m headway" if called_by.name == "__main__.py" else shlex.quote(str(called_by))


@contextmanager
def resumable() -> Iterator[None]:
    """Whoever stops the work is told how to go on with it."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt) as stop:
        problem = stop.problem if isinstance(stop, Interrupted) else "Interrupted."
        raise Interrupted(problem, f"To go on: {headway_command()} {shlex.join(sys.argv[1:])}") from None
