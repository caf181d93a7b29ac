"""From settings to a directory that training reads: made once, and used again while nothing that matters has changed.

The directory is built beside its place and renamed into it: one that is there is whole.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headway.atomic import new_directory
from headway.config import Settings
from headway.data.build import Corpora, Progress, build
from headway.data.facts import Facts
from headway.data.pairtext import read_pairs
from headway.data.readers import Pair, open_corpus
from headway.data.sampling import resample
from headway.data.store import Store
from headway.errors import HeadwayError, RequestError
from headway.text.tokenizer import Tokenizers

FORMAT = 1  # counted up when what is written changes, so that older directories are made anew


@dataclass(frozen=True)
class Prepared:
    directory: Path
    train: Store
    valid: list[Pair]
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
        """Each corpus counted as often as its weight takes it."""
        return round(sum((end - start) * weight for start, end, weight in self.train.segments))

    @property
    def target_tokens(self) -> int:
        """What an epoch predicts, eos included."""
        lengths = self.train.target_lengths
        return round(sum((lengths[start:end].sum() + end - start) * weight for start, end, weight in self.train.segments))

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


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


def prepare(settings: Settings, directory: Path, on_progress: Progress = _silent) -> Prepared:
    """Read, check, filter, split and tokenise the corpora of `settings.data` into `directory`, or use what is there.

    `on_progress` is told the stage, how much of it is done, and how much there is, if that is known.
    """
    corpora = _open(settings)
    wanted = _record(settings, corpora, on_progress)
    note = ""
    if directory.exists():
        note = "; ".join(_differences(directory, wanted))
        if not note:
            try:
                return load_prepared(directory, settings)
            except (HeadwayError, OSError, ValueError, TypeError, KeyError):
                note = f"{directory} is damaged"
    with new_directory(directory) as new:
        facts = build(settings, corpora, new, on_progress)
        record = {**wanted, "facts": asdict(facts)}
        (new / "prepared.json").write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")
    return load_prepared(directory, settings, note and f"{note}: prepared anew", reused=False)


def why_rebuild(settings: Settings, directory: Path) -> list[str]:
    """All that differs between what stands in `directory` and what `settings` ask for; nothing if nothing stands there."""
    return _differences(directory, _record(settings, _open(settings))) if directory.exists() else []


def _open(settings: Settings) -> Corpora:
    if not settings.data.train:
        raise RequestError("No training corpus is given.", "Name one: --train data/train --from en --to de.")
    languages = settings.data.source_language, settings.data.target_language
    valid, test = (open_corpus(spec, *languages) if spec else None for spec in (settings.data.valid, settings.data.test))
    for part in (valid, test):
        if part and part.weight != 1:
            raise RequestError(f"{part.name} has a weight, but it is held out, and used whole.", "Only --train takes a weight.")
    return Corpora([open_corpus(spec, *languages) for spec in settings.data.train], valid, test)


def _record(settings: Settings, corpora: Corpora, on_progress: Progress = _silent) -> dict[str, Any]:
    """All that the outcome depends on."""
    fingerprints = _fingerprints(corpora.files, on_progress)
    return {"format": FORMAT, "settings": _settings_that_matter(settings), "fingerprints": fingerprints}


def _settings_that_matter(settings: Settings) -> dict[str, Any]:
    tokenizer = settings.tokenizer.model_dump()
    sampling = tokenizer.pop("sampling") > 0  # how much is a matter of each epoch; whether decides if the text is kept
    named = {"data": settings.data.model_dump(by_alias=True), "tokenizer": {**tokenizer, "sampling": sampling}}
    return {f"{section}.{name}": value for section, values in named.items() for name, value in values.items()}


def _fingerprints(files: list[Path], on_progress: Progress) -> dict[str, str]:
    fingerprints = {}
    for number, path in enumerate(files):
        on_progress("Checking files", number, len(files))
        with path.open("rb") as file:
            fingerprints[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    on_progress("Checking files", len(files), len(files))
    return fingerprints


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
        files = _compare(found["fingerprints"], wanted["fingerprints"])
        return files + [f"setting {change}" for change in _compare(found["settings"], wanted["settings"])]
    except (OSError, ValueError, KeyError, TypeError):
        return [f"{path} is damaged"]


def _compare(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
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
        valid=list(read_pairs(directory, "valid")),
        test=list(read_pairs(directory, "test")),
        tokenizers=Tokenizers.load(directory / "tokenizer"),
        facts=Facts(**record["facts"]),
        fingerprints=record["fingerprints"],
        seed=settings.training.seed,
        sampling=settings.tokenizer.sampling,
        note=note,
        reused=reused,
    )
