"""Runs as systems of one evaluation: those that translated the same test part."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headway.data.store import Store
from headway.errors import DataError, HeadwayError
from headway.evaluation.evaluate import evaluate
from headway.evaluation.evaluation import Evaluation, System
from headway.evaluation.statistics import OnProgress
from headway.reports.runs.record import RunRecord
from headway.reports.runs.tested import Tested
from headway.text.tokenizer import Tokenizer, Tokenizers

AT_ONCE = 1_000  # pairs that are read one after another
MOST = 100_000  # pairs whose words are counted: some ten seconds, however large the corpus
RARE = "rare_words"  # the breakdown that needs the training text


def evaluate_runs(systems: Mapping[str, Sequence[RunRecord]], on_progress: OnProgress | None = None) -> Evaluation:
    """Each system by its name, with its runs: one, or one for each seed. All have translated the same sentences.

    What one run has seen often, another may never have: words are called rare only where all were made from the same files.
    """
    runs = [run for members in systems.values() for run in members]
    files = {frozenset(run.manifest.provenance.data.values()) if run.manifest else None for run in runs}
    tested = {name: [run.tested for run in members] for name, members in systems.items()}
    if len(files) > 1:
        evaluation = evaluate_tested(tested, None, on_progress)
        note = "The runs were made from different files: how words fare that are rare in training is left out."
        return replace(evaluation, notes=[*evaluation.notes, note])
    prepared = next((run.directory / "data" for run in runs if run.facts), None)
    return evaluate_tested(tested, prepared, on_progress)


def evaluate_tested(
    systems: Mapping[str, Sequence[Sequence[Tested]]], prepared: Path | None, on_progress: OnProgress | None = None
) -> Evaluation:
    """What each system made of one test part, once for each seed. `prepared` holds the training text, to know rare words by."""
    first = next(iter(systems.values()))[0]
    training, notes = None, []
    if prepared is not None:
        try:
            training = open_training(prepared)
        except HeadwayError as error:  # of a run that was sent without its data
            notes.append(f"How words fare that are rare in training is left out: {error.problem}")

    def tell(work: str, done: int, total: int | None) -> None:
        if on_progress:  # only of the training text nobody told the lines
            on_progress(work, done, training.counted if total is None and training else total)

    found = evaluate(
        [System(name, [[one.translation for one in seed] for seed in seeds]) for name, seeds in systems.items()],
        [[one.reference for one in first]],
        sources=[one.source for one in first],
        directions=[one.direction for one in first] if any(one.direction for one in first) else None,
        training=training.read() if training else None,
        on_progress=tell,
    )
    more = training.tell() if training else ""
    breakdowns = [replace(one, story=one.story + more) if one.name == RARE else one for one in found.breakdowns]
    return replace(found, breakdowns=breakdowns, notes=[*found.notes, *notes])


@dataclass(frozen=True)
class Training:
    """The target side of what a run was trained on; of a large corpus, stretches that lie evenly over it."""

    store: Store
    tokenizer: Tokenizer
    stretches: list[range]

    @property
    def counted(self) -> int:
        return sum(map(len, self.stretches))

    def read(self) -> Iterator[str]:
        for rows in self.stretches:
            yield from self.tokenizer.decode([self.store.target(row).tolist() for row in rows])

    def tell(self) -> str:
        """What a reader of the counts must know."""
        pairs = len(self.store)
        return "" if self.counted == pairs else f" Counted in {self.counted:,} of {pairs:,} pairs, spread evenly over them."


def open_training(prepared: Path) -> Training:
    """What lies in the `data` of a run."""
    if not (prepared / "train").is_dir():
        raise DataError(f"{prepared / 'train'} is not there.", "Copy the run with its data.")
    store = Store(prepared / "train")
    return Training(store, Tokenizers.load(prepared / "tokenizer").target, choose_stretches(len(store)))


def choose_stretches(pairs: int) -> list[range]:
    """Which pairs are counted: all, or as many as are allowed."""
    stretches = [range(start, min(start + AT_ONCE, pairs)) for start in range(0, pairs, AT_ONCE)]
    allowed = MOST // AT_ONCE
    if len(stretches) <= allowed:
        return stretches
    return [stretches[place * len(stretches) // allowed] for place in range(allowed)]
