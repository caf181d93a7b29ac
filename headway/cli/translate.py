"""For example:

    headway translate runs/en-de/best text.en > text.de

reads standard input where no file is given. One line comes out for each line that goes in, in order, empty for empty.
"""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from headway.errors import RequestError

CHUNK = 10_000  # lines translated before they are written


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    files: Annotated[list[Path] | None, typer.Argument(help="files to translate; standard input if none")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="hypotheses kept at each step; 1 is greedy")] = None,
    length_penalty: Annotated[float | None, typer.Option(min=0, help="alpha in ((5 + n) / 6)^alpha; more is longer")] = None,
    nbest: Annotated[int, typer.Option(min=1, help="translations of each line; more than one needs --json")] = 1,
    batch_tokens: Annotated[int | None, typer.Option(min=1, help="source tokens translated at once")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a line: source, text, score, alternatives")] = False,
    out: Annotated[Path | None, typer.Option("--output", "-o", help="file to write instead of standard output")] = None,
) -> None:
    if nbest > 1 and not as_json:
        raise RequestError(f"--nbest {nbest} gives more than one translation a line.", "Add --json.")
    from headway import load
    from headway.progress import Display

    translator = load(model)
    lines = list(read_input(files or []))
    if warning := translator.warn(lines):
        print(warning, file=sys.stderr)
    with _open(out) as output, Display() as display:
        for start in range(0, len(lines), CHUNK):

            def show(done: int, _: int, start: int = start) -> None:
                display.update("Translating", start + done, len(lines))

            for found in translator.translate(
                lines[start : start + CHUNK],
                beam=beam,
                length_penalty=length_penalty,
                nbest=nbest,
                batch_tokens=batch_tokens,
                on_progress=show,
            ):
                text = json.dumps(found.to_json(), ensure_ascii=False) if as_json else found.text.replace("\n", " ")
                output.write(text.encode() + b"\n")
            output.flush()


@contextmanager
def _open(out: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears when it is whole."""
    if out is None:
        yield sys.stdout.buffer
        return
    from headway.atomic import write_file

    buffer = io.BytesIO()
    yield buffer
    write_file(out, buffer.getvalue())


def read_input(files: list[Path]) -> Iterator[str]:
    """Lines of the files one after the other, or of standard input."""
    from headway.data.readers import decode_lines, read_lines

    if not files:
        yield from decode_lines(sys.stdin.buffer, "standard input")
    for path in files:
        yield from read_lines(path)
