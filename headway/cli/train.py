"""For example:

    headway train --train data/train --from en --to de --out runs/en-de

reads data/train.en and data/train.de. Every setting has a default that follows from the corpus. The same command again goes
on where the run stood; Ctrl-C saves first. With a model to begin with, with more text of the target language alone, in several
directions, and with other tasks:

    headway train --init models/en-de --train memory.tsv --from en --to de --out runs/ours

    headway train --init models/en-de --train data/train --from en --to twi --out runs/en-twi

    headway train --train data/train --monolingual-target more.de --from en --to de --out runs/more

    headway train --train data/train --from en,de --to en,de --out runs/both-ways

    headway train --task denoise --train news.en --train news.de --out runs/both

    headway train --task lm --train plays.txt --out runs/plays

    headway train --task classify --train reviews.tsv --out runs/reviews
"""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.again import headway_command, resumable
from headway.cli.settings import COMMAND, ConfigFile, given_settings, takes_settings
from headway.config import read_settings

__all__ = ["COMMAND", "run"]
SAMPLES, LONGEST = 5, 300  # translations shown at the end, and how many characters of each


@takes_settings
def run(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="directory of the run")],
    config_file: ConfigFile = None,
    **options: Any,
) -> None:
    settings = read_settings(config_file, given_settings(context, options))

    from headway.bundle import read_manifest
    from headway.directions import tell_option
    from headway.progress import Display
    from headway.training.run import run_training

    with Display() as display, resumable():
        result = run_training(settings, out, display)
    for one in result.tested[:SAMPLES]:
        print("\n".join(f"  {name:12} {_shorten(text)}" for name, text in one.tell().items()) + "\n", file=sys.stderr)
    print(f"Model: {result.model}  (learning curve, settings and test results in {result.directory})", file=sys.stderr)
    option = tell_option(read_manifest(result.model).directions)
    if settings.data.prefix and all(settings.data.prefix):  # no source was ever without one
        option += f" --source-prefix {shlex.quote(settings.data.prefix[0])}"
    print(f"Try:   {_suggest(settings.data.task, shlex.quote(str(result.model)), option)}", file=sys.stderr)
    if result.page:
        print(f"Page:  {result.page}  (scores with intervals, curves, settings: open it in a browser)", file=sys.stderr)
    if result.gained:
        print(f"\n{result.gained}", file=sys.stderr)


def _shorten(text: str) -> str:
    """A model that has learned little may go on without end."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _suggest(task: str, model: str, option: str) -> str:
    """What to do with the model."""
    headway = headway_command()
    return {
        "translate": f"echo 'Some text.' | {headway} translate {model}{option}",
        "lm": f"{headway} generate {model} 'Once upon a time' --temperature 0.8",
        "mlm": f"{headway} fill {model} 'Some [MASK] text.'   or: {headway} train --task classify --init {model} ...",
        "classify": f"{headway} classify {model} FILE",
    }.get(task, f"{headway} train --init {model} --train data/train --from en --to de --out runs/en-de")
