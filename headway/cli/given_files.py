"""The files that an evaluation was given: whether they are there, and whether their lines belong together."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.amounts import amount
from headway.errors import DataError

CLOSE = 0.8  # as difflib counts: a letter or two in a name


@dataclass(frozen=True)
class Text:
    """The lines of a file, and what they are: source, references or translations."""

    path: Path
    what: str
    lines: list[str]


def check_given(files: Mapping[str, Sequence[Path]]) -> None:
    """Refuse what cannot be read, by the name of the option that it was given to."""
    given = [path for paths in files.values() for path in paths]
    for option, paths in files.items():
        for path in paths:
            told = f"{path}, given to {option},"
            if path.is_dir():
                raise DataError(f"{told} is a directory, not a file.", "Name the file in it.")
            try:
                path.open("rb").close()
            except FileNotFoundError:
                what = "file or model" if option == "--compare" else "file"
                problem = f"There is no {what} {path}, which was given to {option}.{_suggest(path, given)}"
                raise DataError(problem, "Check its name and directory.") from None
            except OSError as error:
                raise DataError(f"{told} cannot be read: {error.strerror}.", "Check who may read it.") from None


def _suggest(path: Path, given: Sequence[Path]) -> str:
    """A name that is nearly the same, if no other option has it already."""
    if not path.parent.is_dir():
        return f" There is no directory {path.parent} either."
    names = sorted(entry.name for entry in path.parent.iterdir() if entry not in given)
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=CLOSE)
    return f" Did you mean {path.parent / close[0]}?" if close else ""


def read_text(path: Path, what: str) -> Text:
    from headway.data.readers import read_lines

    return Text(path, what, list(read_lines(path)))


def check_together(one: Text, other: Text) -> None:
    """Refuse files of unequal length, with what helps to find the lines that are too many."""
    if len(one.lines) == len(other.lines):
        return
    shorter, longer = sorted((one, other), key=lambda text: len(text.lines))
    more = longer.lines[len(shorter.lines) :]
    if any(line.strip() for line in more):
        remedy = (
            "Line n of both must belong together, and blank lines count, those at the end too. Look where they part: "
            f"paste -d '\\n' {one.path} {other.path} | less"
        )
    else:
        remedy = f"All that {longer.path} has more is blank lines at its end, which count too: delete them."
    raise DataError(f"{one.path} has {_count(one)}, but {other.path} has {_count(other)}.", remedy)


def _count(text: Text) -> str:
    return f"{amount(len(text.lines), 'line')} of {text.what}"
