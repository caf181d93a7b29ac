"""The three passes over a corpus: survey and split it, learn its vocabulary, write its tokens.

Each pass streams the files anew, so that memory holds some bytes a pair and never the text. Text of one language is a corpus
whose sentences stand beside themselves; of a text and its label, the label is the target.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress, islice, zip_longest
from pathlib import Path

import numpy as np

from headway.amounts import amount
from headway.config import Settings, Task
from headway.data.facts import Facts
from headway.data.filters import LengthFilter, is_blank
from headway.data.names import Renamer, gather_names
from headway.data.pairtext import PairWriter, write_directions
from headway.data.readers import Corpus, Pair, count_lines
from headway.data.split import DigestCollector, Digests, Hashes, Mask, among, cut, default_held_out, digest
from headway.data.store import StoreWriter
from headway.errors import DataError
from headway.text.class_names import ClassNames
from headway.text.subwords import MASK, SENTINELS, VocabularyTooSmall
from headway.text.tags import find_tags, list_prefixes, without_prefix
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizer, Tokenizers, choose_vocab_size

Progress = Callable[[str, int, int | None], None]
DirectedPair = tuple[Pair, str]  # with the name of its direction
Rename = Callable[[Corpus, Pair], list[Pair]]
PART = 10_000  # pairs tokenised at once, and reported
MOST_LABELS = 10_000
LEAST_HELD_OUT = 50  # examples of classes, where that leaves enough: an accuracy of fewer says little


@dataclass(frozen=True)
class Corpora:
    """All that a run reads: what it trains on, the held-out parts that were given, and a vocabulary that may be there."""

    train: list[Corpus]
    valid: list[Corpus] | None
    test: list[Corpus] | None
    task: Task = "translate"
    given: Tokenizers | None = None
    directions: list[str] = field(default_factory=list)  # that are asked for, by their names

    @property
    def files(self) -> list[Path]:
        """Each once, though it may be read in several directions."""
        corpora = [*self.train, *(self.valid or []), *(self.test or [])]
        return list(dict.fromkeys(path for corpus in corpora for path in corpus.files))

    @cached_property
    def prefixes(self) -> list[str]:
        """What sources may begin with, longest first."""
        return list_prefixes(corpus.prefix for corpus in self.train)

    @cached_property
    def learned(self) -> list[str]:
        """The directions that have a corpus. Sorted, so that the parts that are cut do not depend on the order of corpora."""
        return sorted({corpus.direction for corpus in self.train})

    def without_prefix(self, source: str) -> str:
        """The sentence itself, which is the same in all directions."""
        return without_prefix(source, self.prefixes)

    def rows(self) -> Iterator[Pair]:
        """The training pairs of all corpora in a row: a pair's number here is its row in every array below."""
        for corpus in self.train:
            yield from corpus

    @property
    def sides(self) -> tuple[int, ...]:
        """Those that hold text of their own."""
        return (0, 1) if self.task == "translate" else (0,)

    @property
    def cuts(self) -> bool:
        """Whether of a long text the beginning is enough; otherwise it is dropped."""
        return self.task in ("mlm", "classify")

    def limits(self, settings: Settings, times: int = 1) -> LengthFilter:
        """Only translations are expected to be about as long as their sources."""
        ratio = settings.data.max_ratio if self.task == "translate" else math.inf
        return LengthFilter(times * settings.data.max_length, ratio)

    def build(self, settings: Settings, directory: Path, on_progress: Progress) -> Facts:
        return build(settings, self, directory, on_progress)


