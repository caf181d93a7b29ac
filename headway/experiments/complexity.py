"""The paper's table 1, measured: what self-attention, recurrent and convolutional layers cost as length and dimension grow."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.atomic import write_file
from headway.errors import DataError, RequestError
from headway.experiments.complexity_fits import find_crossings, fit_memory, fit_time, grow, select
from headway.experiments.complexity_picture import draw
from headway.experiments.experiment import Findings, Request
from headway.experiments.layer_costs import BUDGET, Point, Sizes, list_groups, measure
from headway.progress import Display

CLAIM = (
    "Table 1 and section 4: a self-attention layer takes n² d operations, a recurrent one n d², a convolution k n d²; "
    "self-attention is faster where the length n is smaller than the dimension d."
)
SIZES = Sizes()
TAKES = ()
AFTERWARDS = 5.0  # seconds: the picture, the table

# What the paper says of each layer: operations, exponents of n and d, steps one after the other, longest path, exponent of n
# in a decoding step. What separable convolutions and decoding steps take follows from section 4.
PAPER: dict[str, tuple[str, int, int, str, str, int | None]] = {
    "self-attention": ("n² d", 2, 1, "1", "1", 1),
    "attention alone": ("n² d", 2, 1, "1", "1", None),
    "self-attention, written out": ("n² d", 2, 1, "1", "1", None),
    "restricted self-attention": ("r n d", 1, 1, "1", "n / r", 0),
    "recurrent": ("n d²", 1, 2, "n", "n", 0),
    "convolution": ("k n d²", 1, 2, "1", "log_k n", 0),
    "separable convolution": ("k n d + n d²", 1, 2, "1", "log_k n", 0),
}
_COLUMNS = [
    "layer",
    "paper",
    "n: paper",
    "n: measured",
    "d: paper",
    "d: measured",
    "memory, n",
    "step, n: paper",
    "step, n: measured",
    "steps in a row",
    "longest path",
]


def promise(request: Request, display: Display) -> float:
    return _budget(request) + AFTERWARDS


def run(request: Request, display: Display) -> Findings:
    """Measure what `points.json` does not hold yet, and tell what all of it comes to."""
    kept = request.out / "points.json"
    known = _read_points(kept)
    total = sum(map(len, list_groups(SIZES)))

    def keep(key: str, value: dict[str, Any]) -> None:
        known[key] = value
        write_file(kept, json.dumps(known, indent=1) + "\n")
        display.update("Measuring layers", len(known), total)

    points = measure(SIZES, budget=_budget(request), known=dict(known), on_point=keep)
    display.close()
    if not points:
        raise RequestError("Nothing could be measured in this time.", "Give more --max-minutes, and another --out.")
    rows, story = tabulate(points), tell(points)
    if len(points) < total:
        story.append(f"{total - len(points)} of {total} points were not reached in time; the same command goes on with them.")
    return Findings(
        columns=_COLUMNS,
        rows=[_tell_row(row) for row in rows],
        figures=[*rows, *tabulate_attentions(points), *tabulate_crossings(points)],
        story=story,
        pictures=draw(points, request.out / "complexity"),
    )


def tabulate(points: Sequence[Point]) -> list[dict[str, Any]]:
    """Table 1, a row a layer: the paper's exponents beside the measured ones, each with its error; None: not measured."""
    rows = []
    for layer, (operations, of_n, of_d, sequential, path, of_step) in PAPER.items():
        over_n, over_d = select(points, "length", layer), select(points, "dimension", layer)
        row: dict[str, Any] = {"layer": layer, "operations": operations}
        for name, paper, fitted in (
            ("n", of_n, fit_time(over_n, "n")),
            ("d", of_d, fit_time(over_d, "d")),
            ("memory_n", None, fit_memory(over_n, "n")),
            ("step_n", of_step, fit_time(select(points, "decoding", layer), "n")),
        ):
            row[f"{name}_paper"] = paper
            row[f"{name}_measured"] = fitted and round(fitted.value, 3)
            row[f"{name}_error"] = fitted and round(fitted.error, 3)
            row[f"{name}_sizes"] = fitted and list(fitted.sizes)
        longer = grow(over_n)
        row |= {"sequential_operations": sequential, "path_length": path, "same_tokens_longer": longer and round(longer, 3)}
        rows.append(row)
    return rows


