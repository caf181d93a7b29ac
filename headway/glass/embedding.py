"""The bottom of figure 1: pieces become vectors, and learn where they stand. T positions, D dimensions."""

from typing import Literal

import numpy as np
from torch import Tensor, nn

from headway.glass.parts import Code, Input, Term
from headway.glass.recording import Calls, to_numpy
from headway.nn.embeddings import Embedding
from headway.nn.patches import PatchEmbedding
from headway.text.tokenizer import Tokenizer


def see_input(
    name: Literal["source", "target", "text", "picture"],
    embedding: Embedding | PatchEmbedding,
    positions: nn.Module | None,
    calls: Calls,
    at: int,
    labels: list[str],
    tokenizer: Tokenizer | None,
    *,
    total: Tensor,
    segments: Embedding | None = None,
    norm: nn.Module | None = None,
) -> Input:
    """`at` is which call of the parts it was: where both languages share an embedding, it is called twice.

    `total` is their sum, as the model made it [1, T, D].
    """
    call = calls.of[embedding][at]
    vectors = _rows(call.output)
    terms = [Term("embedding", vectors, Code.of(type(embedding).forward))]
    if positions is not None:
        added = np.broadcast_to(_rows(calls.of[positions][at].output), vectors.shape)
        terms.append(Term("position", added, Code.of(type(positions).forward)))
    if segments is not None:
        terms.append(Term("segment", _rows(calls.last(segments).output), Code.of(type(segments).forward)))
    ids: list[int] = [] if tokenizer is None else call.inputs[0][0].tolist()
    return Input(
        name=name,
        labels=labels,
        ids=ids,
        tokenizer=None if tokenizer is None else Code.of(type(tokenizer).encode),
        vocabulary=len(embedding.weight) if isinstance(embedding, Embedding) else 0,
        terms=terms,
        scale=embedding.scale if isinstance(embedding, Embedding) else 1.0,
        total=_rows(total),
        normed=None if norm is None else Code.of(type(norm)),
    )


def _rows(output: Tensor) -> np.ndarray:
    """[1, T, D] or [T, D] -> [T, D]"""
    return to_numpy(output)[0] if output.dim() == 3 else to_numpy(output)
