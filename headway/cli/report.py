"""For example:

    headway report runs/en-de

makes runs/en-de/report.html anew: scores with intervals, curves, settings, data, speed. Of several runs

    headway report runs/small runs/large --output compared.html

one page has the curves over each other, the settings that differ, and tests whether a difference is chance. Runs
that differ by their seed alone count as one system, with mean and spread.
"""

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.errors import RequestError

if TYPE_CHECKING:
    from headway.evaluation.evaluation import Evaluation
    from headway.reports.runs.comparison import Compared

WIDTH = 100  # columns of a terminal that lines keep to
SHORTEST = 12  # letters of a name that are always told


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
    for note in [*compared.notes, *(note for one in compared.evaluations for note in one.notes)]:
        print(textwrap.fill(note, WIDTH, break_long_words=False, break_on_hyphens=False), file=sys.stderr)
    print(f"Made {page}. Open in a browser:\n  {page.absolute().as_uri()}", file=sys.stderr)


def _tabulate(compared: "Compared") -> str:
    """The runs by their scores, then by size and speed; then systems, and tests between them, where there are several."""
    from headway.reports.runs.comparison import has_parts, tell_rows, tested_by

    rows, columns, apart = tell_rows(compared), tested_by(compared.runs), has_parts(compared)
    tables = []
    if columns:
        scored = [["run", *(["tested on"] if apart else []), *columns]]
        for row in rows:
            scores = [f"{score} ({interval})" if interval else score for score, interval in row["scores"]]
            scored.append([row["name"], *([row["part"]] if apart else []), *scores])
        tables.append(_align(scored))
    if apart:
        tables.append("Scores on different sets of sentences, or on unknown ones, cannot be compared.\n")
    size = [["run", "parameters", "updates", "time", "tokens/s", "of peak"]]
    size += [[row[name] for name in ("name", "size", "updates", "time", "speed", "peak")] for row in rows]
    tables.append(_align(size))
    for evaluation in compared.evaluations:
        tables += _tell_systems(evaluation)
    return "\n".join(tables)


def _tell_systems(evaluation: "Evaluation") -> list[str]:
    """Mean and spread of what has several seeds; each system beside the first one, with what the tests say."""
    from headway.evaluation.evaluation import TITLES

    found = []
    several = [result for result in evaluation.results if len(result.scores) > 1]
    if several:
        lines = [["mean ± spread over seeds", *TITLES.values()]]
        for result in several:
            figures = [f"{result.mean[metric]:.2f} ± {result.spread[metric] or 0:.2f}" for metric in TITLES]
            lines.append([result.name, *figures])
        found.append(_align(lines))
    for other in evaluation.results[1:]:
        lines = []
        for one in evaluation.comparisons:
            if one.system == other.name:
                interval = f"[{one.interval[0]:+.2f}, {one.interval[1]:+.2f}]" if one.interval else ""
                lines.append([f"  {TITLES[one.metric]}", f"{one.difference:+.2f}", interval, one.tell_verdict()])
        if lines:
            names = [_shorten(one.name, WIDTH // 2 - 10) for one in (other, evaluation.results[0])]
            found.append(f"{names[0]}, compared with {names[1]}:\n{_align(lines)}")
    return found


def _align(lines: list[list[str]]) -> str:
    """Columns as wide as they must be. A long name gives way in its middle, where the line would be too long."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room = max(SHORTEST, WIDTH - sum(width + 2 for width in widths[1:]))
    widths[0] = min(widths[0], room)
    rows = ([_shorten(name, room), *cells] for name, *cells in lines)
    told = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{row.rstrip()}\n" for row in told)


def _shorten(name: str, room: int) -> str:
    return name if len(name) <= room else f"{name[: room // 3]}…{name[len(name) - (room - room // 3 - 1) :]}"


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
