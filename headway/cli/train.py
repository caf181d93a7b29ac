"""For example:

    headway train --train data/train --from en --to de --out runs/en-de

reads data/train.en and data/train.de. Every setting has a default that follows from the corpus. The same command again goes
on where the run stood; Ctrl-C saves first.
"""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.again import headway_command, resumable
from headway.cli.settings import COMMAND, ConfigFile, given_settings, read_settings, takes_settings

__all__ = ["COMMAND", "run"]
SAMPLES = 5  # translations shown at the end


@takes_settings
def run(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="directory of the run")],
    config_file: ConfigFile = None,
    **options: Any,
) -> None:
    settings = read_settings(config_file, given_settings(context, options))

    from headway.progress import Display
    from headway.training.run import run_training

    with Display() as display, resumable():
        result = run_training(settings, out, display)
    for one in result.tested[:SAMPLES]:
        print("\n".join(f"  {name:12} {text}" for name, text in vars(one).items()) + "\n", file=sys.stderr)
    print(f"Model: {result.model}  (learning curve, settings and test translations in {result.directory})", file=sys.stderr)
    print(f"Try:   echo 'Some text.' | {headway_command()} translate {shlex.quote(str(result.model))}", file=sys.stderr)
