"""For example:

    headway experiment table3 --train data/train --from en --to de --max-minutes 5

trains a small model for each row of the paper's table 3, five minutes each, and shows what came of it beside the paper's: a
table, a picture, and all figures in results.json. It promises its time before it starts; the same command again goes on where
it stood. It takes every option of `headway train`, for all of its models alike. The experiments:

{experiments}

Only some rows of a table, each with three seeds:

    headway experiment table3 --rows A --rows E --seeds 3 --train data/train --from en --to de

Changes of your own, one row each:

    headway experiment ablation --vary dropout=0.1 --vary 'norm=post warmup=2000' --train data/train --from en --to de
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.again import resumable
from headway.cli.columns import print_table, print_text
from headway.cli.settings import COMMAND, ConfigFile, given_settings, takes_settings
from headway.config import did_you_mean, read_settings
from headway.errors import RequestError

EXPERIMENTS = {
    "table3": "rows A to E: heads, widths, layers, dropout, smoothing, positions",
    "scaling": "attention with and without the division by sqrt(d_k)",
    "smoothing": "label smoothing: perplexity for BLEU",
    "averaging": "what the average of the last checkpoints adds",
    "positions": "sinusoidal, learned and no positions, on sentences longer than any in training",
    "heads": "what each head attends to, and what is lost without it",
    "complexity": "table 1: time and memory of attention, recurrent and convolutional layers",
    "rnn": "the Transformer against an attention RNN and a convolutional model",
    "ablation": "your own settings, one change at a time (--vary)",
}
__doc__ = __doc__.format(experiments="\n\n".join(f"    {name:12}{what}" for name, what in EXPERIMENTS.items()))
__all__ = ["COMMAND", "run"]
MOST_ROWS = 24  # on a terminal


@takes_settings
def run(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help=f"one of {', '.join(EXPERIMENTS)}")],
    out: Annotated[Path, typer.Option(help="directory of experiments, which share the models that they have in common")] = Path(
        "experiments"
    ),
    rows: Annotated[list[str] | None, typer.Option(help="only these rows, beside the first one; repeatable")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="how often each model is trained, with other seeds")] = 1,
    model: Annotated[Path | None, typer.Option(help="a trained model to look at instead of a new one (heads)")] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="a change: setting=value, or several in quotes; repeatable (ablation)", metavar="SETTING=VALUE"),
    ] = None,
    config_file: ConfigFile = None,
    **options: Any,
) -> None:
    if name not in EXPERIMENTS:
        raise RequestError(
            f"There is no experiment {name}.{did_you_mean(name, list(EXPERIMENTS))}", f"There are: {', '.join(EXPERIMENTS)}."
        )
    settings = read_settings(config_file, given_settings(context, options))

    from headway.experiments.experiment import Experiment, Request, check_experiment, conduct
    from headway.experiments.variants import complete, settle
    from headway.progress import Display

    experiment: Experiment = import_module(f"headway.experiments.{name}")
    if "train" in experiment.TAKES:
        settings = complete(settings, of_paper=name != "ablation")
    request = Request(settings, out / name, seeds, tuple(rows or ()), model, tuple(dict.fromkeys(vary or ())))
    check_experiment(name, experiment, request)
    with Display() as display, resumable():
        if "train" in experiment.TAKES and not model:
            request = settle(request, display)
        findings = conduct(name, experiment, request, display)
    print_table([findings.columns, *findings.rows[:MOST_ROWS]])
    if len(findings.rows) > MOST_ROWS:
        print(f"... and {len(findings.rows) - MOST_ROWS} more in {request.out / 'table.md'}")
    print()
    for line in findings.story:
        print_text(line)
    sys.stdout.flush()
    made = [path.name for path in findings.pictures if path.suffix == ".png"]
    print(f"\nIn {request.out}: {', '.join(['table.md', 'results.json', *made])}", file=sys.stderr)