def tabulate_attentions(points: Sequence[Point]) -> list[dict[str, Any]]:
    """Section 3.2.1, a row a length: additive attention over dot-product attention, time and memory."""
    fast = {point.n: point for point in select(points, "comparing", "dot-product")}
    plain = {point.n: point for point in select(points, "comparing", "dot-product, written out")}
    return [
        {
            "n": additive.n,
            "d": additive.d,
            "additive_time_over_dot_product": round(additive.seconds / fast[additive.n].seconds, 2),
            "additive_memory_over_dot_product": round(additive.bytes / fast[additive.n].bytes, 2),
            "additive_time_over_written_out": round(additive.seconds / plain[additive.n].seconds, 2),
            "additive_memory_over_written_out": round(additive.bytes / plain[additive.n].bytes, 2),
        }
        for additive in select(points, "comparing", "additive")
        if additive.n in fast and additive.n in plain
    ]


def tabulate_crossings(points: Sequence[Point]) -> list[dict[str, Any]]:
    return [
        {"d": crossing.d, "slower_than_recurrent_from_n": crossing.length and round(crossing.length), "told": str(crossing)}
        for crossing in find_crossings(points)
    ]


def tell(points: Sequence[Point]) -> list[str]:
    """What was found, in words."""
    over_n, over_d = (
        fit_time(select(points, "length", "recurrent"), "n"),
        fit_time(select(points, "dimension", "recurrent"), "d"),
    )
    fitted = [
        f"{axis} = {fit.sizes[0]:,} to {fit.sizes[1]:,}" for axis, fit in (("n", over_n), ("d", over_d)) if fit is not None
    ]
    story = [
        f"Exponents are of one sequence's time, forward and backward, over {' and '.join(fitted) or 'too few sizes'}; ± comes "
        "from the quartiles. One thread. The paper's n² d is attention alone; a layer has projections besides, another n d²."
    ]
    if crossings := find_crossings(points):
        told = ", ".join(f"at d = {crossing.d} {crossing}" for crossing in crossings)
        story.append(f"Self-attention beside the recurrent layer: {told}. The paper's table has them equal at n = d.")
    for layer in ("recurrent", "convolution"):
        grown = select(points, "length", layer)
        if longer := grow(grown):
            story.append(
                f"The same tokens in sequences of {grown[-1].n:,} instead of {grown[0].n:,}: "
                f"the {layer} layer takes {longer:.2f} times as long."
            )
    if rows := tabulate_attentions(points):
        last = rows[-1]
        times, bytes_, times_plain, bytes_plain = (
            f"{last[f'additive_{what}']:.0f}"
            for what in ("time_over_dot_product", "memory_over_dot_product", "time_over_written_out", "memory_over_written_out")
        )
        story.append(
            f"Additive attention at n = {last['n']:,}, d = {last['d']}: {times} times the time and {bytes_} times the memory "
            f"of dot-product attention; {times_plain} and {bytes_plain} times those of the formula written out."
        )
    return story


def _tell_row(row: dict[str, Any]) -> list[str]:
    def measured(name: str) -> str:
        value, error = row[f"{name}_measured"], row[f"{name}_error"]
        if value is None:
            return "–"
        return f"{value:.2f} ± {error:.2f}" if error else f"{value:.2f}"

    def paper(name: str) -> str:
        return "–" if row[f"{name}_paper"] is None else str(row[f"{name}_paper"])

    exponents = [
        paper("n"),
        measured("n"),
        paper("d"),
        measured("d"),
        measured("memory_n"),
        paper("step_n"),
        measured("step_n"),
    ]
    return [row["layer"], row["operations"], *exponents, row["sequential_operations"], row["path_length"]]


def _budget(request: Request) -> float:
    minutes = request.settings.training.max_minutes
    return BUDGET if minutes is None else 60 * minutes


def _read_points(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    try:
        known: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        wanted = {"seconds", "low", "high", "runs", "bytes"}
        if not all(value.keys() == wanted for value in known.values()):
            raise ValueError
    except (OSError, ValueError, AttributeError):
        raise DataError(f"{path} is damaged.", "Delete it to measure anew.") from None
    return known
