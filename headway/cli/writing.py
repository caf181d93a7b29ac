"""Results on standard output: UTF-8 whatever the terminal's language, and there at once."""

import json
import sys
from typing import Any


def write(*texts: str) -> None:
    output = sys.stdout.buffer
    output.write("".join(texts).encode("utf-8", "replace"))
    output.flush()


def write_json(value: Any) -> None:
    """One object a line."""
    write(json.dumps(value, ensure_ascii=False), "\n")
