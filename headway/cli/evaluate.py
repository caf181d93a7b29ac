"""For example:

    headway evaluate runs/en-de/best --source test.en --references test.de

or, for translations that are there already:

    headway evaluate --hypotheses output.de --references test.de
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.searching import AlphaOption, BeamOption, ComputeTypeOption, EngineOption, PenaltyOption
from headway.errors import RequestError


def run(
    model: Annotated[Path | None, typer.Argument(help="directory of the model that translates the source")] = None,
    source: Annotated[Path | None, typer.Option(help="text to translate")] = None,
    hypotheses: Annotated[Path | None, typer.Option(help="translations to score, instead of a model's")] = None,
    references: Annotated[list[Path] | None, typer.Option(help="reference translations; repeatable")] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", "-lc", help="score without regard to case")] = False,
    beam: BeamOption = None,
    length_penalty: AlphaOption = None,
    penalty: PenaltyOption = None,
    engine: EngineOption = "auto",
    compute_type: ComputeTypeOption = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    if not references:
        raise RequestError("Not given: --references.", "As in: headway evaluate MODEL --source test.en --references test.de")
    if (model is None) == (hypotheses is None) or (model is None) != (source is None):
        raise RequestError("Give either a model and --source, or --hypotheses.", "`headway evaluate --help` has examples.")
    from headway.data.readers import read_lines
    from headway.evaluation.metrics import check_lengths, score

    streams = [list(read_lines(path)) for path in references]
    if hypotheses:
        texts = list(read_lines(hypotheses))
    else:
        from headway import load
        from headway.progress import Display

        assert model and source
        sources = list(read_lines(source))
        check_lengths(sources, streams)
        with Display() as display:
            found = load(model, engine=engine, compute_type=compute_type).translate(
                sources,
                beam=beam,
                length_penalty=length_penalty,
                penalty=penalty,
                on_progress=lambda done, total: display.update("Translating", done, total),
            )
        texts = [translation.text for translation in found]
    scores = score(texts, streams, lowercase=lowercase)
    if as_json:
        print(json.dumps(scores.to_dict()))
    else:
        for name, value in scores.named():
            print(f"{name:5}{value.score:6.2f}   {value.signature}")
    sys.stdout.flush()
