"""The pictures of docs/paper.md, docs/family.md and of the README, each from Headway's own functions:

    python docs/pictures/draw.py                      # all of them; some minutes, for `warmup` trains four small models
    python docs/pictures/draw.py schedule softmax     # only these

`attention` and `page` show what `make demo` leaves in runs/demo, and are passed over where there is none.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from headway.reports.figures import INK, QUIET, RULE, make_figure, place, quieten, save_figure, write_title

HERE = Path(__file__).parent
DEMO, SENTENCE = HERE.parent.parent / "runs" / "demo" / "best", "The woman is buying a cake today."
BLUE, RED, PALE = "#1f5f94", "#b4401f", "#6fa3c4"


def draw_positions() -> None:
    """Section 3.5: the table, and the dot products of its rows; what `headway inspect` draws for any model."""
    from headway.nn.positions import sinusoids
    from headway.reports.inside.positions import draw_products, draw_table

    table = sinusoids(torch.arange(128), 128).numpy()
    _keep_png(draw_table(table, HERE / "positions"))
    _keep_png(draw_products(table, HERE / "distances"))


def draw_softmax() -> None:
    """Section 3.2.1: the largest of ten weights, and the gradient that comes back to the scores, with the scale and without."""
    from headway.nn.attention import attention

    widths = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    figure = make_figure(8.6, 3.1)
    panels = [place(figure, 0, 0, 3.9, 3.1), place(figure, 4.7, 0, 3.9, 3.1)]
    for scale, colour, name in ((None, BLUE, "divided by sqrt(d_k)"), (1.0, RED, "not divided")):
        largest, gradients = [], []
        for d_k in widths:
            torch.manual_seed(0)
            query, key, value = (torch.randn(1, 1, n, d_k) for n in (4000, 10, 10))
            scores = torch.zeros(1, 1, 4000, 10, requires_grad=True)  # added to them, so its gradient is theirs
            _, weights = attention(query, key, value, bias=scores, scale=scale)
            (gradient,) = torch.autograd.grad(weights.amax(dim=-1).sum(), scores)
            largest.append(weights.amax(dim=-1).median().item())
            gradients.append(gradient.abs().sum(dim=-1).median().item())
        for panel, values in zip(panels, (largest, gradients), strict=True):
            panel.plot(widths, values, color=colour, linewidth=1.8, marker="o", markersize=3.5, label=name)
    for panel, title in zip(panels, ("largest of ten weights", "gradient of that weight to the scores"), strict=True):
        panel.set_xscale("log", base=2)
        panel.set_xticks([1, 8, 64, 512], ["1", "8", "64", "512"])
        panel.set_xlabel("d_k")
        panel.set_title(title, loc="left", fontsize=10, color=INK)
        panel.set_ylim(0, 1.04 if panel is panels[0] else 0.55)
        _tidy(panel)
    panels[0].legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0, 0.88))
    story = "Median over 4,000 random queries, 10 random keys."
    write_title(figure, "What the scale keeps: a softmax that can still learn", story)
    _keep_png(save_figure(figure, HERE / "softmax"))


def draw_schedule() -> None:
    """Section 5.3, equation 3."""
    from headway.training.optimizer import paper

    steps = np.arange(1, 40_001, 25)
    figure = make_figure(8.6, 3.1)
    panel = place(figure, 0, 0, 8.6, 3.1)
    for d_model, warmup, colour, at in ((512, 4000, BLUE, 4000), (512, 8000, PALE, 8000), (1024, 4000, RED, 24_000)):
        rates = [paper(int(step), d_model=d_model, warmup=warmup) * 1e4 for step in steps]
        panel.plot(steps, rates, color=colour, linewidth=1.8)
        text, above = f"d_model {d_model:,}, warm-up {warmup:,}", at == warmup
        where = (at, paper(at, d_model=d_model, warmup=warmup) * 1e4)
        offset = (8, 4) if above else (0, -22)
        panel.annotate(text, where, offset, textcoords="offset points", color=colour, fontsize=9)
    panel.set(xlabel="update", ylabel="learning rate, in 1/10,000", xlim=(0, 40_000), ylim=(0, 8))
    panel.xaxis.set_major_formatter("{x:,.0f}")
    _tidy(panel)
    write_title(
        figure, "Equation 3: up in a line, down with the root of the step", "The first 40,000 of base's 100,000 updates."
    )
    _keep_png(save_figure(figure, HERE / "schedule"))


def draw_warmup() -> None:
    """Section 5.3: the same small model on the same batches, with warm-up and without, post-norm and pre-norm."""
    figure = make_figure(8.6, 3.1)
    panels = [place(figure, 0, 0, 4.1, 3.1), place(figure, 4.5, 0, 4.1, 3.1)]
    for panel, norm in zip(panels, ("post", "pre"), strict=True):
        for warmup, colour, name in ((0, RED, "none"), (200, BLUE, "200 updates")):
            losses = np.array(list(train_small(norm, warmup)))
            panel.plot(losses, color=colour, alpha=0.25, linewidth=0.7)
            smooth = np.convolve(losses, np.ones(25) / 25, "valid")
            panel.plot(np.arange(len(smooth)) + 12, smooth, color=colour, linewidth=1.8, label=name)
            print(f"warmup: {norm}-norm, warm-up {warmup}: mean loss of the last 50 updates {losses[-50:].mean():.2f}")
        panel.set(xlabel="update", ylim=(0, 3.3), xlim=(0, len(losses)))
        panel.set_title(f"{norm}-norm", loc="left", fontsize=10, color=INK)
        _tidy(panel)
    panels[0].set_ylabel("loss per token")
    panels[1].set_yticklabels([])
    panels[1].legend(frameon=False, fontsize=9, title="warm-up", loc="upper right")
    story = (
        "6 + 6 layers of width 64 learn to write 8 random symbols backwards; Adam, peak rate 0.002. Guessing costs ln 20 = 3.0."
    )
    write_title(figure, "What the warm-up is for", story)
    _keep_png(save_figure(figure, HERE / "warmup"))


def train_small(norm: str, warmup: int, *, updates: int = 600, peak: float = 0.002, seed: int = 1) -> Iterator[float]:
    """The loss of each update. After update 200 the rate falls with the root of the step, warmed up or not."""
    from headway.config import ModelSettings
    from headway.models.build import build
    from headway.models.presets import build_architecture
    from headway.training.loss import fused_loss
    from headway.training.optimizer import build_adam, inverse_sqrt

    torch.manual_seed(seed)
    settings = ModelSettings(n_layers=6, d_model=64, d_ff=128, n_heads=4, dropout=0.0, norm=norm)
    model = build(build_architecture(settings, source_vocab=24, target_vocab=24, shared=True), seed=seed)
    adam = build_adam(model.parameters())
    for update in range(1, updates + 1):
        source = torch.randint(4, 24, (32, 8))
        target = source.flip(1)
        x, _ = model.decode(torch.cat([torch.ones_like(target[:, :1]), target[:, :-1]], dim=1), model.start(source))
        loss = fused_loss(x.flatten(0, 1), model.output.weight, target.flatten(), 0.0) / target.numel()
        adam.zero_grad()
        loss.backward()
        adam.param_groups[0]["lr"] = inverse_sqrt(update if warmup else max(update, 200), peak=peak, warmup=200)
        adam.step()
        yield loss.item()


@dataclass(frozen=True)
class Part:
    """A box of a tower. `new` is what figure 1 does not have there: a note in the box, or, with no name, all of it."""

    kind: Literal["embedding", "attention", "feed-forward", "norm", "output"]
    name: str = ""
    new: str = ""
    gone: bool = False


@dataclass(frozen=True)
class Tower:
    reads: str
    below: Sequence[Part]  # under the stack of layers, from the bottom up
    layer: Sequence[Part]
    above: Sequence[Part]
    gives: str = ""


FILLS = {"embedding": "#f4dfe0", "attention": "#f9e3c5", "feed-forward": "#cfe6f2", "norm": "#eef0c9", "output": "#d8ead4"}
EDGES = {"embedding": "#c98f93", "attention": "#d19a4a", "feed-forward": "#6fa3c4", "norm": "#b3b86a", "output": "#7fb277"}
HEIGHTS = {"norm": 0.2}  # inches; of others 0.34, and more with a note
TOWER, ASIDE, ARROW = 1.38, 0.2, 0.16  # inches: width, room between two towers of a model, room for an arrow


def draw_family() -> None:
    """Figure 1 between its relatives, built of the same boxes: in colour what stays, in red what is new."""
    models = _list_family()
    apart = 0.42
    width = sum(len(towers) * TOWER + (len(towers) - 1) * ASIDE for _, _, towers in models) + apart * (len(models) - 1)
    height = 5.2
    figure = make_figure(width, height)
    panel = place(figure, 0, 0, width, height)
    panel.set(xlim=(0, width), ylim=(0, height))
    panel.axis("off")
    left = 0.0
    for name, what, towers in models:
        wide = len(towers) * TOWER + (len(towers) - 1) * ASIDE
        if name == "Figure 1":
            _box(panel, left - 0.2, -0.32, wide + 0.4, height + 0.3, "#f6f7f8", RULE)
        panel.text(left + wide / 2, height - 0.26, name, ha="center", fontsize=12, fontweight="bold", color=INK)
        panel.text(left + wide / 2, height - 0.46, what, ha="center", fontsize=8, color=QUIET)
        tops = [_draw_tower(panel, tower, left + n * (TOWER + ASIDE)) for n, tower in enumerate(towers)]
        if len(towers) == 2:
            _draw_memory(panel, left, tops[0][0], tops[1][1])
        left += wide + apart
    story = (
        "In colour: figure 1's own. Red is new: a box, or a change in it. Dashed is left out. What is framed stands N times."
    )
    write_title(figure, "One set of blocks, five models", story, gap=0.2)
    _keep_png(save_figure(figure, HERE / "family"), svg=True)


def _list_family() -> list[tuple[str, str, list[Tower]]]:
    """Name, what it keeps of figure 1, its towers."""
    embedding, norm = Part("embedding", "embedding"), Part("norm", "norm")
    first = Part("norm", new="norm, before")  # pre-norm
    sines, learned = Part("embedding", "sines and cosines"), Part("embedding", new="learned positions")
    look, cross = Part("attention", "self-attention"), Part("attention", "cross-attention")
    masked = Part("attention", "masked\nself-attention")
    relu, gelu = Part("feed-forward", "feed-forward"), Part("feed-forward", "feed-forward", "GELU")
    output, last = Part("output", "output"), Part("norm", new="norm")
    size = Part("norm", new="RMS norm, before")
    distances, gate = "+ distances", "1.1: gated GELU"
    return [
        (
            "ViT",
            "encoder",
            [
                Tower(
                    "a picture",
                    [Part("embedding", new="patches"), learned],
                    [first, look, first, gelu],
                    [last, output],
                    "class",
                )
            ],
        ),
        (
            "BERT",
            "encoder",
            [
                Tower(
                    "text with gaps",
                    [embedding, learned, Part("embedding", new="segments"), last],
                    [look, norm, gelu, norm],
                    [Part("output", new="head"), output],
                    "what is hidden,\nor a class",
                )
            ],
        ),
        (
            "Figure 1",
            "encoder and decoder",
            [
                Tower("source", [embedding, sines], [look, norm, relu, norm], []),
                Tower("target so far", [embedding, sines], [masked, norm, cross, norm, relu, norm], [output], "next piece"),
            ],
        ),
        (
            "GPT",
            "decoder",
            [
                Tower(
                    "text so far",
                    [embedding, learned],
                    [first, masked, Part("attention", "cross-attention", gone=True), first, gelu],
                    [last, output],
                    "next piece",
                )
            ],
        ),
        (
            "T5",
            "encoder and decoder",
            [
                Tower(
                    "text, or task: text",
                    [embedding],
                    [size, Part("attention", "self-attention", distances), size, Part("feed-forward", "feed-forward", gate)],
                    [Part("norm", new="RMS norm")],
                ),
                Tower(
                    "answer so far",
                    [embedding],
                    [
                        size,
                        Part("attention", "masked\nself-attention", distances),
                        size,
                        cross,
                        size,
                        Part("feed-forward", "feed-forward", gate),
                    ],
                    [Part("norm", new="RMS norm"), output],
                    "next piece",
                ),
            ],
        ),
    ]


def _draw_tower(panel: Any, tower: Tower, left: float) -> tuple[float, float]:
    """From the bottom up. Hands back where it ends and where its cross-attention stands, if it has one."""
    middle, at, asked = left + TOWER / 2, 0.0, 0.0
    panel.text(middle, at - 0.04, tower.reads, ha="center", va="top", fontsize=8, color=QUIET)
    for stage in (tower.below, tower.layer, tower.above):
        if not stage:
            continue
        _arrow(panel, (middle, at), (middle, at + ARROW))
        at += ARROW
        if stage is tower.layer:
            inside = sum(_height(part) + 0.06 for part in stage) + 0.06
            _box(panel, left, at, TOWER, inside, "#ffffff", "#9aa4ad")
            at += 0.06
        for part in stage:
            high = _height(part)
            _draw_part(panel, part, left + 0.07, at, TOWER - 0.14, high)
            if part.name == "cross-attention":
                asked = at + high / 2
            at += high + (0.06 if stage is tower.layer else 0.04)
        at -= 0.0 if stage is tower.layer else 0.04
    if tower.gives:
        _arrow(panel, (middle, at), (middle, at + ARROW))
        panel.text(middle, at + ARROW + 0.03, tower.gives, ha="center", va="bottom", fontsize=8, color=QUIET)
    return at, asked


def _height(part: Part) -> float:
    rows = part.name.count("\n") + bool(part.name and part.new)
    return HEIGHTS.get(part.kind, 0.34 if not rows else 0.28 + 0.15 * rows)


def _draw_part(panel: Any, part: Part, left: float, bottom: float, width: float, height: float) -> None:
    middle, centre = left + width / 2, bottom + height / 2
    small = 7.5 if part.kind == "norm" else 8.0
    common = {"ha": "center", "va": "center", "fontsize": small, "linespacing": 1.0}
    if part.gone:
        _box(panel, left, bottom, width, height, "none", QUIET, linestyle=(0, (3, 2)))
        panel.text(middle, centre, part.name, color=QUIET, **common)
    elif not part.name:
        _box(panel, left, bottom, width, height, "#fdf1ed", RED, linewidth=1.4)
        panel.text(middle, centre, part.new, color=RED, fontweight="bold", **common)
    else:
        _box(panel, left, bottom, width, height, FILLS[part.kind], EDGES[part.kind])
        lower = 0.075 * (part.name.count("\n") + 1) if part.new else 0.0
        panel.text(middle, centre + (0.075 if part.new else 0.0), part.name, color=INK, **common)
        if part.new:
            panel.text(middle, centre - lower, part.new, color=RED, fontweight="bold", **common)


def _draw_memory(panel: Any, left: float, top: float, asked: float) -> None:
    """What the encoder gives to the decoder: over its top, and down to the cross-attention."""
    between = left + TOWER + ASIDE / 2
    panel.plot(
        [left + TOWER / 2, left + TOWER / 2, between, between], [top, top + 0.14, top + 0.14, asked], color=QUIET, linewidth=1.1
    )
    _arrow(panel, (between, asked), (left + TOWER + ASIDE + 0.07, asked))


def _box(panel: Any, left: float, bottom: float, width: float, height: float, fill: str, edge: str, **line: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    shape = "round,pad=0,rounding_size=0.05"
    style = {"linewidth": 0.9, **line}
    panel.add_patch(
        FancyBboxPatch((left, bottom), width, height, boxstyle=shape, facecolor=fill, edgecolor=edge, clip_on=False, **style)
    )


def _arrow(panel: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": QUIET, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8}
    panel.annotate("", end, start, arrowprops=style, annotation_clip=False)


def draw_attention() -> None:
    """Section 3.2.3: self-attention of the first layer and cross-attention of the last, as `headway inspect` draws them."""
    if not DEMO.exists():
        print(f"attention: there is no {DEMO}; `make demo` makes it.")
        return
    from headway import load
    from headway.reports.inside.attention import draw_layer, make_views

    views = {view.name: view for view in make_views(load(DEMO).inspect(SENTENCE))}
    _keep_png(draw_layer(views["encoder"], 1, HERE / "attention-encoder"))
    _keep_png(draw_layer(views["cross"], len(views["cross"].weights), HERE / "attention-cross"))


def draw_page() -> None:
    """The README's picture: the upper part of the page that `make demo` leaves, in Debian's Chromium."""
    page = DEMO.parent / "inside" / "inside.html"
    if not page.exists():
        print(f"page: there is no {page}; `make demo` makes it.")
        return
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        tab = browser.new_page(viewport={"width": 1280, "height": 1400})
        tab.goto(page.as_uri())
        tab.screenshot(path=HERE / "inside.png")
        browser.close()
    _keep_png([HERE / "inside.png"])


def _tidy(panel: Any) -> None:
    quieten(panel)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(RULE)
    panel.grid(axis="y", color=RULE, linewidth=0.6)
    panel.set_axisbelow(True)


def _keep_png(written: list[Path], *, svg: bool = False) -> None:
    """The PNG of the two, in 256 colours: a third of the bytes, and nothing that the eye would miss. The SVG if asked for."""
    from PIL import Image  # comes with matplotlib

    for path in written:
        if path.suffix == ".png":
            Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)
            print(f"{path.relative_to(HERE.parent.parent)}  {path.stat().st_size / 1000:.0f} kB")
        elif not svg:
            path.unlink()


PICTURES: dict[str, Callable[[], None]] = {
    "positions": draw_positions,
    "softmax": draw_softmax,
    "schedule": draw_schedule,
    "warmup": draw_warmup,
    "family": draw_family,
    "attention": draw_attention,
    "page": draw_page,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
