"""Parallel text as people have it: two files of one sentence a line, or one file of both languages.

Everything streams. Only "\\n" ends a line: U+2028, form feeds and lone carriage returns are part of a sentence, and a reader
that splits there (`str.splitlines` does) puts all later sentences beside the wrong translations.
"""

import filecmp
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from headway.amounts import amount, are
from headway.config import did_you_mean, parse_corpus
from headway.directions import Direction
from headway.errors import DataError, RequestError
from headway.text.tags import put_before

Pair = tuple[str, str]
LABELS = ("label", "class", "category")  # how a first row names a column of labels
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Corpus:
    """Pairs of (source, target), read anew at each iteration. No sentence holds a line end."""

    name: str
    weight: float
    files: list[Path]
    read: Callable[[], Iterator[Pair]]
    prefix: str = ""  # that every source begins with
    direction: str = ""  # by its name, of a corpus of translations

    def __iter__(self) -> Iterator[Pair]:
        return self.read()


def open_texts(spec: str) -> Corpus:
    """Open a file of one language, a text a line, or the texts of a table; each stands beside itself. `:WEIGHT` may follow."""
    name, weight = parse_corpus(spec)
    path = Path(name)
    check_file(path)
    read = (lambda: _read_labelled(path)) if path.suffix.lower() == ".tsv" else (lambda: ((x, x) for x in read_lines(path)))
    return Corpus(name, weight, [path], lambda: ((text, text) for text, _ in read()))


def open_labelled(spec: str) -> Corpus:
    """Open a table of texts and their labels; `:WEIGHT` may follow."""
    name, weight = parse_corpus(spec)
    path = Path(name)
    if path.suffix.lower() != ".tsv":
        raise DataError(
            f"{path} is no table of texts and labels.",
            "Give a .tsv of two columns, a text and its label; for pictures a directory with a folder for each label.",
        )
    check_file(path)
    return Corpus(name, weight, [path], lambda: _read_labelled(path))


def open_corpus(spec: str, source_language: str, target_language: str, prefix: str = "") -> Corpus:
    """Open `STEM`, meaning STEM.en and STEM.de, or a single file of a known kind; `:WEIGHT` may follow.

    What can be known without reading everything is checked here; the rest while reading. `prefix` is put before each source.
    """
    corpus = _open_pairs(spec, source_language, target_language)
    if not prefix:
        return corpus
    read = corpus.read
    return replace(corpus, prefix=prefix, read=lambda: ((put_before(prefix, source), target) for source, target in read()))


def open_corpora(spec: str, directions: Sequence[Direction], prefix: str = "") -> list[Corpus]:
    """A corpus in each of the directions that it holds, one at least; `prefix` goes after the direction's own."""
    if len(directions) > 1:
        directions = _find_directions(Path(parse_corpus(spec)[0]), directions)
    return [replace(open_corpus(spec, one.source, one.target, one.prefix + prefix), direction=str(one)) for one in directions]


def _find_directions(path: Path, directions: Sequence[Direction]) -> list[Direction]:
    """Those of which both languages are there: as files of a stem, or as columns of a table whose first row names them."""
    languages = list(dict.fromkeys(language for one in directions for language in (one.source, one.target)))
    if path.suffix.lower() in SINGLE_FILES:
        check_file(path)
        names = {column.strip().casefold() for column in next(read_lines(path)).split("\t")}
        there = {language for language in languages if language.casefold() in names}
        problem = f"{path} does not say in which languages its columns are, and there are several directions."
        remedy = f"Name them in its first row, each over its column, with tabs between them: {', '.join(languages)}."
    else:
        files = {language: Path(f"{path}.{language}") for language in languages}
        there = {language for language, file in files.items() if file.exists()}
        problem = (
            f"{path} has both files of none of the directions {', '.join(map(str, directions))}: looked for "
            f"{', '.join(map(str, files.values()))}.{_what_is_there(files[languages[0]])}"
        )
        remedy = "Check the name and the languages given."
    found = [one for one in directions if {one.source, one.target} <= there]
    if not found:
        raise DataError(problem, remedy)
    return found


def _open_pairs(spec: str, source_language: str, target_language: str) -> Corpus:
    name, weight = parse_corpus(spec)
    if not source_language or not target_language:
        raise RequestError(f"Which languages does {name} hold?", "Name them: --from en --to de.")
    path = Path(name)
    if path.suffix.lower() in SINGLE_FILES:
        check_file(path)
        reader = SINGLE_FILES[path.suffix.lower()]
        return Corpus(name, weight, [path], lambda: reader(path, source_language, target_language))
    source, target = Path(f"{name}.{source_language}"), Path(f"{name}.{target_language}")
    if path.is_file() and not source.exists() and not target.exists():
        raise DataError(
            f"{path} is a file of no known kind.",
            f"Headway reads {', '.join(SINGLE_FILES)}, or a STEM that stands for the two files STEM.{source_language} and "
            f"STEM.{target_language}.{_suggest_stem(path, source_language, target_language)}",
        )
    check_file(source)
    check_file(target)
    _check_different(source, target)
    return Corpus(name, weight, [source, target], lambda: _read_two_files(source, target))


