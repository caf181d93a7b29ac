"""Pictures and their classes as a store: a picture's pixels are its source, its class the target."""

from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from headway.amounts import amount, are
from headway.architectures import PATCH_SIZE
from headway.config import Settings, parse_corpus
from headway.data.build import LEAST_HELD_OUT, Progress
from headway.data.facts import Facts
from headway.data.images import PictureCorpus, open_pictures
from headway.data.split import DigestCollector, Hashes, cut, default_held_out, digest
from headway.data.store import StoreWriter
from headway.errors import DataError, RequestError
from headway.text.class_names import ClassNames
from headway.text.tokenizer import Tokenizer, Tokenizers

PART = 1_000  # pictures read between two reports


@dataclass(frozen=True)
class PictureData:
    """Pictures to train on, with their weight; held-out parts that were given; the names of a model that may be there."""

    train: PictureCorpus
    valid: PictureCorpus | None
    test: PictureCorpus | None
    size: int
    channels: int
    given: Tokenizers | None = None
    weight: float = 1.0

    @property
    def files(self) -> list[Path]:
        return [path for corpus in (self.train, self.valid, self.test) if corpus for path in corpus.files]

    def build(self, settings: Settings, directory: Path, on_progress: Progress) -> Facts:
        """Write the stores of all parts and the names of the classes into an empty directory."""
        facts = Facts(settings.data.max_length, settings.data.max_ratio, "picture")
        names = self._name_classes()
        Tokenizers(names, names).save(directory / "tokenizer")
        facts.source_vocab, facts.target_vocab, facts.classes = 256, names.size, names.size
        facts.valid_given, facts.test_given = self.valid is not None, self.test is not None
        facts.pairs_read = len(self.train)
        with ExitStack() as stack:
            stores = {
                part: stack.enter_context(StoreWriter(directory / part, source_vocab=256, target_vocab=names.size))
                for part in ("train", "valid", "test")
            }

            def write(part: str, pixels: np.ndarray, label: str) -> int:
                stores[part].append([pixels.reshape(-1)], names.encode([label]))
                return _digest(pixels)

            given = {}
            for part, corpus in (("valid", self.valid), ("test", self.test)):
                pictures = self._read(corpus, f"Reading pictures ({part})", on_progress) if corpus else ()
                given[part] = np.array([write(part, *one) for one in pictures], np.uint64)
            parts = self._cut(settings.data.held_out, np.concatenate([*given.values()]), on_progress)
            facts.leaking = parts.count(None)
            in_training = array("Q")
            for place, one in zip(parts, self._read(self.train, "Reading pictures", on_progress), strict=True):
                if place == "train":
                    in_training.append(write(place, *one))
                elif place:
                    write(place, *one)
            stores["train"].end_segment(self.weight)
            for part in ("valid", "test"):
                stores[part].end_segment(1.0)
        facts.pairs_kept, facts.valid_pairs, facts.test_pairs = (stores[part].pairs for part in ("train", "valid", "test"))
        known = np.array(in_training, np.uint64)
        facts.valid_overlap, facts.test_overlap = (int(np.isin(given[part], known).sum()) for part in ("valid", "test"))
        return facts

    def _name_classes(self) -> Tokenizer:
        """Those of a model that is there, if it knows all classes of the data."""
        names = self.given.target if self.given else None
        if isinstance(names, ClassNames) and set(self.train.labels) <= set(names.names):
            return names
        return ClassNames(self.train.labels)

    def _cut(self, held_out: int | None, apart_from: Hashes, on_progress: Progress) -> list[str | None]:
        """The part of each training picture, None for what repeats a held-out one. Only to cut some off, all are looked at."""
        parts: list[str | None] = ["train"] * len(self.train)
        if self.valid and self.test:
            return parts
        collector = DigestCollector()
        for pixels, _ in self._read(self.train, "Comparing pictures", on_progress):
            name = _fingerprint(pixels)
            collector.add(name, name)
        digests = collector.finish()
        size = held_out or default_held_out(len(parts), LEAST_HELD_OUT)
        valid, test = (size if corpus is None else 0 for corpus in (self.valid, self.test))
        try:
            split = cut(digests, valid=valid, test=test, apart_from=apart_from)
        except DataError:
            raise _too_few(len(parts), valid + test, digests.source, apart_from) from None
        for part, rows in (("valid", split.valid), ("test", split.test), (None, np.flatnonzero(split.leaking))):
            for row in rows.tolist():
                parts[row] = part
        if "train" not in parts:
            raise _too_few(len(parts), valid + test, digests.source, apart_from)
        return parts

    def _read(self, corpus: PictureCorpus, stage: str, on_progress: Progress) -> Iterator[tuple[np.ndarray, str]]:
        for number, one in enumerate(corpus.read(self.size, self.channels), 1):
            yield one
            if number % PART == 0:
                on_progress(stage, number, len(corpus))


def is_pictures(name: str) -> bool:
    """Whether a corpus is one of pictures: a directory, or files as MNIST's."""
    return Path(name).is_dir() or any(Path(f"{name}-images-idx3-ubyte{ending}").is_file() for ending in ("", ".gz"))


def picture_shape(settings: Settings) -> tuple[int, int]:
    """Channels, and pixels of a side, of the pictures that a run trains on."""
    train = open_pictures(parse_corpus(settings.data.train[0])[0])
    return train.channels, _choose_size(settings, train)


def open_picture_data(settings: Settings, given: Tokenizers | None, size: int | None, channels: int | None) -> PictureData:
    """`size` and `channels` are those of a model that is there already."""
    if len(settings.data.train) != 1:
        raise RequestError("Pictures come from one place.", "Give --train once.")
    if settings.tokenizer.sampling:
        raise RequestError("Pictures have no pieces that could be cut in other ways.", "Leave out --sampling.")
    name, weight = parse_corpus(settings.data.train[0])
    train = open_pictures(name)
    held_out = (settings.data.valid, settings.data.test)
    valid, test = (open_pictures(parse_corpus(spec)[0]) if spec else None for spec in held_out)
    return PictureData(train, valid, test, size or _choose_size(settings, train), channels or train.channels, given, weight)


def _choose_size(settings: Settings, corpus: PictureCorpus) -> int:
    """What is asked for, or nearly the size of the pictures: as many whole patches as it holds."""
    patch_size = settings.model.patch_size or PATCH_SIZE
    return settings.data.image_size or max(1, corpus.size // patch_size) * patch_size


def _fingerprint(pixels: np.ndarray) -> str:
    return blake2b(pixels.tobytes(), digest_size=16).hexdigest()


def _digest(pixels: np.ndarray) -> int:
    return digest(_fingerprint(pixels))


def _too_few(pictures: int, held_out: int, found: Hashes, apart_from: Hashes) -> DataError:
    return DataError(
        f"{amount(pictures, 'picture')} {are(pictures)} too few to cut {held_out:,} off and have some left to train on: "
        f"without copies and what stands in a given part, there are {len(np.setdiff1d(found, apart_from)):,}.",
        "Give held-out pictures with --valid and --test, a smaller --held-out, or more pictures.",
    )
