"""Every single picture of a glass box, by name, each to be drawn when it is asked for."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from headway.architectures import AnyArchitecture, GptArchitecture, T5Architecture, TwoStacks, VitArchitecture
from headway.family.reading import PictureReading
from headway.glass.parts import Glass, Input, Stack
from headway.reports.glass.alignment import draw_alignment
from headway.reports.glass.beam import draw_beam
from headway.reports.glass.distribution import draw_distributions
from headway.reports.glass.maps import NAMES
from headway.reports.glass.panels import Panel, draw_panels
from headway.reports.inside.attention import View, draw_layer
from headway.reports.inside.picture_attention import draw_heads, draw_rollout

Draw = Callable[[Path], list[Path]]


def list_pictures(glass: Glass) -> dict[str, Draw]:
    """In the order of the page."""
    found: dict[str, Draw] = {}
    for given in glass.inputs:
        found[f"embedding-{given.name}"] = partial(_draw_input, given)
    for stack in glass.stacks:
        found |= _of_stack(stack, glass)
    if glass.picture:
        reading = PictureReading(glass.picture.pixels, glass.answer, glass.picture.looks, glass.picture.rollout)
        for layer in range(1, len(reading.looks) + 1):
            found[f"heads-{layer}"] = partial(draw_heads, reading, layer, glass.sentence)
        found["rollout"] = partial(draw_rollout, reading, glass.sentence)
    if glass.alignment:
        written = [one.written or "" for one in glass.predictions.each]
        found["alignment"] = partial(
            draw_alignment, glass.inputs[0].labels, written, glass.alignment.weights, glass.alignment.layer
        )
    if glass.predictions.each:
        found["distribution"] = partial(draw_distributions, glass.predictions)
    if glass.beam:
        found["beam"] = partial(draw_beam, glass.beam)
    return found


def foresee_pictures(architecture: AnyArchitecture, *, searched: bool) -> list[str]:
    """Their names, before anything is computed. A few may turn out not to be there: the beam's, where it is one wide."""
    a = architecture
    two, distances, sees = isinstance(a, TwoStacks), isinstance(a, T5Architecture), isinstance(a, VitArchitecture)
    stacks = {"decoder" if isinstance(a, GptArchitecture) else "encoder": a.n_layers}
    if isinstance(a, TwoStacks):
        stacks["decoder"] = a.n_decoder_layers
    found = [f"embedding-{name}" for name in (("source", "target") if two else ("picture",) if sees else ("text",))]
    for name, n in stacks.items():
        kinds = [] if sees else [name]
        kinds += ["cross"] if two and name == "decoder" else []
        found += [f"bias-{name}"] if distances else []
        found += [f"{kind}-{layer}" for kind in [*kinds, f"units-{name}"] for layer in range(1, n + 1)]
        found.append(f"changes-{name}")
    if sees:
        found += [*(f"heads-{layer}" for layer in range(1, a.n_layers + 1)), "rollout"]
    return [*found, *(["alignment"] if two else []), "distribution", *(["beam"] if two and searched else [])]


def _of_stack(stack: Stack, glass: Glass) -> dict[str, Draw]:
    found: dict[str, Draw] = {}
    writes = len(glass.stacks) == 2 and stack.name == "decoder"
    asking = [one.written or "" for one in glass.predictions.each] if writes else stack.labels
    if stack.bias is not None:
        found[f"bias-{stack.name}"] = partial(_draw_bias, stack)
    views = []
    if glass.picture is None:
        title = f"{stack.name.capitalize()} self-attention"
        story = "Each row is a piece that asks, each column one that is asked; a row's weights sum to one."
        views.append(View(stack.name, title, story, list(asking), stack.labels, stack.attention))
    if stack.cross is not None:
        story = "To write its next piece (row), the decoder looks at the pieces of the source (columns)."
        views.append(View("cross", "Cross-attention", story, list(asking), glass.inputs[0].labels, stack.cross))
    for view in views:
        for layer in range(1, len(view.weights) + 1):
            found[f"{view.name}-{layer}"] = partial(draw_layer, view, layer)
    for layer in range(1, len(stack.layers) + 1):
        found[f"units-{stack.name}-{layer}"] = partial(_draw_units, stack, layer)
    found[f"changes-{stack.name}"] = partial(_draw_changes, stack)
    return found


def _draw_input(given: Input, stem: Path) -> list[Path]:
    parts = [(term.name, term.values) for term in given.terms]
    largest = max(float(np.abs(values).max()) for _, values in [*parts, ("", given.total)])
    names = [f"{'+ ' if at else ''}{name}" for at, (name, _) in enumerate(parts)]
    parts = [*zip(names, (values for _, values in parts), strict=True), ("= what the first layer reads", given.total)]
    panels = [
        Panel(name, values, given.labels, "dimension" if at == len(parts) - 1 else "", -largest, largest)
        for at, (name, values) in enumerate(parts if len(parts) > 2 else parts[:1])
    ]
    return draw_panels(panels, f"The {given.name} as vectors", "A row is a piece, a column a dimension.", stem)


def _draw_units(stack: Stack, layer: int, stem: Path) -> list[Path]:
    units = stack.layers[layer - 1].units
    largest = float(np.abs(units.values).max()) or 1.0
    beside: Sequence[str] = [f"{n:,}" for n in units.active.tolist()]
    panel = Panel("after the activation", units.values, stack.labels, "unit", -largest, largest, beside=beside)
    title = f"The feed-forward network of {stack.name} layer {layer}"
    return draw_panels([panel], title, "Its inner numbers for each piece; at the right, how many are above zero.", stem)


def _draw_changes(stack: Stack, stem: Path) -> list[Path]:
    rows = [f"layer {at}, {NAMES[name]}" for at, layer in enumerate(stack.layers, 1) for name in layer.changes]
    changes = [change for layer in stack.layers for change in layer.changes.values()]
    update, cosine = np.stack([one.update for one in changes]), np.stack([one.cosine for one in changes])
    panels = [
        Panel("length of the update, as a share of the vector's", update, rows, stack.labels, 0, update.max(), stack.name),
        Panel("cosine between before and after", cosine, rows, stack.labels, min(0.99, cosine.min()), 1, stack.name),
    ]
    return draw_panels(panels, f"What each sublayer of the {stack.name} changes", "A column is a piece.", stem)


def _draw_bias(stack: Stack, stem: Path) -> list[Path]:
    assert stack.bias is not None
    length = stack.bias.shape[-1]
    ahead = range(1 - length, 1 if stack.forwards else length)
    values = np.stack([[head.diagonal(by)[0] for by in ahead] for head in stack.bias])
    largest = float(np.abs(values).max()) or 1.0
    names = [f"{by:+d}" if by else "0" for by in ahead]
    panel = Panel("added to the scores", values, [f"head {n}" for n in range(1, len(values) + 1)], names, -largest, largest)
    return draw_panels([panel], f"What the {stack.name} knows of distances", "A column is a distance in pieces.", stem)
