"""The glass box as maps of colour: what its page draws, thinned where it would be too much to send.

All maps of a page are alike: rows and columns with names, a scale of colours, and numbers between a lowest and a highest.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.glass.parts import Glass, Input, Stack
from headway.reports.inside.attention import GAMMA
from headway.reports.numbers import pack

MOST_VALUES = 30_000  # of one map of vectors
MOST_WEIGHTS = 300_000  # of all attentions together
MOST_UNITS = 200_000  # of all feed-forward networks together

NAMES = {"attention": "attention", "cross_attention": "cross-attention", "feed_forward": "feed-forward"}


@dataclass
class Maps:
    """By name; lists of names that stand on several maps are kept once."""

    maps: dict[str, dict[str, Any]]
    labels: dict[str, list[str]]
    notes: dict[str, str]  # what was left out, by where it belongs


@dataclass(frozen=True)
class Shown:
    """Which layers' attention a page has room for, and whether that is every head or their mean."""

    layers: list[int]
    heads: bool


def make_maps(glass: Glass) -> Maps:
    made = Maps({}, {}, {})
    for given in glass.inputs:
        _add_input(made, given)
    steps = glass.predictions.each
    if len(glass.stacks) == 2:
        made.labels["written"] = [step.written or "" for step in steps]
    each = MOST_WEIGHTS // sum(1 if stack.cross is None else 2 for stack in glass.stacks)
    for stack in glass.stacks:
        _add_stack(made, stack, each, MOST_UNITS // len(glass.stacks), glass)
    if glass.alignment:
        made.maps["alignment"] = _weigh(glass.alignment.weights, "cross", "written", "source")
    return made


def choose_layers(n: int, heads: int, size: int, most: int) -> Shown:
    """Of n layers with so many heads, and maps of so many weights: all, or some spread over the stack, or means of heads."""
    fits = most // (heads * size)
    if fits >= n:
        return Shown(list(range(n)), heads=True)
    single = fits == 0
    fits = min(n, max(1, most // size if single else fits))
    return Shown(sorted({round(at) for at in np.linspace(0 if fits > 1 else n - 1, n - 1, fits)}), heads=not single)


def thin(values: np.ndarray, most: int) -> tuple[np.ndarray, int]:
    """Every n-th column, so that no more than so many numbers are left, and that n."""
    step = -(-values.size // most)
    return values[:, ::step], step


def _add_input(made: Maps, given: Input) -> None:
    made.labels[given.name] = given.labels
    largest = max(float(np.abs(part).max()) for part in [given.total, *(term.values for term in given.terms)])
    for name, values in [*((term.name, term.values) for term in given.terms), ("sum", given.total)]:
        some, step = thin(values, MOST_VALUES)
        made.maps[f"{given.name}-{name}"] = _sign(some, largest, given.name, "dimension", step)
    if step > 1:
        made.notes[given.name] = f"Of {given.total.shape[1]:,} dimensions every {_ordinal(step)} is shown."


def _add_stack(made: Maps, stack: Stack, most_weights: int, most_units: int, glass: Glass) -> None:
    kind = stack.name
    reads = glass.inputs[-1 if stack is glass.stacks[-1] else 0].name
    asking = "written" if len(glass.stacks) == 2 and kind == "decoder" else reads
    if glass.picture is None:
        _add_attention(made, kind, stack.attention, kind, asking, reads, most_weights)
    if stack.cross is not None:
        _add_attention(made, "cross", stack.cross, "cross", asking, "source", most_weights)
    rows = [f"layer {at}, {NAMES[name]}" for at, layer in enumerate(stack.layers, 1) for name in layer.changes]
    made.labels[f"{kind}-sublayers"] = rows
    for name in ("update", "cosine"):
        values = np.stack([getattr(change, name) for layer in stack.layers for change in layer.changes.values()])
        high = float(max(values.max(), 1e-9)) if name == "update" else 1.0
        low = 0.0 if name == "update" else min(0.99, float(values.min()))
        made.maps[f"{kind}-{name}"] = _map(values, kind, f"{kind}-sublayers", reads, low=low, high=high)
    for number, layer in enumerate(stack.layers, 1):
        values = layer.units.values
        some, step = thin(values, most_units // len(stack.layers))
        found = _sign(some, float(np.abs(values).max()) or 1.0, reads, "unit", step)
        made.maps[f"{kind}-units-{number}"] = found | {"beside": [f"{n:,}" for n in layer.units.active.tolist()]}
        if step > 1:
            made.notes[f"{kind}-units"] = f"Of {values.shape[1]:,} units every {_ordinal(step)} is shown; all are counted."
    if stack.bias is not None:
        _add_bias(made, kind, stack)


def _add_attention(made: Maps, name: str, weights: np.ndarray, scale: str, asking: str, asked: str, most: int) -> None:
    n, heads, rows, columns = weights.shape
    shown = choose_layers(n, heads, rows * columns, most)
    for layer in shown.layers:
        if shown.heads:
            for head in range(heads):
                made.maps[f"{name}-{layer + 1}-{head + 1}"] = _weigh(weights[layer, head], scale, asking, asked)
        else:
            made.maps[f"{name}-{layer + 1}-mean"] = _weigh(weights[layer].mean(axis=0), scale, asking, asked)
    if len(shown.layers) < n or not shown.heads:
        what = "" if shown.heads else "the mean of the heads of "
        numbers = ", ".join(str(layer + 1) for layer in shown.layers)
        some = f"layer{'s' if len(shown.layers) > 1 else ''} {numbers}"
        made.notes[name] = f"The page has room for {what}{some}; --picture {name}-1 and so on have every layer and head."


def _add_bias(made: Maps, kind: str, stack: Stack) -> None:
    """What is added depends on the distance alone: one row a head."""
    assert stack.bias is not None
    length = stack.bias.shape[-1]
    ahead = range(1 - length, 1 if stack.forwards else length)
    rows = np.stack([[head.diagonal(by)[0] for by in ahead] for head in stack.bias])
    made.labels[f"{kind}-heads"] = [f"head {n}" for n in range(1, len(rows) + 1)]
    made.labels[f"{kind}-distances"] = ["itself" if not by else f"{abs(by)} {'after' if by > 0 else 'before'}" for by in ahead]
    largest = float(np.abs(rows).max()) or 1.0
    made.maps[f"{kind}-bias"] = _sign(rows, largest, f"{kind}-heads", f"{kind}-distances", 1)


def _weigh(weights: np.ndarray, scale: str, rows: str, columns: str) -> dict[str, Any]:
    return _map(weights, scale, rows, columns, low=0.0, high=1.0) | {"gamma": GAMMA}


def _sign(values: np.ndarray, largest: float, rows: str, columns: str, step: int) -> dict[str, Any]:
    """On the scale with two sides; `columns` names a list, or what its columns are, of which every `step`-th is there."""
    return _map(values, "signed", rows, columns, low=-largest, high=largest) | {"step": step}


def _map(values: np.ndarray, scale: str, rows: str, columns: str, *, low: float, high: float) -> dict[str, Any]:
    return {
        "scale": scale,
        "gamma": 1.0,
        "step": 1,
        "rows": rows,
        "columns": columns,
        "shape": values.shape,
        "low": low,
        "high": high,
        "values": pack((values - low) / (high - low), "<u2"),
    }


def _ordinal(n: int) -> str:
    return {2: "second", 3: "third"}.get(n, f"{n}th")
