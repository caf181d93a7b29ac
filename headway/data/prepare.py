"""From settings to a directory that training reads: made once, and used again while nothing that matters has changed.

The directory is built beside its place and renamed into it: one that is there is whole.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from headway.amounts import amount
from headway.atomic import new_directory
from headway.config import Settings, Task, parse_corpus
from headway.data.build import Corpora, Progress
from headway.data.facts import Facts
from headway.data.objectives import Encoded, Examples
from headway.data.pairtext import read_directions, read_pairs
from headway.data.picture_store import is_pictures, open_picture_data
from headway.data.readers import Corpus, Pair, open_corpora, open_labelled, open_texts
from headway.data.sampling import resample
from headway.data.store import Store
from headway.data.stream import open_stream
from headway.directions import Direction, keep_tags, list_directions
from headway.errors import DataError, HeadwayError, RequestError
from headway.text.tags import put_before
from headway.text.tokenizer import Tokenizers

MANY = 100  # files, such as pictures, from which on one sum stands for all
WHILE_TRAINING = {"hidden", "span", "whole_words", "shift"}  # settings of what is done to examples when they are used
BEFORE = {"monolingual_target", "back_translation"}  # of text that is a corpus like any other when it is prepared
FORMAT = 1  # counted up when what is written changes, so that older directories are made anew


class Data(Protocol):
    """What a run reads, opened: the files, and how they become a directory."""

    @property
    def files(self) -> list[Path]: ...

    def build(self, settings: Settings, directory: Path, on_progress: Progress) -> Facts: ...


@dataclass(frozen=True)
class Start:
    """A model to begin with, as far as preparing goes: what was read of it, its vocabulary and its directions unless a new
    vocabulary is learned, the pictures that it takes.
    """

    file: Path
    tokenizers: Tokenizers | None
    directions: Sequence[Direction] = ()
    image_size: int | None = None
    channels: int | None = None


@dataclass(frozen=True)
class Prepared:
    directory: Path
    train: Store
    valid: list[Pair]  # as text; empty where the task is not one on pairs of texts
    test: list[Pair]
    tokenizers: Tokenizers
    facts: Facts
    fingerprints: dict[str, str]  # SHA-256 of every file read, by its name as given
    seed: int
    sampling: float  # `tokenizer.sampling`
    note: str  # why an earlier preparation was not used; "" if there was none
    reused: bool

    @property
    def pairs_per_epoch(self) -> int:
        """Each corpus counted as often as its weight takes it, without what was made of others with other names."""
        pairs = sum((end - start) * weight for start, end, weight in self.train.segments)
        return round(pairs * self.facts.pairs_kept / len(self.train))

    def held_out(self, part: Literal["valid", "test"]) -> Examples:
        """A held-out part in ids."""
        if (self.directory / part / "store.json").exists():
            return Store(self.directory / part)
        pairs = self.valid if part == "valid" else self.test
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        return Encoded(self.tokenizers.source.encode(sources), self.tokenizers.target.encode(targets))

    def questions(self, part: Literal["valid", "test"], directions: Sequence[Direction]) -> "Questions":
        """A held-out part as users of a model with these directions would ask for it."""
        pairs = self.valid if part == "valid" else self.test
        named = {str(one): one for one in directions}
        ways = [named[name] for name in read_directions(self.directory, part)] or list(directions[:1]) * len(pairs)
        return Questions([(a.removeprefix(way.prefix), b) for (a, b), way in zip(pairs, ways, strict=True)], ways)

    def store_of_epoch(self, epoch: int) -> Store:
        """The training pairs; with subword sampling, cut anew for this epoch, in place of the epoch before."""
        if not self.sampling:
            return self.train
        return resample(
            self.train,
            self.directory,
            self.tokenizers,
            self.directory / "sampled",
            alpha=self.sampling,
            max_length=self.facts.max_length,
            seed=self.seed,
            epoch=epoch,
        )

    def open_store(self) -> Store:
        """What `store_of_epoch` gave last, to whichever process."""
        return Store(self.directory / "sampled") if self.sampling else self.train

    def summary(self) -> list[str]:
        """What was found and done, for a person."""
        return self.facts.summary()


@dataclass(frozen=True)
class Questions:
    """Pairs without the tags of their directions, and the directions."""

    pairs: list[Pair]
    directions: list[Direction]

    @property
    def sources(self) -> list[str]:
        return [source for source, _ in self.pairs]

    @property
    def references(self) -> list[str]:
        return [target for _, target in self.pairs]

    @property
    def to(self) -> list[str]:
        return [one.target for one in self.directions]

    @property
    def from_(self) -> list[str]:
        return [one.source for one in self.directions]

    def __getitem__(self, some: slice) -> "Questions":
        return Questions(self.pairs[some], self.directions[some])


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


def prepare(settings: Settings, directory: Path, on_progress: Progress = _silent, start: Start | None = None) -> Prepared:
    """Read, check, filter, split and tokenise the corpora of `settings.data` into `directory`, or use what is there.

    `on_progress` is told the stage, how much of it is done, and how much there is, if that is known.
    """
    data = _open(settings, start)
    wanted = _record(settings, data, start, on_progress)
    note = ""
    if directory.exists():
        note = "; ".join(_differences(directory, wanted))
        if not note:
            try:
                return load_prepared(directory, settings)
            except (HeadwayError, OSError, ValueError, TypeError, KeyError):
                note = f"{directory} is damaged"
    with new_directory(directory) as new:
        facts = data.build(settings, new, on_progress)
        record = {**wanted, "facts": asdict(facts)}
        (new / "prepared.json").write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")
    return load_prepared(directory, settings, note and f"{note}: prepared anew", reused=False)


def fingerprint_corpora(settings: Settings) -> dict[str, str]:
    """SHA-256 of every file that preparing would read, by its name."""
    return fingerprint(_open(settings, None).files)


def why_rebuild(settings: Settings, directory: Path, start: Start | None = None) -> list[str]:
    """All that differs between what stands in `directory` and what `settings` ask for; nothing if nothing stands there."""
    return _differences(directory, _record(settings, _open(settings, start), start)) if directory.exists() else []


def reads_pictures(settings: Settings) -> bool:
    train = settings.data.train
    return settings.data.task == "classify" and bool(train) and is_pictures(parse_corpus(train[0])[0])


def _open(settings: Settings, start: Start | None) -> Data:
    data, given = settings.data, start.tokenizers if start else None
    if not data.train:
        raise RequestError("No training corpus is given.", "Name one: --train data/train --from en --to de.")
    for part in (data.valid, data.test):
        if part and parse_corpus(part)[1] != 1:
            raise RequestError(
                f"{parse_corpus(part)[0]} has a weight, but it is held out, and used whole.", "Only --train takes a weight."
            )
    if data.prefix and (data.task != "translate" or len(data.prefix) != len(data.train)):
        raise RequestError(
            f"--prefix is given {amount(len(data.prefix), 'time')}, --train {amount(len(data.train), 'time')}, "
            f"and the task is {data.task}.",
            "Give --prefix once for each --train, in the same order; only --task translate takes them.",
        )
    if data.task == "lm":
        return open_stream(settings, given)
    if reads_pictures(settings):
        size, channels = (start.image_size, start.channels) if start else (None, None)
        return open_picture_data(settings, given, size, channels)
    directions = directions_of(settings, start.directions if start else ())
    prefixes = data.prefix or [""] * len(data.train)
    train = [
        corpus
        for spec, prefix in zip(data.train, prefixes, strict=True)
        for corpus in _open_corpora(spec, data.task, directions, prefix)
    ]
    learned = [one for one in directions if str(one) in {corpus.direction for corpus in train}]
    if not start:  # a model that is gone on with keeps all its languages
        _check_languages(directions, learned)
    valid, test = (_open_held_out(settings, spec, learned) if spec else None for spec in (data.valid, data.test))
    return Corpora(train, valid, test, data.task, given, list(map(str, directions)))


def directions_of(settings: Settings, learned: Sequence[Direction] = ()) -> list[Direction]:
    """All that are asked for; there may be no corpus for some. None but of translators. A model that learned some before goes
    on with the tags that it learned, even where now there is a single language to choose from.
    """
    data = settings.data
    if data.task != "translate":
        return []
    return keep_tags(list_directions(data.source_language, data.target_language), learned)


def _check_languages(asked: Sequence[Direction], learned: Sequence[Direction]) -> None:
    """A direction may lack a corpus; a language that none has is a slip. One that none has on either side is told first."""
    known = {language for one in learned for language in (("from", one.source), ("to", one.target))}
    wanted = dict.fromkeys(pair for one in asked for pair in (("from", one.source), ("to", one.target)))
    anywhere = {language for _, language in known}
    for option, language in sorted(wanted, key=lambda pair: pair[1] in anywhere):
        if (option, language) not in known:
            raise DataError(
                f"No training corpus has anything to learn --{option} {language} from.",
                f"Check its name: files end in .{language}, or a .tsv names it in its first row. Or leave it out.",
            )


def _open_held_out(settings: Settings, spec: str, directions: Sequence[Direction]) -> list[Corpus]:
    """Of one prefix, it is put here too; of several, nobody knows which: they must stand in the text."""
    prefixes = settings.data.prefix
    if len(prefixes) < 2:
        return _open_corpora(spec, settings.data.task, directions, prefixes[0] if prefixes else "")
    tags = {str(one): one.prefix for one in directions}
    bare = [direction.model_copy(update={"prefix": ""}) for direction in directions]
    return [_check_prefixes(corpus, prefixes, tags[corpus.direction]) for corpus in open_corpora(spec, bare)]


def _check_prefixes(corpus: Corpus, prefixes: Sequence[str], tag: str) -> Corpus:
    """The corpus, whose sources must begin with one of the prefixes each, with the tag of its direction before that."""

    def read() -> Iterator[Pair]:
        for source, target in corpus.read():
            own = max((prefix for prefix in prefixes if source.startswith(prefix)), key=len, default="")
            if source.strip() and not own and "" not in prefixes:
                raise DataError(
                    f"{corpus.name} has a source without a prefix: {source[:60]!r}.",
                    f"With several prefixes, each held-out source begins with its own: {', '.join(map(repr, prefixes))}.",
                )
            yield put_before(tag + own, source.removeprefix(own)), target

    return replace(corpus, read=read)


def _open_corpora(spec: str, task: Task, directions: Sequence[Direction], prefix: str) -> list[Corpus]:
    if task == "translate":
        return open_corpora(spec, directions, prefix)
    return [open_labelled(spec) if task == "classify" else open_texts(spec)]


def _record(settings: Settings, data: Data, start: Start | None, on_progress: Progress = _silent) -> dict[str, Any]:
    """All that the outcome depends on."""
    fingerprints = fingerprint([*data.files, *([start.file] if start else [])], on_progress)
    return {"format": FORMAT, "settings": _settings_that_matter(settings), "fingerprints": fingerprints}


def _settings_that_matter(settings: Settings) -> dict[str, Any]:
    tokenizer = settings.tokenizer.model_dump()
    if tokenizer["vocabulary"] != "new":
        del tokenizer["vocabulary"]  # a model's own is known by its file
    sampling = tokenizer.pop("sampling") > 0  # how much is a matter of each epoch; whether decides if the text is kept
    data = settings.data.model_dump(by_alias=True, exclude=WHILE_TRAINING | BEFORE)
    named = {"data": data, "tokenizer": {**tokenizer, "sampling": sampling}}
    if reads_pictures(settings):
        named["model"] = {"patch_size": settings.model.patch_size}  # whose multiple the size of pictures is
    return {f"{section}.{name}": value for section, values in named.items() for name, value in values.items()}


def fingerprint(files: list[Path], on_progress: Progress = _silent) -> dict[str, str]:
    """SHA-256 of each file by its name; of very many, one for all."""
    fingerprints = {}
    for number, path in enumerate(files):
        on_progress("Checking files", number, len(files))
        with path.open("rb") as file:
            fingerprints[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    on_progress("Checking files", len(files), len(files))
    if len(files) > MANY:
        together = hashlib.sha256(json.dumps(fingerprints, sort_keys=True).encode()).hexdigest()
        return {_name_all(files): together}
    return fingerprints


def _name_all(files: list[Path]) -> str:
    """Where they all stand; absolute and relative names have no such place."""
    try:
        return os.path.commonpath(files)
    except ValueError:
        return f"{len(files)} files"


def _differences(directory: Path, wanted: dict[str, Any]) -> list[str]:
    """What was prepared against what is wanted, in words."""
    path = directory / "prepared.json"
    if not path.exists():
        if any(directory.iterdir()):
            raise RequestError(f"{directory} holds something else than prepared data.", "Move it away, or name another place.")
        return [f"{directory} was empty"]
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            return [f"{directory} was made by another version of Headway"]
        vocab_size = "tokenizer.vocab_size"
        if found["settings"][vocab_size] is None and wanted["settings"][vocab_size] == found["facts"]["vocab_asked"]:
            found["settings"][vocab_size] = found["facts"]["vocab_asked"]  # asking for what was chosen changes nothing
        before = {**_settings_that_matter(Settings()), **found["settings"]}  # what was not known then was off
        files = tell_changes(found["fingerprints"], wanted["fingerprints"])
        return files + [f"setting {change}" for change in tell_changes(before, wanted["settings"])]
    except (OSError, ValueError, KeyError, TypeError):
        return [f"{path} is damaged"]


def tell_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs, by its name, in words."""
    changes = []
    for name in sorted(before.keys() | now.keys()):
        if name not in before:
            changes.append(f"{name} is new")
        elif name not in now:
            changes.append(f"{name} is no longer used")
        elif before[name] != now[name]:
            changes.append(f"{name} changed")
    return changes


def load_prepared(directory: Path, settings: Settings, note: str = "", *, reused: bool = True) -> Prepared:
    """What `prepare` has put there."""
    record = json.loads((directory / "prepared.json").read_text(encoding="utf-8"))
    return Prepared(
        directory=directory,
        train=Store(directory / "train"),
        valid=_read_part(directory, "valid"),
        test=_read_part(directory, "test"),
        tokenizers=Tokenizers.load(directory / "tokenizer"),
        facts=Facts(**record["facts"]),
        fingerprints=record["fingerprints"],
        seed=settings.training.seed,
        sampling=settings.tokenizer.sampling,
        note=note,
        reused=reused,
    )


def _read_part(directory: Path, part: str) -> list[Pair]:
    return list(read_pairs(directory, part)) if (directory / f"{part}.source").exists() else []
