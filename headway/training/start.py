"""A model to begin with: its vocabulary, its shape, its weights (`--init`)."""

from pathlib import Path

import torch

from headway.architectures import AnyArchitecture, BertArchitecture, VitArchitecture
from headway.bundle import MANIFEST, Bundle, read_bundle
from headway.config import Settings, Task
from headway.data.prepare import Start
from headway.errors import RequestError
from headway.models.model import Model
from headway.models.weights import get_weights
from headway.text.tokenizer import Tokenizer

NEW = ("head.", "output.")  # what a classifier does not take over from a model that named masked pieces, or other classes
FITTING: dict[Task, tuple[str, ...]] = {
    "translate": ("transformer", "t5"),
    "denoise": ("transformer", "t5"),
    "span": ("t5",),
    "lm": ("gpt",),
    "mlm": ("bert",),
    "classify": ("bert", "vit"),
}


def read_start(settings: Settings) -> Bundle | None:
    """The model that a run begins with, if there is one, refused where it cannot do the task."""
    if not settings.training.init:
        return None
    bundle = read_bundle(Path(settings.training.init))
    kind, task = bundle.manifest.architecture.kind, settings.data.task
    if kind not in FITTING[task]:
        raise RequestError(
            f"{bundle.directory} is a model of the kind {kind}, which the task {task} cannot begin with.",
            "Name another --init, or another --task.",
        )
    return bundle


def describe_start(bundle: Bundle) -> Start:
    """What preparing has to know of it."""
    a = bundle.manifest.architecture
    pictures = (a.image_size, a.channels) if isinstance(a, VitArchitecture) else (None, None)
    return Start(bundle.directory / MANIFEST, bundle.tokenizers, *pictures)


def shape_of(bundle: Bundle, settings: Settings, classes: int) -> AnyArchitecture:
    """The shape of the model itself, but for its dropout, if another is asked for, and its classes."""
    given = {name: value for name, value in settings.model.model_dump(exclude_defaults=True).items() if value is not None}
    a = bundle.manifest.architecture
    other = [f"{name} {getattr(a, name)}" for name, value in given.items() if getattr(a, name, value) != value]
    other = [one for one in other if not one.startswith("dropout ")]
    if other:
        raise RequestError(
            f"A run that begins with a model has its shape: {bundle.directory} has {', '.join(other)}.",
            "Leave out what differs; only --dropout may.",
        )
    changes: dict[str, float | int] = {}
    if settings.model.dropout is not None:
        changes["dropout"] = settings.model.dropout
    if settings.data.task == "classify":
        changes["classes"] = classes
    elif isinstance(a, BertArchitecture):
        changes["classes"] = 0
    return a.model_copy(update=changes)


@torch.no_grad()
def take_over(model: Model, bundle: Bundle, target: Tokenizer) -> None:
    """Copy a model's weights into one that is to predict the pieces or classes of `target`; a head for others begins anew."""
    weights, theirs = bundle.weights(), bundle.tokenizers.target
    same = theirs.size == target.size and theirs.pieces(range(theirs.size)) == target.pieces(range(target.size))
    for name, parameter in get_weights(model).items():
        if same or not name.startswith(NEW):
            parameter.copy_(weights[name])
