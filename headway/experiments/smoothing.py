"""Section 5.4: label smoothing hurts perplexity, as the model learns to be more unsure, but improves BLEU."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.experiments.comparing import OURS, PAPER, gather, tabulate, tell_winners
from headway.experiments.experiment import Findings, Request
from headway.experiments.variants import Variant, choose_rows, compare, promise_training, train_variants
from headway.progress import Display
from headway.reports.figures import INK, make_figure, open_frame, place, save_figure, write_title

CLAIM = "Section 5.4: label smoothing hurts perplexity, as the model learns to be more unsure, but improves BLEU."
TAKES = ("train", "rows", "seeds")
PAPER_FIGURES = {0.0: (4.67, 25.3), 0.1: (4.92, 25.8), 0.2: (5.47, 25.7)}  # perplexity, BLEU: table 3, base and row D
VARIANTS = [
    Variant(f"smoothing {value:g}", {("training", "label_smoothing"): value}, paper={"perplexity": perplexity, "bleu": bleu})
    for value, (perplexity, bleu) in PAPER_FIGURES.items()
]


def check(request: Request) -> None:
    choose_rows(request, VARIANTS)


def promise(request: Request, display: Display) -> float:
    return promise_training(request, choose_rows(request, VARIANTS), display)


def run(request: Request, display: Display) -> Findings:
    trained = train_variants(request, choose_rows(request, VARIANTS), display)
    figures = gather(trained, compare(trained, display))
    return Findings(*tabulate(figures), figures, tell_winners(figures), _draw(figures, request.out / "smoothing"))


def _draw(figures: Sequence[dict[str, Any]], stem: Path) -> list[Path]:
    """Both trades side by side: from left to right more unsure, from bottom to top better."""
    figure = make_figure(8.4, 3.2)
    for left, where, keys, colour in (
        (0.6, "here", ("perplexity", "bleu"), OURS),
        (5.0, "in the paper", ("paper_perplexity", "paper_bleu"), PAPER),
    ):
        panel = place(figure, left, 0.35, 3.4, 2.4)
        xs, ys = ([one[key] for one in figures] for key in keys)
        panel.plot(xs, ys, color=colour, linewidth=1.2, alpha=0.4)
        panel.plot(xs, ys, "o", color=colour, markersize=6)
        for x, y, one in zip(xs, ys, figures, strict=True):
            if where == "here" and one["bleu_interval"]:
                panel.plot([x, x], one["bleu_interval"], color=colour, linewidth=1.4, alpha=0.5, solid_capstyle="round")
            label = one["model"].removeprefix("smoothing ")
            panel.annotate(label, (x, y), xytext=(7, 5), textcoords="offset points", fontsize=9, color=INK)
        panel.margins(0.22)
        panel.set_title(where, loc="left", fontsize=10, color=colour, fontweight="bold")
        panel.set_xlabel("validation perplexity, a piece", fontsize=9)
        panel.set_ylabel("BLEU", fontsize=9)
        open_frame(panel, "both")
    write_title(
        figure,
        "Label smoothing: perplexity for BLEU",
        "Each point a model; its number is the share of probability that is spread.",
    )
    return save_figure(figure, stem)
