"""For example:

    headway average runs/en-de/best runs/en-de/last --output runs/en-de-averaged

or, of a run, its last checkpoints:

    headway average runs/en-de --last 3 --output runs/en-de-averaged
"""

import sys
from pathlib import Path
from typing import Annotated

import typer


def run(
    models: Annotated[list[Path], typer.Argument(help="models to average, or one run")],
    out: Annotated[Path, typer.Option("--output", "-o", help="directory of the new model")],
    last: Annotated[int, typer.Option(min=2, help="how many of a run's checkpoints")] = 5,
) -> None:
    from headway.training.averaging import average_models, average_run

    if len(models) == 1 and (models[0] / "checkpoints").is_dir():
        count = average_run(models[0], last, out)
    else:
        count = average_models(models, out)
    print(f"Model: {out}, the mean of {count}", file=sys.stderr)