def _suggest_stem(path: Path, *languages: str) -> str:
    """For who names one of the two files."""
    stem = path.with_suffix("")
    return f" Did you mean {stem}?" if all(Path(f"{stem}.{language}").is_file() for language in languages) else ""


def count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends."""
    check_file(path, may_be_empty=True)
    with path.open("rb") as file:
        yield from decode_lines(file, str(path))


def decode_lines(raw_lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Lines of any binary stream, such as standard input: a byte-order mark at the start, "\\n" and "\\r\\n" are taken off."""
    for number, raw in enumerate(raw_lines, 1):
        line = raw.removeprefix(BOM) if number == 1 else raw
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            at = error.start + len(raw) - len(line)
            raise DataError(
                f"{name} is not UTF-8: line {number:,} has the byte 0x{raw[at]:02x} at offset {at}.",
                f"Convert it, for example: iconv -f {_guess_encoding(raw, number)} -t UTF-8 FILE > converted",
            ) from None


def _guess_encoding(raw: bytes, line_number: int) -> str:
    return "UTF-16" if line_number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "WINDOWS-1252"


def _read_two_files(source: Path, target: Path) -> Iterator[Pair]:
    sources, targets = read_lines(source), read_lines(target)
    for number, (left, right) in enumerate(zip_longest(sources, targets)):
        if left is None or right is None:
            longer = number + 1 + sum(1 for _ in (targets if left is None else sources))
            counts = (number, longer) if left is None else (longer, number)
            raise DataError(
                f"{source} has {amount(counts[0], 'line')}, but {target} has {counts[1]:,}.",
                "Line n of one must be the translation of line n of the other: find where they part, and mend it.",
            )
        yield left, right


def _read_tsv(path: Path, source_language: str, target_language: str) -> Iterator[Pair]:
    """Tab-separated columns, nothing quoted: the first two, or those that a first row names by their languages.

    A wholly empty row is a pair of empty sentences, so that a blank last line is no error.
    """
    left, right = 0, 1
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if number == 1:
            names = [column.strip().casefold() for column in columns]
            if source_language.casefold() in names and target_language.casefold() in names:
                left, right = names.index(source_language.casefold()), names.index(target_language.casefold())
                continue
        if line and max(left, right) >= len(columns):
            raise DataError(
                f"{path} has {_count(len(columns), 'column')} in line {number:,}, and needs {max(left, right) + 1}.",
                "Put a tab between source and target sentence, and none inside a sentence.",
            )
        yield (columns[left], columns[right]) if line else ("", "")


def _read_labelled(path: Path) -> Iterator[Pair]:
    """Texts and labels: the first column and the second, or the column that a first row names as LABELS do, and another."""
    text, label = 0, 1
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if number == 1 and (named := [place for place, name in enumerate(columns) if name.strip().lower() in LABELS]):
            label = named[0]
            text = 1 if label == 0 else 0
            continue
        if line and max(text, label) >= len(columns):
            raise DataError(
                f"{path} has {_count(len(columns), 'column')} in line {number:,}, and needs {max(text, label) + 1}.",
                "Put a tab between a text and its label, and none inside a text.",
            )
        yield (columns[text], columns[label].strip()) if line else ("", "")


# A new kind of file is one function here: path, source language, target language -> pairs.
SINGLE_FILES: dict[str, Callable[[Path, str, str], Iterator[Pair]]] = {".tsv": _read_tsv}


def check_file(path: Path, *, may_be_empty: bool = False) -> None:
    if path.is_dir():
        raise DataError(f"{path} is a directory, not a file.", "Name the file in it, or its stem without the language.")
    try:
        with path.open("rb") as file:
            empty = file.read(len(BOM) + 1) in (b"", BOM)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.{_what_is_there(path)}", "Check the name and the languages given.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Check who may read it.") from None
    if empty and not may_be_empty:
        raise DataError(f"{path} is empty.", "A corpus has one sentence a line.")


def _what_is_there(path: Path) -> str:
    """The nearest directory entries: the same stem with other endings, or else a name that is spelled alike."""
    if not path.parent.is_dir():
        return f" There is no directory {path.parent} either."
    names = sorted(entry.name for entry in path.parent.iterdir() if not entry.name.startswith("."))
    siblings = [name for name in names if name == path.stem or name.startswith(f"{path.stem}.")]
    if not siblings:
        return did_you_mean(path.name, names)
    return f" There {are(len(siblings))} {', '.join(siblings[:5])} beside it."


def _check_different(source: Path, target: Path) -> None:
    """Training on two copies of one side teaches copying, and would show only hours later."""
    if source.samefile(target):
        problem = f"Source and target are the same file, {source}."
    elif filecmp.cmp(source, target, shallow=False):
        if not any(line.strip() for line in read_lines(source)):
            raise DataError(f"{source} and {target} have nothing but blank lines.", "A corpus has one sentence a line.")
        problem = f"{source} and {target} have the same content."
    else:
        return
    raise DataError(problem, "One must hold the other's translation: check the names and the languages given.")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
