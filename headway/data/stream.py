"""Running text for language models: files as streams of pieces, cut into passages as long as a model reads at once.

A file is one text; its line ends are part of it. Memory holds a block of it at a time.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from headway.amounts import amount
from headway.config import Settings, parse_corpus
from headway.data.build import Progress, learn_vocabulary
from headway.data.facts import Facts
from headway.data.readers import check_file, count_lines, read_lines
from headway.data.store import StoreWriter
from headway.errors import DataError, RequestError
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizer, Tokenizers

LINES = 1_000  # cut into pieces at once
HELD_OUT, MOST = 0.05, 500  # of the passages, from the end of the last file, for each of validation and test


@dataclass(frozen=True)
class Stream:
    """Running text to train on, with each file's weight; held-out parts that were given; a vocabulary that may be there."""

    train: list[tuple[Path, float]]
    valid: Path | None
    test: Path | None
    given: Tokenizers | None = None

    @property
    def files(self) -> list[Path]:
        return [path for path, _ in self.train] + [path for path in (self.valid, self.test) if path]

    def build(self, settings: Settings, directory: Path, on_progress: Progress) -> Facts:
        """Write the stores of all parts and the tokenizer into an empty directory."""
        facts = Facts(settings.data.max_length, settings.data.max_ratio, "passage")
        tokenizers = self.given or self._learn(settings, facts, on_progress)
        tokenizers.save(directory / "tokenizer")
        tokenizer = tokenizers.source
        facts.source_vocab = facts.target_vocab = tokenizer.size
        facts.valid_given, facts.test_given = self.valid is not None, self.test is not None
        parts = {"valid": self.valid, "test": self.test}
        held_out = {
            name: list(self._passages(path, tokenizer, settings, on_progress)) if path else [] for name, path in parts.items()
        }
        missing = [name for name, path in parts.items() if path is None]
        most = settings.data.held_out or MOST
        with _writer(directory / "train", tokenizer) as train:
            for number, (path, weight) in enumerate(self.train, 1):
                last: deque[list[int]] = deque()
                count = 0
                keep = most * len(missing) if number == len(self.train) else 0
                for passage in self._passages(path, tokenizer, settings, on_progress):
                    last.append(passage)
                    count += 1
                    if len(last) > keep:
                        _append(train, last.popleft())
                if number == len(self.train):
                    size = settings.data.held_out or min(MOST, max(1, round(HELD_OUT * count)))
                    if missing and size * len(missing) >= count:
                        raise _too_short(path, count, size * len(missing), settings.data.max_length)
                    while len(last) > size * len(missing):
                        _append(train, last.popleft())
                    for name in missing:
                        held_out[name] = [last.popleft() for _ in range(size)]
                train.end_segment(weight)
                facts.pairs_read += count
            facts.pairs_kept = train.pairs
        for name, passages in held_out.items():
            with _writer(directory / name, tokenizer) as store:
                for passage in passages:
                    _append(store, passage)
                store.end_segment(1.0)
        facts.valid_pairs, facts.test_pairs = len(held_out["valid"]), len(held_out["test"])
        return facts

    def _learn(self, settings: Settings, facts: Facts, on_progress: Progress) -> Tokenizers:
        on_progress("Learning the vocabulary", 0, None)
        facts.source_characters = sum(len(line) for path, _ in self.train for line in read_lines(path))

        def learn(vocab_size: int) -> Tokenizers:
            lines = chain.from_iterable(read_lines(path) for path, _ in self.train)
            kind = settings.tokenizer.kind
            tokenizer = SentencePieceTokenizer.train(lines, kind=kind, vocab_size=vocab_size, begins_with_space=False)
            return Tokenizers(tokenizer, tokenizer)

        return learn_vocabulary(learn, settings, facts.source_characters, facts)

    def _passages(self, path: Path, tokenizer: Tokenizer, settings: Settings, on_progress: Progress) -> Iterator[list[int]]:
        """Of `max_length` predictions each; the first begins with the end mark, every other with the last piece before it."""
        size, total = settings.data.max_length, count_lines(path)
        lines = read_lines(path)
        waiting, done = [tokenizer.eos], 0
        while block := list(islice(lines, LINES)):
            (ids,) = tokenizer.encode(["\n".join([*block, ""])])
            waiting += ids
            done += len(block)
            on_progress("Tokenising", done, total)
            while len(waiting) > size:
                yield waiting[: size + 1]
                waiting = waiting[size:]
        if len(waiting) > 1:
            yield waiting


def open_stream(settings: Settings, given: Tokenizers | None) -> Stream:
    if settings.tokenizer.sampling:
        raise RequestError("Running text is cut one way only.", "Leave out --sampling.")

    def check(name: str) -> Path:
        check_file(Path(name))
        return Path(name)

    train = [(check(name), weight) for name, weight in map(parse_corpus, settings.data.train)]
    valid, test = (check(name) if name else None for name in (settings.data.valid, settings.data.test))
    return Stream(train, valid, test, given)


def _writer(directory: Path, tokenizer: Tokenizer) -> StoreWriter:
    return StoreWriter(directory, source_vocab=2, target_vocab=tokenizer.size)


def _append(store: StoreWriter, passage: list[int]) -> None:
    """A passage is a target without a source."""
    store.append([[]], [passage])


def _too_short(path: Path, passages: int, held_out: int, length: int) -> DataError:
    return DataError(
        f"{path} has {amount(passages, 'passage')} of {length:,} pieces: too few to cut {held_out:,} off and have some left.",
        "Give held-out text with --valid and --test, a smaller --max-length, or more text.",
    )
