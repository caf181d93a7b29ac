"""For example:

    headway encode runs/en-de/best sentences.en --output vectors.npy

writes one row of d_model numbers a line: the mean over the line's pieces and its end. With --tokens there is a row for each of
them, and vectors.lengths.npy tells how many rows each line has.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.amounts import amount
from headway.cli.searching import FromOption, SourcePrefixOption, ToOption
from headway.errors import DataError


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    files: Annotated[list[Path] | None, typer.Argument(help="files of sentences; standard input if none")] = None,
    to: ToOption = "",
    from_: FromOption = "",
    source_prefix: SourcePrefixOption = "",
    out: Annotated[Path, typer.Option("--output", "-o", help="the .npy file to write")] = Path("vectors.npy"),
    tokens: Annotated[bool, typer.Option("--tokens", help="a row for each piece instead of one for each line")] = False,
) -> None:
    import io

    import numpy as np

    from headway import load
    from headway.atomic import write_file
    from headway.jobs.blocks import read_lines
    from headway.jobs.tasks import find_files
    from headway.progress import Display

    def write(path: Path, array: np.ndarray) -> None:
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        write_file(path, buffer.getvalue())

    lines = list(read_lines(find_files([str(path) for path in files or []])))
    if not lines:
        raise DataError("There are no lines to encode.", "Give sentences, one a line.")
    with Display() as display:
        rows = load(model).encode(
            lines,
            to=to,
            from_=from_,
            source_prefix=source_prefix,
            pool=not tokens,
            on_progress=lambda done, total: display.update("Encoding", done, total),
        )
    array = (np.concatenate if tokens else np.stack)(rows)
    write(out, array)
    if tokens:
        write(out.with_suffix(".lengths.npy"), np.array([len(states) for states in rows]))
    print(f"{out}: {amount(array.shape[0], 'row')} of {array.shape[1]}", file=sys.stderr)
