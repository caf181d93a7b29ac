"""Pieces as labels of a picture: words stay words, and what SentencePiece writes for machines becomes readable."""

import re
from collections.abc import Sequence

from headway.text.tokenizer import Tokenizer

_SPACE = "\u2581"
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def label_pieces(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """One label for each id: "dress", "·es" for what goes on with a word, "␣" for a space, "東 2/3" for a character's byte."""
    marks = {tokenizer.unk: "‹unknown›", tokenizer.pad: "‹pad›", tokenizer.bos: "‹begin›", tokenizer.eos: "‹end›"}
    pieces = tokenizer.pieces(ids)
    values = [int(found[1], 16) if (found := _BYTE.fullmatch(piece)) else None for piece in pieces]
    labels: list[str] = []
    while len(labels) < len(ids):
        at = len(labels)
        if ids[at] in marks:
            labels.append(marks[ids[at]])
        elif values[at] is None:
            labels.append(_label(pieces[at], after_space=at > 0 and pieces[at - 1].endswith(_SPACE)))
        else:
            labels += _label_bytes(values[at : at + 4])
    return labels


def _label(piece: str, *, after_space: bool) -> str:
    if piece.startswith(_SPACE) and len(piece) > 1:
        piece = piece[1:]
    elif piece[0].isalnum() and not after_space:
        piece = f"·{piece}"
    return "".join(_show(character) for character in piece.replace(_SPACE, "␣"))


def _label_bytes(values: Sequence[int | None]) -> list[str]:
    """Labels of the first character that the bytes spell, or of the first byte alone where they spell none."""
    first = values[0] or 0
    length = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    try:
        character = bytes(value for value in values[:length] if value is not None).decode()
    except UnicodeDecodeError:
        character = ""
    if len(character) != 1 or not character.isprintable():
        return [f"0x{first:02X}"]
    return [_show(character)] if length == 1 else [f"{character} {n}/{length}" for n in range(1, length + 1)]


def _show(character: str) -> str:
    return character if character.isprintable() else f"U+{ord(character):04X}"
