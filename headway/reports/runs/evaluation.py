"""Runs as systems of one evaluation: those that translated the same test part."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from headway.data.store import Store
from headway.evaluation.evaluate import evaluate
from headway.evaluation.evaluation import Evaluation, System
from headway.evaluation.statistics import OnProgress
from headway.reports.runs.record import RunRecord
from headway.text.tokenizer import Tokenizers

AT_ONCE = 10_000  # sentences


def evaluate_runs(systems: Mapping[str, Sequence[RunRecord]], on_progress: OnProgress | None = None) -> Evaluation:
    """Each system by its name, with its runs: one, or one for each seed. All have translated the same sentences.

    Which words are rare is counted in the first run's training text.
    """
    first = next(iter(systems.values()))[0]
    kept = first.facts.pairs_kept if first.facts else None

    def tell(work: str, done: int, total: int | None) -> None:
        if on_progress:
            on_progress(work, done, kept if total is None else total)  # only of the training text nobody told the lines

    return evaluate(
        [System(name, [[one.translation for one in run.tested] for run in runs]) for name, runs in systems.items()],
        [[one.reference for one in first.tested]],
        sources=[one.source for one in first.tested],
        training=read_training(first.directory / "data") if first.facts else None,
        on_progress=tell,
    )


def read_training(data: Path) -> Iterator[str]:
    """The target side of what a run was trained on, as text."""
    store, tokenizer = Store(data / "train"), Tokenizers.load(data / "tokenizer").target
    for start in range(0, len(store), AT_ONCE):
        rows = range(start, min(start + AT_ONCE, len(store)))
        yield from tokenizer.decode([store.target(row).tolist() for row in rows])
