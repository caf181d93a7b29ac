"""A model to begin with: its shape, its weights, and its vocabulary or what a new one takes over of it (`--init`)."""

from pathlib import Path

import torch

from headway.architectures import AnyArchitecture, Architecture, BertArchitecture, VitArchitecture
from headway.bundle import MANIFEST, Bundle, read_bundle
from headway.config import Settings
from headway.data.prepare import Start
from headway.models.model import Model
from headway.models.weights import get_weights
from headway.text.tokenizer import Tokenizers
from headway.training.choices import choose_vocabulary
from headway.training.request import DROPOUTS, check_start
from headway.training.transfer import Transfer

NEW = ("head.", "output.")  # what a classifier does not take over from a model that named masked pieces, or other classes


def read_start(settings: Settings) -> Bundle | None:
    """The model that a run begins with, if there is one, refused where it cannot do the task."""
    if not settings.training.init:
        return None
    bundle = read_bundle(Path(settings.training.init))
    check_start(settings, bundle)
    return bundle


def open_start(settings: Settings) -> tuple[Settings, Bundle | None]:
    """The model that a run begins with, if there is one, and the settings with what it decides."""
    start = read_start(settings)
    return (follow_start(settings, start), start) if start else (settings, None)


def follow_start(settings: Settings, bundle: Bundle) -> Settings:
    """What the model decides before anything is read: its family, whose vocabulary it is, how much it reads at once."""
    model = settings.model.model_copy(update={"family": bundle.manifest.architecture.kind})
    settings = within_positions(settings.model_copy(update={"model": model}), bundle)
    new = choose_vocabulary(settings, bundle) == "new"
    tokenizer = settings.tokenizer.model_copy(update={"vocabulary": "new" if new else None})
    return settings.model_copy(update={"tokenizer": tokenizer})


def describe_start(bundle: Bundle, settings: Settings) -> Start:
    """What preparing has to know of it."""
    a = bundle.manifest.architecture
    pictures = (a.image_size, a.channels) if isinstance(a, VitArchitecture) else (None, None)
    file = bundle.directory / MANIFEST
    if settings.tokenizer.vocabulary == "new":
        return Start(file, None, (), *pictures)
    return Start(file, bundle.tokenizers, bundle.manifest.directions, *pictures)


def shape_of(bundle: Bundle, settings: Settings, tokenizers: Tokenizers) -> AnyArchitecture:
    """The shape of the model itself, but for its dropouts, if others are asked for, its classes, and a new vocabulary."""
    a = bundle.manifest.architecture
    changes = {name: value for name in DROPOUTS if (value := getattr(settings.model, name)) is not None}
    if settings.data.task == "classify":
        changes["classes"] = tokenizers.target.size
    elif isinstance(a, BertArchitecture):
        changes["classes"] = 0
    if settings.tokenizer.vocabulary == "new":
        source, target = tokenizers.source.size, tokenizers.target.size
        changes |= {"source_vocab": source, "target_vocab": target} if isinstance(a, Architecture) else {"vocab": source}
    return a.model_copy(update=changes)


def within_positions(settings: Settings, bundle: Bundle) -> Settings:
    """Passages of running text that are no longer than a model can read."""
    positions = getattr(bundle.manifest.architecture, "max_positions", settings.data.max_length)
    if settings.data.task != "lm" or positions >= settings.data.max_length:
        return settings
    return settings.model_copy(update={"data": settings.data.model_copy(update={"max_length": positions})})


@torch.no_grad()
def take_over(model: Model, bundle: Bundle, tokenizers: Tokenizers, transfer: Transfer | None = None) -> None:
    """Copy a model's weights into one for the pieces or classes of `tokenizers`; a head for other classes begins anew, and with
    a `transfer` the rows of other pieces are made of the model's.
    """
    weights, theirs, target = bundle.weights(), bundle.tokenizers.target, tokenizers.target
    heads = [getattr(a, "classes", 0) for a in (bundle.manifest.architecture, model.architecture)]
    same = heads[0] == heads[1] and theirs.pieces(range(theirs.size)) == target.pieces(range(target.size))
    for name, parameter in get_weights(model).items():
        if transfer and (origins := transfer.of(name)):
            parameter.copy_(origins.rows(weights[name], parameter))
        elif same or not name.startswith(NEW):
            parameter.copy_(weights[name])
