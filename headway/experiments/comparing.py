"""Models of an experiment beside the first of them: figures with intervals, as a table tells and a picture shows them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.evaluation.evaluation import NOTHING, Evaluation
from headway.experiments.variants import Trained
from headway.reports.figures import INK, QUIET, RULE, make_figure, open_frame, place, save_figure, write_title

COLUMNS = ["model", "parameters", "updates", "perplexity", "BLEU [95 %]", "difference [95 %]", "p"]
PAPER_COLUMNS = ["paper: ppl", "BLEU", "difference"]
UNEVEN = 1.5  # times as many updates: worth a word
CLEAR = 0.05  # a p-value below it is called a clear difference
ONE_SEED = "Each model has one seed: intervals tell of other test sentences, not of the luck of a seed (--seeds 3)."
OURS, PAPER = "#b13a18", "#1f5f99"


def gather(trained: Sequence[Trained], evaluation: Evaluation) -> list[dict[str, Any]]:
    """One dictionary a model; differences are from the first one."""
    compared = {one.system: one for one in evaluation.comparisons if one.metric == "bleu"}
    figures = []
    for one, result in zip(trained, evaluation.results, strict=True):
        paper, first = one.variant.paper, trained[0].variant.paper
        difference = compared.get(one.variant.name)
        figures.append(
            {
                "row": one.variant.row,
                "model": one.variant.name,
                "parameters": one.first.parameters,
                "updates": one.first.updates,
                "seconds": [record.seconds for record in one.records],
                "perplexity": round(one.perplexity, 3),
                "bleu": round(result.mean["bleu"], 2),
                "bleu_interval": _rounded(result.interval["bleu"]),
                "bleu_of_seeds": [round(scores.bleu.score, 2) for scores in result.scores],
                "spread": result.spread["bleu"] and round(result.spread["bleu"], 2),
                "chrf": round(result.mean["chrf"], 2),
                "difference": difference and round(difference.difference, 2),
                "difference_interval": difference and _rounded(difference.interval),
                "p": difference and difference.bootstrap_p,
                "paper_perplexity": paper.get("perplexity"),
                "paper_bleu": paper.get("bleu"),
                "paper_difference": round(paper["bleu"] - first["bleu"], 2) if paper and difference else None,
            }
        )
    return figures


def _rounded(interval: tuple[float, float] | None) -> list[float] | None:
    return interval and [round(end, 2) for end in interval]


def tabulate(figures: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows; the paper's only where it has any."""
    with_paper, with_rows = any(one["paper_bleu"] for one in figures), any(one["row"] for one in figures)
    columns = [*(["row"] if with_rows else []), *COLUMNS, *(PAPER_COLUMNS if with_paper else [])]
    return columns, [
        [*([one["row"]] if with_rows else []), *_tell(one), *(_tell_paper(one) if with_paper else [])] for one in figures
    ]


def _tell(one: dict[str, Any]) -> list[str]:
    spread = "" if one["spread"] is None else f" ± {one['spread']:.1f}"
    bleu = f"{one['bleu']:.1f}{spread}{tell_interval(one['bleu_interval'])}"
    difference = (
        "" if one["difference"] is None else f"{one['difference']:+.1f}{tell_interval(one['difference_interval'], '+')}"
    )
    p = "" if one["p"] is None else f"{one['p']:.3f}"
    return [
        one["model"],
        f"{one['parameters'] / 1e6:.1f} M",
        f"{one['updates']:,}",
        f"{one['perplexity']:.2f}",
        bleu,
        difference,
        p,
    ]


def _tell_paper(one: dict[str, Any]) -> list[str]:
    if one["paper_bleu"] is None:
        return ["", "", ""]
    difference = "" if one["paper_difference"] is None else f"{one['paper_difference']:+.1f}"
    return [f"{one['paper_perplexity']:.2f}", f"{one['paper_bleu']:.1f}", difference]


def tell_interval(interval: Sequence[float] | None, sign: str = "") -> str:
    return f" [{interval[0]:{sign}.1f}, {interval[1]:{sign}.1f}]" if interval else ""