def build(settings: Settings, corpora: Corpora, directory: Path, on_progress: Progress) -> Facts:
    """Write the store, the held-out parts and the tokenizers of a corpus into an empty directory."""
    noun = "pair" if corpora.task == "translate" else "text"
    facts = Facts(settings.data.max_length, settings.data.max_ratio, noun)
    if len(corpora.directions) > 1:
        facts.directions = dict.fromkeys((corpus.direction for corpus in corpora.train), 0)
        facts.missing = [name for name in corpora.directions if name not in facts.directions]
    valid, test = (
        _read_held_out(part, corpora.task, purpose) if part else None
        for part, purpose in ((corpora.valid, "validate"), (corpora.test, "test"))
    )
    digests, labels = _survey(settings, corpora, facts, on_progress)
    given = _digest_all(corpora, [*(valid or []), *(test or [])])
    size = _choose_held_out(settings, corpora, digests)
    split = cut(digests, valid=size if valid is None else 0, test=size if test is None else 0, apart_from=given)
    held_out = np.zeros(len(digests.usable), np.bool_)
    held_out[split.valid] = held_out[split.test] = True
    in_training = digests.usable & ~split.leaking & ~held_out
    facts.leaking = int(split.leaking.sum())

    tokenizers = _learn(settings, corpora, in_training, labels, facts, on_progress)
    if corpora.task == "classify":
        _check_labels(corpora, valid, test, tokenizers.target)
    tokenizers.save(directory / "tokenizer")
    apart = np.concatenate([given, digests.source[held_out], digests.target[held_out]])
    rename = _prepare_renaming(settings, corpora, in_training, apart, facts, on_progress)
    kept, cut_off = _tokenise(settings, corpora, in_training, held_out, rename, tokenizers, directory, facts, on_progress)

    facts.valid_given, facts.test_given = valid is not None, test is not None
    facts.valid_overlap, facts.test_overlap = (_overlap(corpora, part or [], digests.source, kept) for part in (valid, test))
    valid = [cut_off[row] for row in split.valid.tolist()] if valid is None else valid
    test = [cut_off[row] for row in split.test.tolist()] if test is None else test
    facts.valid_pairs, facts.test_pairs = len(valid), len(test)
    for name, part in (("valid", valid), ("test", test)):
        with PairWriter(directory, name) as writer:
            writer.append(pair for pair, _ in part)
        if facts.directions:
            write_directions(directory, name, [direction for _, direction in part])
    if facts.directions:
        facts.valid_directions, facts.test_directions = (dict(Counter(way for _, way in part)) for part in (valid, test))
    return facts


def _read_held_out(corpora: list[Corpus], task: Task, purpose: str) -> list[DirectedPair]:
    """All of a given part. A blank text or label tells nothing about a model; a blank translation is scored as one.

    The directions take turns, so that whoever looks at the first sentences sees all of them.
    """
    parts = [[(pair, one.direction) for pair in one if task == "translate" or not is_blank(*pair)] for one in corpora]
    if not any(target.strip() for part in parts for (_, target), _ in part):
        names = ", ".join(dict.fromkeys(str(one.name) for one in corpora))
        raise DataError(f"{names} has nothing to {purpose} with.", "It needs lines that are not blank, on both sides.")
    return [one for turn in zip_longest(*parts) for one in turn if one is not None]


def _check_labels(
    corpora: Corpora, valid: list[DirectedPair] | None, test: list[DirectedPair] | None, names: Tokenizer
) -> None:
    for given, part in ((corpora.valid, valid), (corpora.test, test)):
        if given and part:
            try:
                names.encode([label for (_, label), _ in part])
            except DataError as error:
                raise DataError(f"{given[0].name}: {error.problem}", error.remedy) from None


