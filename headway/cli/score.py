"""For example:

    headway score runs/en-de/best --source test.en --target test.de

prints one number a pair: the log-probability of the target given the source, over the length penalty. Nearer to 0 is likelier.
It is the score that `headway translate --json` reports for its own translations, of a line with several sentences for each.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.amounts import amount
from headway.cli.searching import (
    AlphaOption,
    BatchOption,
    ComputeTypeOption,
    EngineOption,
    EnsembleOption,
    FromOption,
    PenaltyOption,
    SourcePrefixOption,
    ToOption,
)
from headway.errors import DataError


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    source: Annotated[Path, typer.Option(help="sentences, one a line")],
    target: Annotated[Path, typer.Option(help="their translations, line by line")],
    to: ToOption = "",
    from_: FromOption = "",
    source_prefix: SourcePrefixOption = "",
    others: EnsembleOption = None,
    length_penalty: AlphaOption = None,
    penalty: PenaltyOption = None,
    engine: EngineOption = "auto",
    compute_type: ComputeTypeOption = "auto",
    batch_tokens: BatchOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a line: source, text, score, tokens")] = False,
) -> None:
    from headway import load
    from headway.data.readers import read_lines
    from headway.progress import Display

    sources, targets = list(read_lines(source)), list(read_lines(target))
    if len(sources) != len(targets):
        raise DataError(
            f"{source} has {amount(len(sources), 'line')}, but {target} has {len(targets):,}.",
            "Line n of one is the translation of line n of the other.",
        )
    translator = load([model, *(others or [])], engine=engine, compute_type=compute_type)
    with Display() as display:
        scored = translator.score(
            sources,
            targets,
            to=to,
            from_=from_,
            source_prefix=source_prefix,
            length_penalty=length_penalty,
            penalty=penalty,
            batch_tokens=batch_tokens,
            on_progress=lambda done, total: display.update("Scoring", done, total),
        )
    for pair in scored:
        line = json.dumps(pair.to_json(), ensure_ascii=False) if as_json else f"{pair.score:.4f}"
        sys.stdout.buffer.write(f"{line}\n".encode())
