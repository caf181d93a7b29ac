"""A model to begin with: its vocabulary, its shape, its weights (`--init`)."""

from pathlib import Path

import torch

from headway.architectures import AnyArchitecture, BertArchitecture, VitArchitecture
from headway.bundle import MANIFEST, Bundle, read_bundle
from headway.config import Settings
from headway.data.prepare import Start
from headway.models.model import Model
from headway.models.weights import get_weights
from headway.text.tokenizer import Tokenizer
from headway.training.request import DROPOUTS, check_start

NEW = ("head.", "output.")  # what a classifier does not take over from a model that named masked pieces, or other classes


def read_start(settings: Settings) -> Bundle | None:
    """The model that a run begins with, if there is one, refused where it cannot do the task."""
    if not settings.training.init:
        return None
    bundle = read_bundle(Path(settings.training.init))
    check_start(settings, bundle)
    return bundle


def describe_start(bundle: Bundle) -> Start:
    """What preparing has to know of it."""
    a = bundle.manifest.architecture
    pictures = (a.image_size, a.channels) if isinstance(a, VitArchitecture) else (None, None)
    return Start(bundle.directory / MANIFEST, bundle.tokenizers, *pictures)


def shape_of(bundle: Bundle, settings: Settings, classes: int) -> AnyArchitecture:
    """The shape of the model itself, but for its dropouts, if others are asked for, and its classes."""
    a = bundle.manifest.architecture
    changes = {name: value for name in DROPOUTS if (value := getattr(settings.model, name)) is not None}
    if settings.data.task == "classify":
        changes["classes"] = classes
    elif isinstance(a, BertArchitecture):
        changes["classes"] = 0
    return a.model_copy(update=changes)


def within_positions(settings: Settings, bundle: Bundle) -> Settings:
    """Passages of running text that are no longer than a model can read."""
    positions = getattr(bundle.manifest.architecture, "max_positions", settings.data.max_length)
    if settings.data.task != "lm" or positions >= settings.data.max_length:
        return settings
    return settings.model_copy(update={"data": settings.data.model_copy(update={"max_length": positions})})


@torch.no_grad()
def take_over(model: Model, bundle: Bundle, target: Tokenizer) -> None:
    """Copy a model's weights into one that is to predict the pieces or classes of `target`; a head for others begins anew."""
    weights, theirs = bundle.weights(), bundle.tokenizers.target
    heads = [getattr(a, "classes", 0) for a in (bundle.manifest.architecture, model.architecture)]
    same = heads[0] == heads[1] and theirs.pieces(range(theirs.size)) == target.pieces(range(target.size))
    for name, parameter in get_weights(model).items():
        if same or not name.startswith(NEW):
            parameter.copy_(weights[name])