def _survey(settings: Settings, corpora: Corpora, facts: Facts, on_progress: Progress) -> tuple[Digests, set[str]]:
    """First pass: check every line, count, and hash. Without pieces yet, what may be held out is judged by characters.

    Also the labels, where the targets are labels.
    """
    plausible = corpora.limits(settings, times=2)
    collector = DigestCollector()
    labels: set[str] = set()
    total = sum(count_lines(corpus.files[0]) for corpus in corpora.train)  # a pair a line, but for a header
    learned = corpora.learned
    for corpus in corpora.train:
        direction = learned.index(corpus.direction)
        pairs = identical = 0
        for given, target in corpus:
            source = given.removeprefix(corpus.prefix)
            blank = is_blank(source, target)
            eligible = corpora.cuts or plausible.reason_to_drop(len(source), len(target)) is None
            own = target if corpora.task == "translate" else source  # a label stands beside many a text
            collector.add(source, own, usable=not blank, eligible=eligible, direction=direction)
            if corpora.task == "classify" and not blank:
                labels.add(target)
                if len(labels) > MOST_LABELS:
                    raise DataError(
                        f"{corpus.name} has more than {MOST_LABELS:,} labels.", "Are its columns in the right order?"
                    )
            facts.pairs_read += 1
            if blank:
                facts.dropped["blank"] += 1
            else:
                pairs, identical = pairs + 1, identical + (source == target)
                facts.source_characters += len(source)
                facts.target_characters += len(target)
            if facts.pairs_read % PART == 0:
                on_progress("Reading", facts.pairs_read, total)
        if pairs and identical == pairs and corpora.task == "translate":
            raise DataError(
                f"Source and target are the same throughout {corpus.name}: {amount(pairs, 'pair')}.",
                "One must hold the other's translation: check the files and their columns.",
            )
    on_progress("Reading", facts.pairs_read, facts.pairs_read)
    if facts.pairs_read == facts.dropped["blank"]:
        raise _nothing_left(facts)
    if len(labels) > max(20, (facts.pairs_read - facts.dropped["blank"]) // 2):
        raise DataError(
            f"There are {len(labels):,} labels for {amount(facts.pairs_read, 'text')}.",
            "Is the label in the second column, or in one whose first row says `label`?",
        )
    if corpora.task == "classify" and len(labels) < 2:
        raise DataError(f"All texts have the label {labels.pop()!r}.", "There is nothing to tell apart: check the columns.")
    return collector.finish(), labels


def _choose_held_out(settings: Settings, corpora: Corpora, digests: Digests) -> int:
    least = LEAST_HELD_OUT if settings.data.task == "classify" else len(corpora.learned)
    return settings.data.held_out or default_held_out(int(digests.usable.sum()), least)


def _digest_all(corpora: Corpora, part: list[DirectedPair]) -> Hashes:
    sentences = (sentence for (source, target), _ in part for sentence in (corpora.without_prefix(source), target))
    return np.array([digest(sentence) for sentence in sentences], np.uint64)


def _learn(
    settings: Settings, corpora: Corpora, in_training: Mask, labels: set[str], facts: Facts, on_progress: Progress
) -> Tokenizers:
    """Second pass: a vocabulary from the training pairs, one for both sides or one each; unless there is one."""
    tokenizers = corpora.given or _learn_pieces(settings, corpora, in_training, facts, on_progress)
    if corpora.task == "classify":
        names = tokenizers.target
        if not isinstance(names, ClassNames) or not labels <= set(names.names):
            names = ClassNames(sorted(labels))
        tokenizers = Tokenizers(tokenizers.source, names)
    elif isinstance(tokenizers.target, ClassNames):  # of a classifier that goes on with another task
        tokenizers = Tokenizers(tokenizers.source, tokenizers.source)
    if corpora.task == "classify":
        facts.classes = tokenizers.target.size
    facts.shared = tokenizers.shared
    facts.source_vocab, facts.target_vocab = tokenizers.source.size, tokenizers.target.size
    return tokenizers


def _learn_pieces(settings: Settings, corpora: Corpora, in_training: Mask, facts: Facts, on_progress: Progress) -> Tokenizers:

    def lines(sides: Sequence[int]) -> Iterator[str]:
        for row, (pair, use) in enumerate(zip(corpora.rows(), in_training, strict=True)):
            if row % PART == 0:
                on_progress("Gathering text", row, facts.pairs_read)
            if use:
                yield from (pair[side] for side in sides)
        on_progress("Learning the vocabulary", 0, None)

    marks = choose_marks(corpora.task, settings.model.family)
    tags = list(dict.fromkeys(tag for corpus in corpora.train for tag in find_tags(corpus.prefix)))

    def train(sides: Sequence[int], vocab_size: int) -> Tokenizer:
        return SentencePieceTokenizer.train(
            lines(sides),
            kind=settings.tokenizer.kind,
            vocab_size=vocab_size,
            marks=marks,
            tags=tags if 0 in sides else (),
        )

    def learn(vocab_size: int) -> Tokenizers:
        if settings.tokenizer.shared or len(corpora.sides) == 1:
            tokenizer = train(corpora.sides, vocab_size)
            return Tokenizers(tokenizer, tokenizer)
        return Tokenizers(train((0,), vocab_size), train((1,), vocab_size))

    characters = facts.source_characters + (facts.target_characters if len(corpora.sides) > 1 else 0)
    return learn_vocabulary(learn, settings, characters, facts)


def learn_vocabulary(learn: Callable[[int], Tokenizers], settings: Settings, characters: int, facts: Facts) -> Tokenizers:
    """Of the size that is asked for, or else of one that suits so many characters."""
    facts.vocab_asked = settings.tokenizer.vocab_size or choose_vocab_size(characters)
    while True:
        try:
            return learn(facts.vocab_asked)
        except VocabularyTooSmall as error:
            # Ours to mend if the size was ours: a script of thousands of characters wants more than the rule gives.
            if settings.tokenizer.vocab_size is not None:
                raise
            facts.vocab_asked = 2 * error.least


def choose_marks(task: Task, family: str | None) -> list[str]:
    """What a vocabulary needs beside text for the task, or for a task that a model of the family may come to later."""
    if task == "span" or family == "t5":
        return SENTINELS + ([MASK] if task == "denoise" else [])
    return [MASK] if task in ("denoise", "mlm", "classify") else []


def _prepare_renaming(
    settings: Settings, corpora: Corpora, in_training: Mask, apart: Hashes, facts: Facts, on_progress: Progress
) -> Rename:
    """What makes pairs with other names of a pair of a corpus; none that has a sentence of those that are to stand apart."""
    times = settings.data.other_names
    if not times:
        return lambda corpus, pair: []

    def read() -> Iterator[Pair]:
        rows = ((source.removeprefix(one.prefix), target) for one in corpora.train for source, target in one)
        for row, pair in enumerate(compress(rows, in_training)):
            if row % PART == 0:
                on_progress("Gathering names", row, facts.pairs_read)
            yield pair

    renamer, forbidden = Renamer(gather_names(read)), set(apart.tolist())

    def rename(corpus: Corpus, pair: Pair) -> list[Pair]:
        source, target = pair
        made = renamer.rename((source.removeprefix(corpus.prefix), target), times)
        return [(corpus.prefix + a, b) for a, b in made if not {digest(a), digest(b)} & forbidden]

    return rename


def _tokenise(
    settings: Settings,
    corpora: Corpora,
    in_training: Mask,
    held_out: Mask,
    rename: Rename,
    tokenizers: Tokenizers,
    directory: Path,
    facts: Facts,
    on_progress: Progress,
) -> tuple[Mask, dict[int, DirectedPair]]:
    """Third pass: write the ids of the pairs that pass the filter. Which they were, and the held-out pairs by their row."""
    limits = corpora.limits(settings)
    size = max(1, PART // (1 + settings.data.other_names))  # of a part, so that all that is made of it fits into memory
    kept = np.zeros(len(in_training), np.bool_)
    cut_off: dict[int, DirectedPair] = {}
    row = 0
    with (
        StoreWriter(directory / "train", source_vocab=facts.source_vocab, target_vocab=facts.target_vocab) as store,
        PairWriter(directory, "train") if settings.tokenizer.sampling else nullcontext() as text,
    ):
        for corpus in corpora.train:
            pairs = iter(corpus)
            while part := list(islice(pairs, size)):
                cut_out = compress(enumerate(part, row), held_out[row : row + len(part)])
                cut_off.update((place, (pair, corpus.direction)) for place, pair in cut_out)
                places = np.flatnonzero(in_training[row : row + len(part)]).tolist()
                used = [part[place] for place in places]
                used += [new for pair in used for new in rename(corpus, pair)]
                sources = tokenizers.source.encode([source for source, _ in used])
                if corpora.cuts:
                    sources = [source[: settings.data.max_length] for source in sources]
                targets = sources
                if corpora.task in ("translate", "classify"):
                    targets = tokenizers.target.encode([target for _, target in used])
                good = []
                for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
                    if reason := limits.reason_to_drop(len(source), len(target)):
                        facts.dropped[reason] += i < len(places)
                    else:
                        good.append(i)
                        facts.source_tokens += len(source)
                        facts.target_tokens += len(target)
                if corpora.given:
                    facts.unknown += sum(sources[i].count(tokenizers.source.unk) for i in good)
                    facts.unknown += sum(targets[i].count(tokenizers.target.unk) for i in good)
                if facts.directions:
                    facts.directions[corpus.direction] += sum(i < len(places) for i in good)
                store.append([sources[i] for i in good], [targets[i] for i in good])
                kept[[row + places[i] for i in good if i < len(places)]] = True
                if text:  # subword sampling cuts it anew each epoch
                    text.append(used[i] for i in good)
                row += len(part)
                on_progress("Tokenising", row, facts.pairs_read)
            store.end_segment(corpus.weight)
        facts.pairs_kept = int(kept.sum())
        facts.renamed = store.pairs - facts.pairs_kept
    if not facts.pairs_kept:
        raise _nothing_left(facts)
    return kept, cut_off


def _overlap(corpora: Corpora, part: list[DirectedPair], sources: Hashes, in_training: Mask) -> int:
    """How many source sentences of a part stand in training."""
    wanted = np.array([digest(corpora.without_prefix(source)) for (source, _), _ in part], np.uint64)
    return int(np.isin(wanted, sources[in_training & among(sources, wanted)]).sum())


def _nothing_left(facts: Facts) -> DataError:
    losses = facts.losses()
    if facts.leaking:
        losses.append(f"{facts.leaking:,} that repeat a held-out sentence")
    return DataError(
        f"No pair is left to train on: {facts.pairs_read:,} read; dropped: {', '.join(losses) or 'none'}.",
        "Check that the files hold sentences and their translations, or widen --max-length and --max-ratio.",
    )
