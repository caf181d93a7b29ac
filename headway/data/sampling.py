"""Subword sampling (Provilkov et al., 2020, for BPE; Kudo, 2018, for unigram): other cuts of the same text each epoch."""

from hashlib import blake2b
from itertools import islice
from pathlib import Path

from headway.atomic import new_directory
from headway.data.pairtext import read_pairs
from headway.data.store import Store, StoreWriter
from headway.text.tokenizer import Tokenizers

PART = 10_000  # pairs that share a seed; changing it changes every sampled epoch


def resample(
    plain: Store,
    text: Path,
    tokenizers: Tokenizers,
    directory: Path,
    *,
    alpha: float,
    max_length: int,
    seed: int,
    epoch: int,
) -> Store:
    """Write the pairs of `plain`, in their order, cut at random from their text, `train.source` and `train.target` in `text`.

    Each part of the corpus draws from its own seed, made of (seed, epoch, part), so that the result depends on nothing else.
    A cut of more than `max_length` pieces is replaced by the usual one.
    """
    pairs = read_pairs(text, "train")
    with (
        new_directory(directory) as new,
        StoreWriter(new, source_vocab=tokenizers.source.size, target_vocab=tokenizers.target.size) as writer,
    ):
        for segment in plain.segments:
            for start in range(segment.start, segment.end, PART):
                part = list(islice(pairs, min(PART, segment.end - start)))
                sources, targets = (
                    tokenizer.sample([pair[side] for pair in part], alpha=alpha, seed=_derive_seed(seed, epoch, start, side))
                    for side, tokenizer in enumerate((tokenizers.source, tokenizers.target))
                )
                writer.append(
                    [ids if len(ids) <= max_length else plain.source(i) for i, ids in enumerate(sources, start)],
                    [ids if len(ids) <= max_length else plain.target(i) for i, ids in enumerate(targets, start)],
                )
            writer.end_segment(segment.weight)
    return Store(directory)


def _derive_seed(*parts: int) -> int:
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=4).digest(), "little")
