"""Parts of a training corpus as text, drawn at random, each in the next larger one: as if the corpus were smaller."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from headway.atomic import new_directory
from headway.config import Settings
from headway.data.build import PART, Progress
from headway.data.filters import is_blank
from headway.data.prepare import Prepared
from headway.data.readers import Corpus, Pair, open_corpus
from headway.data.split import digest
from headway.text.tags import list_prefixes, without_prefix


def write_parts(
    settings: Settings, prepared: Prepared, directory: Path, shares: Mapping[str, float], on_progress: Progress
) -> None:
    """Of each corpus so large a share, by its name, in files that `name_part` names; and `valid.tsv`, to judge by.

    No part has a sentence that was cut off for validation or for the test. The same seed draws the same pairs.
    """
    data = settings.data
    prefixes = data.prefix or [""] * len(data.train)
    held_out = _gather_cut_off(prepared, list_prefixes(prefixes))
    with new_directory(directory) as new:
        for number, (spec, prefix) in enumerate(zip(data.train, prefixes, strict=True)):
            corpus = open_corpus(spec, data.source_language, data.target_language, prefix)
            usable = bytes(
                not is_blank(source, target)
                and not (held_out and {digest(source.removeprefix(prefix)), digest(target)} & held_out)
                for source, target in corpus
            )
            order = np.random.default_rng((settings.training.seed, number)).permutation(sum(usable))
            paths = {name_part(new, name, number): max(1, round(share * len(order))) for name, share in shares.items()}
            _write_smallest(corpus, usable, order, paths, prefix, on_progress)
        own = prefixes[0] if len(prefixes) == 1 else ""  # which reading puts before it again
        with (new / "valid.tsv").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_tell(pair, own) for pair in prepared.valid)


def name_part(directory: Path, name: str, number: int) -> Path:
    """Of the corpus of that number, as they were given."""
    return directory / f"{name}-{number + 1}.tsv"


def _gather_cut_off(prepared: Prepared, prefixes: Sequence[str]) -> set[int]:
    """Sentences that training may not have, whatever stands before them. Given parts may stand in training, and are told of."""
    facts = prepared.facts
    cut = [*([] if facts.valid_given else prepared.valid), *([] if facts.test_given else prepared.test)]
    return {digest(sentence) for source, target in cut for sentence in (without_prefix(source, prefixes), target)}


def _write_smallest(
    corpus: Corpus, usable: bytes, order: np.ndarray, sizes: Mapping[Path, int], prefix: str, on_progress: Progress
) -> None:
    """To each file the pairs whose places in the order are below its size, as they follow each other in the corpus."""
    places = iter(order.tolist())
    with ExitStack() as files:
        opened = [(files.enter_context(path.open("w", encoding="utf-8", newline="\n")), size) for path, size in sizes.items()]
        for row, (pair, use) in enumerate(zip(corpus, usable, strict=True)):
            if row % PART == 0:
                on_progress("Drawing parts", row, len(usable))
            if use:
                place, line = next(places), _tell(pair, prefix)
                for file, size in opened:
                    if place < size:
                        file.write(line)


def _tell(pair: Pair, prefix: str) -> str:
    """A tab inside a sentence, which would end it, is a space to all who score."""
    source, target = pair
    return "\t".join(side.replace("\t", " ") for side in (source.removeprefix(prefix), target)) + "\n"
