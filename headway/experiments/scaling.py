"""Equation 1 with and without its division by sqrt(d_k), with narrow heads and with a single wide one."""

from headway.experiments.comparing import draw_differences, gather, tabulate, tell_winners
from headway.experiments.experiment import Findings, Request
from headway.experiments.variants import Variant, choose_rows, compare, promise_training, train_variants
from headway.models.presets import build_architecture
from headway.progress import Display

CLAIM = "Section 3.2.1: without the division by sqrt(d_k), large dot products push the softmax to where gradients vanish."
TAKES = ("train", "rows", "seeds")


def check(request: Request) -> None:
    choose_rows(request, _list_variants(request))


def promise(request: Request, display: Display) -> float:
    return promise_training(request, choose_rows(request, _list_variants(request)), display)


def run(request: Request, display: Display) -> Findings:
    trained = train_variants(request, choose_rows(request, _list_variants(request)), display)
    figures = gather(trained, compare(trained, display))
    story = "Test BLEU less that of the scaled model, with 95 % intervals of a paired bootstrap."
    pictures = draw_differences(figures, request.out / "scaling", "Dot products, scaled or not", story)
    return Findings(*tabulate(figures), figures, tell_winners(figures), pictures)


def _list_variants(request: Request) -> list[Variant]:
    """The paper's claim is about large d_k: one head as wide as the model has the largest."""
    settings = request.settings
    a = build_architecture(settings.model, source_vocab=1, target_vocab=1, shared=settings.tokenizer.shared)
    unscaled = {("model", "scale_attention"): False}
    wide = {("model", "n_heads"): 1, ("model", "d_k"): a.n_heads * a.d_k, ("model", "d_v"): a.n_heads * a.d_v}
    return [
        Variant(f"scaled, d_k {a.d_k}"),
        Variant(f"not scaled, d_k {a.d_k}", unscaled),
        Variant(f"scaled, d_k {a.n_heads * a.d_k}", wide),
        Variant(f"not scaled, d_k {a.n_heads * a.d_k}", {**wide, **unscaled}),
    ]