def tell_winners(figures: Sequence[dict[str, Any]]) -> list[str]:
    """In words: which models are clearly better or worse than the first one, and which are not."""
    first, others = figures[0]["model"], [one for one in figures[1:] if one["p"] is not None]

    def names(some: list[dict[str, Any]]) -> str:
        return ", ".join(f"{one['model']} ({one['difference']:+.1f})" for one in some) or "none"

    updates = [one["updates"] for one in figures]
    uneven = (
        [
            f"The models made from {min(updates):,} to {max(updates):,} updates: "
            "some are dearer, or stopped early, or had a busier machine."
        ]
        if max(updates) > UNEVEN * min(updates)
        else []
    )
    if max(one["bleu"] for one in figures) < NOTHING:
        return [*uneven, "No model has learned to translate yet, so that differences mean nothing: give a larger budget."]
    if not others:
        few = "There are too few test sentences, or too few that differ, to tell chance from a difference."
        return uneven if len(figures) < 2 else [*uneven, few]
    clear = _find_clear(others)
    better, worse = ([one for one in clear if (one["difference"] > 0) is wanted] for wanted in (True, False))
    corrected = f", Holm's correction for {len(others)} comparisons" if len(others) > 1 else ""
    return [
        *uneven,
        f"Clearly better than {first} (p < {CLEAR}, paired bootstrap{corrected}): "
        f"{names(better)}. Clearly worse: {names(worse)}. "
        f"No clear difference: {names([one for one in others if one not in clear])}.",
        *([ONE_SEED] if all(len(one["bleu_of_seeds"]) == 1 for one in figures) else []),
    ]


def _find_clear(figures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those whose p-value is small even though there are so many of them (Holm, 1979)."""
    clear: list[dict[str, Any]] = []
    for done, one in enumerate(sorted(figures, key=lambda one: one["p"])):
        if one["p"] * (len(figures) - done) >= CLEAR:
            break
        clear.append(one)
    return [one for one in figures if one in clear]


def draw_differences(figures: Sequence[dict[str, Any]], stem: Path, title: str, story: str) -> list[Path]:
    """A line a model: its difference from the first one with its interval, and beside it the paper's."""
    others = [one for one in figures[1:] if one["difference"] is not None]
    if not others:
        return []
    with_paper = any(one["paper_difference"] is not None for one in others)
    figure = make_figure(7.6, 0.3 * len(others) + 0.6)
    panel = place(figure, 1.9, 0.1, 5.5, 0.3 * len(others))
    for at, one in enumerate(others):
        low, high = one["difference_interval"] or (one["difference"], one["difference"])
        panel.plot([low, high], [at, at], color=OURS, linewidth=1.6, alpha=0.55, solid_capstyle="round", zorder=2)
        panel.plot([one["difference"]], [at], "o", color=OURS, markersize=6, label="here" if at == 0 else None, zorder=3)
        if one["paper_difference"] is not None:
            label = "in the paper" if not any(before["paper_difference"] is not None for before in others[:at]) else None
            panel.plot(
                [one["paper_difference"]], [at], "D", color=PAPER, markersize=5, markerfacecolor="white", label=label, zorder=4
            )
        if at and one["row"] != others[at - 1]["row"]:
            panel.axhline(at - 0.5, color=RULE, linewidth=0.8)
    panel.axvline(0, color=INK, linewidth=1)
    names = [f"{one['row']}   {one['model']}" if one["row"] else one["model"] for one in others]
    panel.set_yticks(range(len(others)), names)
    panel.set_ylim(len(others) - 0.5, -0.5)
    panel.set_xlabel(
        f"BLEU above or below {figures[0]['model']} ({figures[0]['bleu']:.1f} here{_tell_base(figures[0])})", fontsize=9
    )
    open_frame(panel, "x")
    panel.spines["left"].set_visible(False)
    panel.tick_params(axis="y", labelcolor=INK)
    if with_paper:
        panel.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=8.5, labelcolor=QUIET)
    write_title(figure, title, story)
    return save_figure(figure, stem)


def _tell_base(first: dict[str, Any]) -> str:
    return f", {first['paper_bleu']:.1f} in the paper" if first["paper_bleu"] else ""
