"""For example:

    headway classify runs/sentiment/best reviews.txt

writes label and probability, separated by a tab, one line for each line that goes in; without a file, standard input.

    headway classify runs/digits/best scans/ more.png

writes file, label and probability for each picture, with a model of pictures; a directory stands for all pictures in it.
"""

import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.amounts import amount
from headway.cli.writing import write, write_json
from headway.errors import DataError, RequestError

if TYPE_CHECKING:
    from headway.family.classifier import Classified, Classifier

MANY = 256  # pictures that are read before anything is told


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    files: Annotated[
        list[str] | None,
        typer.Argument(help="files of lines, .gz and .zst too, or pictures and directories of them; standard input if none"),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="labels for each, best first")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="one JSON object a line: text or file, label, probability; with --top also labels")
    ] = False,
) -> None:
    from headway.family.classifier import Classifier

    classifier = Classifier.load(model)
    answers = _sort_pictures(classifier, files or [], top) if classifier.reads_pictures else _sort(classifier, files or [], top)
    cut = told = 0
    for name, one in answers:
        if as_json:
            write_json(_describe(classifier, name, one, top))
        else:
            columns = chain.from_iterable((label, f"{share:.4f}") for label, share in one.labels)
            write("\t".join([name, *columns] if classifier.reads_pictures else columns), "\n")
        told += 1
        cut += one.cut
    if not told:
        raise DataError("There is nothing to classify.", "Give texts, one a line, or pictures.")
    if cut:
        were = "was" if cut == 1 else "were"
        most = f"{classifier.longest:,} pieces that the model reads"
        print(f"{cut:,} of {amount(told, 'line')} {were} longer than the {most}, and {were} cut.", file=sys.stderr)


def _sort(classifier: "Classifier", files: list[str], top: int) -> Iterator[tuple[str, "Classified"]]:
    """Block by block; somebody who types gets an answer after each line."""
    from headway.data.images import ENDINGS
    from headway.jobs.blocks import BLOCK, read_blocks, read_pipe
    from headway.jobs.streams import PipeLines
    from headway.jobs.tasks import find_files

    found = find_files(files)
    pictures = [str(path) for path in found if Path(path).suffix.lower() in ENDINGS]
    if pictures:
        raise DataError(
            f"This model sorts texts, and {pictures[0]} is a picture.", "Take a model that was trained on pictures."
        )
    blocks = read_blocks(found, BLOCK) if found else read_pipe(PipeLines(sys.stdin.buffer), BLOCK, whole=False)
    for block in blocks:
        yield from zip(block.lines, classifier.classify(block.lines, top=top), strict=True)


def _sort_pictures(classifier: "Classifier", names: list[str], top: int) -> Iterator[tuple[str, "Classified"]]:
    from headway.data.images import find_pictures
    from headway.jobs.tasks import find_files

    if not names:
        raise RequestError("This model sorts pictures, and none is given.", "Name files or directories of pictures.")
    found: list[Path] = []
    for name in names:
        some = find_pictures(Path(name)) if Path(name).is_dir() else find_files([name])
        if not some:
            raise DataError(f"There are no pictures in {name}.", "Check the name.")
        found += some
    for batch in _batches(found):
        yield from zip(map(str, batch), classifier.classify_pictures(batch, top=top), strict=True)


def _batches(paths: Iterable[Path]) -> Iterator[list[Path]]:
    rest = iter(paths)
    while batch := list(islice(rest, MANY)):
        yield batch


def _describe(classifier: "Classifier", name: str, one: "Classified", top: int) -> dict[str, object]:
    told: dict[str, object] = {"file" if classifier.reads_pictures else "text": name, "label": one.label}
    told["probability"] = one.probability
    if top > 1:
        told["labels"] = dict(one.labels)
    if one.cut:
        told["cut"] = True
    return told
