"""Table 3, rows A to E, scaled to the model, the corpus and the budget at hand."""

from dataclasses import replace
from typing import Any

from headway.architectures import Architecture
from headway.config import Settings
from headway.experiments.comparing import draw_differences, gather, tabulate, tell_winners
from headway.experiments.experiment import Findings, Request
from headway.experiments.variants import Variant, choose_rows, compare, promise_training, train_variants, vary
from headway.models.presets import build_architecture
from headway.progress import Display

CLAIM = "Table 3: what each part of the model is good for, one change at a time."
TAKES = ("train", "rows", "seeds")
SMOOTHING = 0.1  # of base, if not given


def check(request: Request) -> None:
    """But for the row with more dropout: how much base has, and so that row's name, may follow from the text."""
    rows = tuple(name for name in request.rows if not name.lower().startswith("dropout"))
    choose_rows(replace(request, rows=rows), list_variants(request.settings))


def promise(request: Request, display: Display) -> float:
    return promise_training(request, choose_rows(request, list_variants(request.settings)), display)


def run(request: Request, display: Display) -> Findings:
    trained = train_variants(request, choose_rows(request, list_variants(request.settings)), display)
    figures = gather(trained, compare(trained, display))
    story = (
        "Test BLEU less that of base, with 95 % intervals of a paired bootstrap; beside it what the paper found (newstest2013)."
    )
    pictures = draw_differences(figures, request.out / "table3", "Table 3, one change at a time", story)
    return Findings(*tabulate(figures), figures, tell_winners(figures), pictures)


def list_variants(settings: Settings) -> list[Variant]:
    """The paper's changes in proportion: half of 8 heads is half of 4. What changes nothing is left out."""
    a = _shape(settings)
    smoothing = SMOOTHING if settings.training.label_smoothing is None else settings.training.label_smoothing
    third = max(1, round(a.n_layers / 3))
    variants = [
        _variant("base", "base", 25.8, 4.92),
        *(
            _variant(f"h {n}", "A", bleu, perplexity, n_heads=n, d_k=a.n_heads * a.d_k // n, d_v=a.n_heads * a.d_v // n)
            for n, bleu, perplexity in (
                (1, 24.9, 5.29),
                (max(1, a.n_heads // 2), 25.5, 5.00),
                (2 * a.n_heads, 25.8, 4.91),
                (4 * a.n_heads, 25.4, 5.01),
            )
        ),
        _variant(f"d_k {a.d_k // 4}", "B", 25.1, 5.16, d_k=max(1, a.d_k // 4)),
        _variant(f"d_k {a.d_k // 2}", "B", 25.4, 5.01, d_k=max(1, a.d_k // 2)),
        *(
            _variant(f"N {n}", "C", bleu, perplexity, n_layers=n, n_decoder_layers=n)
            for n, bleu, perplexity in (
                (third, 23.7, 6.11),
                (max(1, a.n_layers - third), 25.3, 5.19),
                (a.n_layers + third, 25.5, 4.88),
            )
        ),
        *(
            _variant(f"d_model {d}", "C", bleu, perplexity, d_model=d, d_k=d // a.n_heads, d_v=d // a.n_heads)
            for d, bleu, perplexity in ((a.d_model // 2, 24.5, 5.75), (2 * a.d_model, 26.0, 4.66))
        ),
        _variant(f"d_ff {a.d_ff // 2}", "C", 25.4, 5.12, d_ff=max(1, a.d_ff // 2)),
        _variant(f"d_ff {2 * a.d_ff}", "C", 26.2, 4.75, d_ff=2 * a.d_ff),
        _variant("dropout 0", "D", 24.6, 5.77, dropout=0.0),
        _variant(f"dropout {a.dropout + 0.1:g}", "D", 25.5, 4.95, dropout=round(a.dropout + 0.1, 2)),
        _smoothed(0.0, 25.3, 4.67),
        _smoothed(round(smoothing + 0.1, 2), 25.7, 5.47),
        _variant("learned positions", "E", 25.7, 4.92, positions="learned"),
    ]
    found: dict[str, Variant] = {}
    for one in variants:
        changed = vary(settings, one)
        is_base = _shape(changed) == a and changed.training.label_smoothing in (None, smoothing)
        if one.row == "base" or not is_base:
            found.setdefault(one.name, one)
    return list(found.values())


def _shape(settings: Settings) -> Architecture:
    return build_architecture(settings.model, source_vocab=1, target_vocab=1, shared=settings.tokenizer.shared)


def _variant(name: str, row: str, bleu: float, perplexity: float, **model: Any) -> Variant:
    """With the paper's figures for the change that it stands for (newstest2013)."""
    changes = {("model", key): value for key, value in model.items()}
    return Variant(name, changes, row, {"bleu": bleu, "perplexity": perplexity})


def _smoothed(value: float, bleu: float, perplexity: float) -> Variant:
    changes = {("training", "label_smoothing"): value}
    return Variant(f"label smoothing {value:g}", changes, "D", {"bleu": bleu, "perplexity": perplexity})
