"""What a job reads and writes: files by their names or patterns, and a task for each file that comes out."""

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.errors import DataError, RequestError
from headway.jobs.blocks import ALL, Shard, count_lines
from headway.jobs.streams import PACKED, check_input


@dataclass(frozen=True)
class Task:
    """Some inputs, one after the other, and where their translation goes; None is standard output."""

    inputs: list[Path]
    output: Path | None
    blocks: range = ALL
    lines: int | None = None  # in those blocks, where they were counted

    def can_go_on(self) -> bool:
        """Whether the input can be read again: a pipe cannot."""
        return bool(self.inputs) and all(path.is_file() for path in self.inputs)


def find_files(names: Sequence[str]) -> list[Path]:
    """The files of some names and patterns such as 'text/**/*.en', each pattern's in alphabetical order.

    No files are standard input, and so is -.
    """
    if list(names) == ["-"]:
        return []
    found: list[Path] = []
    for name in names:
        if not glob.has_magic(name) or Path(name).exists():
            found.append(Path(name))
            continue
        matches = map(Path, glob.iglob(name, recursive=True))  # noqa: PTH207  # `Path.glob` takes no absolute pattern
        files = sorted(path for path in matches if path.is_file())
        if not files:
            raise DataError(f"No file matches {name}.", "Check the pattern: * is any part of a name, ** any directories.")
        found += files
    for path in found:
        check_input(path)
    return found


def plan_tasks(files: list[Path], output: str | None, languages: Sequence[tuple[str, str]]) -> list[Task]:
    """One task for each file where `output` is a directory, else one for all.

    `languages` are the pairs of which any may be meant: there can be several sources.
    """
    if output is None:
        return [Task(files, None)]
    if not names_directory(output):
        tasks = [Task(files, Path(output))]
    elif not files:
        raise RequestError(f"{output} is a directory, and standard input has no name.", "Give -o the name of a file.")
    else:
        tasks = [Task([path], Path(output) / name_output(path.name, languages)) for path in files]
    _check_outputs(tasks)
    return tasks


def names_directory(output: str) -> bool:
    return Path(output).is_dir() or output.endswith(("/", os.sep))


def name_output(name: str, languages: Sequence[tuple[str, str]]) -> str:
    """news.en.gz becomes news.de.gz; a name that does not tell its language stays."""
    ending = next((ending for ending in PACKED if name.endswith(ending)), "")
    stem = name.removesuffix(ending)
    for source, target in languages:
        if stem.endswith(f".{source}"):
            return stem.removesuffix(source) + target + ending
    return name


def take_shard(task: Task, shard: Shard, size: int) -> Task:
    """A shard of a task. Its lines have to be counted first, for which all input is read."""
    if not task.can_go_on():
        raise RequestError("A shard is cut out of files that can be read twice.", "Write the input to a file first.")
    counts = [count_lines(path) for path in task.inputs]
    blocks = [min(size, count - start) for count in counts for start in range(0, count, size)]
    chosen = shard.choose(len(blocks))
    return Task(task.inputs, task.output, chosen, sum(blocks[place] for place in chosen))


def _check_outputs(tasks: list[Task]) -> None:
    inputs = {path.resolve() for task in tasks for path in task.inputs}
    seen: dict[Path, Path] = {}
    for task in tasks:
        assert task.output
        where = task.output.resolve()
        if where in inputs:
            raise RequestError(f"{task.output} is to be read and to be written.", "Give -o another name or directory.")
        if where in seen:
            raise RequestError(
                f"{seen[where]} and {task.inputs[0]} would both be written to {task.output}.",
                "Translate them one at a time, into different directories.",
            )
        if task.inputs:
            seen[where] = task.inputs[0]
