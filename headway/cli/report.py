"""For example:

    headway report runs/en-de

makes runs/en-de/report.html anew: scores with intervals, curves, settings, data, speed. Of several runs

    headway report runs/small runs/large --output compared.html

one page has the curves over each other, what the runs were told differently, and tests whether a difference is chance. Runs
that differ by their seed alone count as one system, with mean and spread.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.errors import RequestError

if TYPE_CHECKING:
    from headway.reports.runs.comparison import Compared


def run(
    runs: Annotated[list[Path], typer.Argument(help="directories of runs: the --out of `headway train`")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="page to write; report.html if not given")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the figures as one JSON object")] = False,
) -> None:
    from headway.cli.writing import write, write_json
    from headway.progress import Display
    from headway.reports.runs.comparison import compare_runs, write_runs_page
    from headway.reports.runs.page import write_run_page
    from headway.reports.runs.record import read_run

    twice = [str(path) for number, path in enumerate(runs) if path.resolve() in [other.resolve() for other in runs[:number]]]
    if twice:
        raise RequestError(f"Given twice: {', '.join(twice)}.", "Name each run once.")
    if output is not None and output.is_dir():
        raise RequestError(f"{output} is a directory.", "Give --output the name of a page, as compared.html.")
    with Display() as display:
        compared = compare_runs([read_run(path) for path in runs], display.update)
    if len(runs) == 1:
        page = write_run_page(compared.runs[0], next(iter(compared.evaluations), None), output)
    else:
        page = write_runs_page(compared, output or Path("report.html"))
    if as_json:
        write_json(_gather(compared))
    else:
        write(_tabulate(compared))
    for note in compared.notes:
        print(note, file=sys.stderr)
    print(f"Made {page}. Open in a browser:\n  {page.absolute().as_uri()}", file=sys.stderr)


def _tabulate(compared: "Compared") -> str:
    """A line for each run, columns as wide as they must be."""
    from headway.reports.runs.comparison import tell_rows, tested_by

    lines = [["run", *tested_by(compared.runs), "parameters", "updates", "time", "tokens/s", "of peak"]]
    for row in tell_rows(compared):
        scores = [f"{score} ({interval})" if interval else score for score, interval in row["scores"]]
        lines.append([row["name"], *scores, *(row[name] for name in ("size", "updates", "time", "speed", "peak"))])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "".join(f"{row.rstrip()}\n" for row in rows)


def _gather(compared: "Compared") -> dict[str, Any]:
    from headway.evaluation.record import to_dict

    runs = [
        {
            "name": one.name,
            "directory": str(one.directory),
            "task": one.task,
            "test": one.test,
            "valid": one.valid,
            "parameters": one.parameters,
            "updates": one.steps,
            "seconds": one.seconds,
            "tokens_per_second": one.tokens_per_second,
            "mfu": one.mfu,
            "missing": one.missing,
        }
        for one in compared.runs
    ]
    systems = {name: [run.name for run in members] for name, members in compared.systems.items()}
    return {
        "runs": runs,
        "systems": systems,
        "evaluations": [to_dict(evaluation) for evaluation in compared.evaluations],
        "differing": compared.differing,
        "notes": compared.notes,
    }
