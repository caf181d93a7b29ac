"""The top of figure 1: the last vectors, the linear map, the softmax. T predictions, V pieces or classes, L layers."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from headway.glass.parts import Code, Prediction, Predictions, Shape
from headway.models.model import Model
from headway.nn.layers import Decoder, Encoder

LIKELIEST = 10

NameTokens = Callable[[Sequence[int]], list[str]]


@torch.inference_mode()
def see_predictions(
    model: Model,
    stack: Encoder | Decoder,
    logits: Tensor,
    outputs: Sequence[Tensor],
    *,
    names: NameTokens,
    places: Sequence[str],
    rows: Sequence[int],
    written: Sequence[int | None],
    never: Sequence[int] = (),
    hidden: Sequence[int] = (),
    classes: bool = False,
) -> Predictions:
    """Logits [T, V] and the outputs of all layers, [positions, d_model] each, of which `rows` are those that predict.

    `never` are pieces that have no probability at all, `hidden` those that have some, but are not told.
    """
    probabilities = spread(logits, never)
    reading = [spread(model.output.logits(model.head(stack.norm(output[None])))[0][list(rows)], never) for output in outputs]
    each = []
    for row, (place, token) in enumerate(zip(places, written, strict=True)):
        p = probabilities[row].double()
        each.append(
            Prediction(
                place=place,
                likeliest=_tell(p, LIKELIEST, names, hidden),
                entropy=float(-(p * p.clamp(min=1e-300).log2()).sum()),
                written=None if token is None else names([token])[0],
                log_probability=None if token is None else float(p[token].log()),
                lens=[_tell(layer[row], 1, names, hidden)[0] for layer in reading],
            )
        )
    n, size = logits.shape
    shapes = [Shape("x", (n, outputs[-1].shape[-1])), Shape("W", tuple(model.output.weight.shape)), Shape("logits", (n, size))]
    codes = [Code.of(type(model.output).logits), Code.of(type(model).states)]
    return Predictions(each, "classes" if classes else "pieces", [*shapes, Shape("p", (n, size))], codes)


def spread(logits: Tensor, never: Sequence[int]) -> Tensor:
    """The softmax over what may come at all."""
    if never:
        logits = logits.float().index_fill(-1, torch.tensor(list(never), device=logits.device), -torch.inf)
    return logits.float().softmax(dim=-1)


def _tell(p: Tensor, n: int, names: NameTokens, hidden: Sequence[int]) -> list[tuple[str, float]]:
    if hidden:
        p = p.index_fill(-1, torch.tensor(list(hidden), device=p.device), -1.0)
    best = p.topk(min(n, len(p) - len(hidden)))
    return list(zip(names(best.indices.tolist()), best.values.tolist(), strict=True))
