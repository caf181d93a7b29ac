"""Text and tables that fit the terminal."""

import shutil
from collections.abc import Sequence

NO_TERMINAL, NARROWEST, WIDEST = 100, 40, 128  # characters; longer lines of text are hard to read
ROOM = 30  # characters that the last cell of a row needs, to be broken beside the others


def find_width() -> int:
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((NO_TERMINAL, 24)).columns))


def wrap(text: str, width: int) -> list[str]:
    """Broken between words, or inside those that are too long; Chinese takes two places a character."""
    from rich.console import Console
    from rich.text import Text

    return [line.plain.rstrip() for line in Text(text).wrap(Console(), width)]


def print_text(text: str, hanging: int = 0) -> None:
    """What begins with spaces, or a word before, goes on `hanging` places from the left."""
    head, body = text[:hanging], text[hanging:]
    for number, line in enumerate(wrap(body, find_width() - hanging)):
        print(f"{' ' * hanging if number else head}{line}")


def print_table(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> None:
    """Columns as wide as they need; figures to the right.

    Where that is too wide for the terminal, the last cell is broken if it is a text, or else the first has a line of its own.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    whole, before = sum(widths) + 2 * len(widths) - 2, sum(widths[:-1]) + 2 * len(widths) - 2
    fits, breaks = whole <= find_width(), find_width() - before >= ROOM
    for row in rows:
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        if fits:
            print("  ".join(cells).rstrip())
        elif breaks:
            print_text(("  ".join(cells[:-1]) + "  " + row[-1]).rstrip(), hanging=before)
        else:
            indent = len(row[0]) - len(row[0].lstrip()) + 2
            if row[0].strip():
                print(row[0])
            print_text((" " * indent + "  ".join(cells[1:])).rstrip(), hanging=indent)
