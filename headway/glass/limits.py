"""How much is looked into at once."""

from headway.errors import RequestError

MOST_PIECES = 200  # of a side; a page of more is too large to send, and nobody reads it


def check_full(n: int) -> None:
    if n > MOST_PIECES:
        raise RequestError(
            f"A text of {n:,} pieces is too long to follow through all of a model; {MOST_PIECES:,} are the most.",
            "Give a part of it, or leave out --full: attention alone is shown of longer texts.",
        )
