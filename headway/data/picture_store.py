"""Pictures and their classes as a store: a picture's pixels are its source, its class the target."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headway.config import Settings
from headway.data.build import Progress
from headway.data.facts import Facts
from headway.data.images import PictureCorpus, open_pictures
from headway.data.split import default_held_out
from headway.data.store import StoreWriter
from headway.errors import DataError, RequestError
from headway.text.class_names import ClassNames
from headway.text.tokenizer import Tokenizers

PART = 1_000  # pictures written at once


@dataclass(frozen=True)
class PictureData:
    train: PictureCorpus
    valid: PictureCorpus | None
    test: PictureCorpus | None
    size: int
    channels: int
    given: Tokenizers | None = None

    @property
    def files(self) -> list[Path]:
        return [path for corpus in (self.train, self.valid, self.test) if corpus for path in corpus.files]

    def build(self, settings: Settings, directory: Path, on_progress: Progress) -> Facts:
        """Write the stores of all parts and the names of the classes into an empty directory."""
        facts = Facts(settings.data.max_length, settings.data.max_ratio, "picture")
        names = self.given.target if self.given else ClassNames(self.train.labels)
        Tokenizers(names, names).save(directory / "tokenizer")
        facts.source_vocab, facts.target_vocab, facts.classes = 256, names.size, names.size
        facts.valid_given, facts.test_given = self.valid is not None, self.test is not None
        facts.pairs_read = len(self.train)
        of_part = _split(len(self.train), settings.data.held_out, valid=self.valid is None, test=self.test is None)

        def pictures(part: str) -> Iterator[tuple[np.ndarray, str]]:
            given = {"valid": self.valid, "test": self.test}.get(part)
            for row, one in enumerate((given or self.train).read(self.size, self.channels)):
                if given or of_part[row] == part:
                    yield one

        sizes = {}
        for part in ("train", "valid", "test"):
            with StoreWriter(directory / part, source_vocab=256, target_vocab=names.size) as store:
                for number, (pixels, label) in enumerate(pictures(part), 1):
                    store.append([pixels.reshape(-1)], names.encode([label]))
                    if number % PART == 0:
                        on_progress(f"Reading pictures ({part})", number, None)
                store.end_segment(1.0)
                sizes[part] = store.pairs
        facts.pairs_kept, facts.valid_pairs, facts.test_pairs = sizes["train"], sizes["valid"], sizes["test"]
        return facts


def is_pictures(name: str) -> bool:
    """Whether a corpus is one of pictures: a directory, or files as MNIST's."""
    return Path(name).is_dir() or any(Path(f"{name}-images-idx3-ubyte{ending}").is_file() for ending in ("", ".gz"))


def picture_shape(settings: Settings) -> tuple[int, int]:
    """Channels, and pixels of a side, of the pictures that a run trains on."""
    train = open_pictures(settings.data.train[0])
    return train.channels, train.size


def open_picture_data(settings: Settings, given: Tokenizers | None, size: int | None, channels: int | None) -> PictureData:
    """`size` and `channels` are those of a model that is there already."""
    if len(settings.data.train) != 1:
        raise RequestError("Pictures come from one place.", "Give --train once.")
    train = open_pictures(settings.data.train[0])
    valid, test = (open_pictures(spec) if spec else None for spec in (settings.data.valid, settings.data.test))
    return PictureData(train, valid, test, size or train.size, channels or train.channels, given)


def _split(pictures: int, held_out: int | None, *, valid: bool, test: bool) -> list[str]:
    """Which part each picture belongs to, the same every time."""
    size = held_out or default_held_out(pictures)
    parts = ["train"] * pictures
    if size * (valid + test) >= pictures:
        raise DataError(
            f"{pictures:,} pictures are too few to cut {size * (valid + test):,} off and have some left to train on.",
            "Give held-out pictures with --valid and --test, a smaller --held-out, or more pictures.",
        )
    order = np.random.default_rng(0).permutation(pictures)
    for name, wanted in (("valid", valid), ("test", test)):
        if wanted:
            chosen, order = order[:size], order[size:]
            for row in chosen.tolist():
                parts[row] = name
    return parts
