"""From pieces to words: which source word a target word was translated from, as the attention tells."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

_SPACE = "\u2581"
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_MARKS = {"<pad>", "<s>", "</s>"}  # stand for no text; text that looks like them is cut into other pieces


def number_words(pieces: Sequence[str]) -> list[int | None]:
    """For each piece the number of its word, counted from 0 as `str.split` does; None for what is white space alone.

    Bytes are read as the character that they spell together, which may be white space too. A piece that holds the end of
    one word and the beginning of another belongs to the first.
    """
    numbers: list[int | None] = []
    word, inside = -1, False
    for text, length in _read_characters(pieces):
        number = None
        for character in text:
            if character == _SPACE or character.isspace():
                inside = False
                continue
            if not inside:
                word, inside = word + 1, True
            if number is None:
                number = word
        numbers += [number] * length
    return numbers


def _read_characters(pieces: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The text of each piece, or of the bytes that spell a character together, and how many pieces it takes."""
    at = 0
    while at < len(pieces):
        text, length = "" if pieces[at] in _MARKS else pieces[at], 1
        if found := _BYTE.fullmatch(pieces[at]):
            text, length = _read_bytes(int(found[1], 16), pieces[at : at + 4])
        yield text, length
        at += length


def _read_bytes(first: int, pieces: Sequence[str]) -> tuple[str, int]:
    """The character that begins with this byte; where the bytes spell none, the first stands for itself."""
    length = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    values = [int(found[1], 16) for piece in pieces[:length] if (found := _BYTE.fullmatch(piece))]
    try:
        character = bytes(values).decode()
    except UnicodeDecodeError:
        character = ""
    return (character, length) if len(character) == 1 else ("\ufffd", 1)


def align_words(
    attention: np.ndarray, source_words: Sequence[int | None], target_words: Sequence[int | None]
) -> list[tuple[int, int]]:
    """Link each target word to the source word that it looks at most: pairs of (source, target), sorted.

    `attention` [T, S] holds the weights of target pieces on source pieces. A source word has the sum of its pieces' weights,
    a target word the mean of its pieces'; of equals the first wins. What belongs to no word (None: white space, the end
    mark) is left out, however much weight it has: models park attention on the end mark when they need nothing from the
    source, and a likely link helps more than a gap. Only a target word with no weight on any word at all has no link.
    """
    sources, source_owners = _own(source_words)
    targets, target_owners = _own(target_words)
    if attention.shape != (len(target_words), len(source_words)):
        raise ValueError(
            f"attention is {attention.shape}, for {len(target_words)} target and {len(source_words)} source pieces"
        )
    if not sources or not targets:
        return []
    # Sums over a target word's pieces, which have the same largest entry as their means.
    weights = target_owners.T @ attention.astype(np.float64) @ source_owners
    best = weights.argmax(1)
    return sorted((sources[s], targets[t]) for t, s in enumerate(best) if weights[t, s] > 0)


def _own(words: Sequence[int | None]) -> tuple[list[int], np.ndarray]:
    """The words, each once, and a matrix [pieces, words] that has a 1 where a piece belongs to a word."""
    distinct = sorted({word for word in words if word is not None})
    return distinct, np.array([[word == other for other in distinct] for word in words], dtype=np.float64)
