"""For example:

    headway fill runs/bert/best "A [MASK] runs."

tells what may stand where [MASK] does, best first, one candidate a line: its probability, the piece, and the text with it,
separated by tabs; a blank line stands between the candidates of two masks. Without a text it reads lines from standard input.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.writing import write, write_json
from headway.errors import DataError

if TYPE_CHECKING:
    from headway.family.filler import Candidate

SPACES = str.maketrans("\t\n\r", "   ")  # what would break a line or a column


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    texts: Annotated[list[str] | None, typer.Argument(help="texts with [MASK], in quotes; standard input if none")] = None,
    top: Annotated[int, typer.Option(min=1, help="candidates for each mask")] = 5,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="one JSON object a text: text, masks; of each its candidates: piece, probability, text"),
    ] = False,
) -> None:
    from dataclasses import asdict

    from headway.family.filler import Filler
    from headway.jobs.blocks import read_lines

    filler = Filler.load(model)
    told = 0
    for text in texts or read_lines([]):
        masks = filler.fill(text, top=top)
        if as_json:
            write_json({"text": text, "masks": [[asdict(one) for one in some] for some in masks]})
        else:
            write("\n" if told else "", "\n".join(map(_list, masks)))
        told += 1
    if not told:
        raise DataError("There are no lines to fill in.", "Give texts with [MASK], one a line.")


def _list(candidates: "list[Candidate]") -> str:
    rows = ((f"{one.probability:.4f}", one.piece, one.text) for one in candidates)
    return "".join("\t".join(column.translate(SPACES) for column in row) + "\n" for row in rows)
