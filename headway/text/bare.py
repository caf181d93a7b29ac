"""Pieces that stand by themselves. SentencePiece takes whatever it is given for a text, and begins it with a space; a piece may
have stood within a word.
"""

from collections.abc import Sequence

import sentencepiece


def cut_bare(model: bytes, pieces: Sequence[str]) -> list[list[str]]:
    """Each piece as a SentencePiece model would cut it where it stood: "▁" is a space, and without one there is none."""
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    processor.override_normalizer_spec(add_dummy_prefix=False, remove_extra_whitespaces=False)
    return processor.encode(list(pieces), out_type=str)
