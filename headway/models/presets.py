"""Named sizes as data, and what a model's settings come to: preset, then what the user set, then what follows from both."""

from dataclasses import dataclass
from typing import Any, Literal

from headway.architectures import (
    PATCH_SIZE,
    AnyArchitecture,
    Architecture,
    BertArchitecture,
    GptArchitecture,
    T5Architecture,
    VitArchitecture,
)
from headway.config import ModelSettings, Section
from headway.errors import RequestError

POSITIONS = 512  # that a model has at least, where it learns them


@dataclass(frozen=True)
class Preset:
    n_layers: int
    d_model: int
    d_ff: int
    n_heads: int
    dropout: float
    norm: Literal["post", "pre"]


# base and big are table 3's. The small ones are for small corpora, high learning rates and few updates, where post-norm is
# slow to begin: on Multi30k its decoder did not look at the source for more than a thousand updates (docs/design.md).
PRESETS = {
    "mini": Preset(n_layers=2, d_model=128, d_ff=256, n_heads=4, dropout=0.3, norm="pre"),
    "tiny": Preset(n_layers=4, d_model=128, d_ff=256, n_heads=4, dropout=0.3, norm="pre"),
    "small": Preset(n_layers=6, d_model=256, d_ff=1024, n_heads=4, dropout=0.2, norm="pre"),
    "base": Preset(n_layers=6, d_model=512, d_ff=2048, n_heads=8, dropout=0.1, norm="post"),
    "big": Preset(n_layers=6, d_model=1024, d_ff=4096, n_heads=16, dropout=0.3, norm="post"),
}


def build_architecture(
    settings: ModelSettings, *, source_vocab: int, target_vocab: int, shared: bool, longest: int = POSITIONS
) -> Architecture:
    """The complete shape. `shared`: both languages have one vocabulary, so that one embedding can serve both. `longest` is how
    many positions it must be able to read.
    """
    sizes = _sizes(settings)
    sizes.setdefault("d_v", sizes["d_model"] // sizes["n_heads"])
    sizes.setdefault("tie", "all" if shared else "target")
    sizes.setdefault("activation", "relu")
    sizes.setdefault("positions", "sinusoidal")
    sizes.setdefault("max_positions", max(POSITIONS, longest))
    if sizes["tie"] == "all" and not shared:
        raise RequestError(
            "One embedding cannot serve two vocabularies: tie is all, shared is false.", "Use tie target, or shared true."
        )
    return Architecture(source_vocab=source_vocab, target_vocab=target_vocab, **_only(sizes, Architecture))


@dataclass(frozen=True)
class Needs:
    """What a task asks of a model: how much it must tell apart, and how much it must be able to read."""

    source_vocab: int
    target_vocab: int  # of a classifier: its classes
    shared: bool
    classifies: bool = False
    longest: int = POSITIONS  # positions of a text with its marks
    channels: int = 1  # of a picture
    image_size: int = 0


def build_family(family: str, settings: ModelSettings, needs: Needs) -> AnyArchitecture:
    """The complete shape of any of the paper's relatives. `training.request` refuses settings of parts that it has not got."""
    if family == "transformer":
        return build_architecture(
            settings,
            source_vocab=needs.source_vocab,
            target_vocab=needs.target_vocab,
            shared=needs.shared,
            longest=needs.longest,
        )
    sizes = _sizes(settings)
    if family == "t5":
        if not needs.shared:
            raise RequestError("T5 has one vocabulary for all it reads and writes.", "Leave out --no-shared.")
        sizes.setdefault("activation", "relu")
        shape = _only(sizes, T5Architecture) | {"tie": settings.tie in (None, "all")}
        return T5Architecture(vocab=needs.source_vocab, gated=False, buckets=32, max_distance=128, **shape)
    if settings.d_k or settings.d_v or sizes["d_model"] % sizes["n_heads"]:
        raise RequestError(
            f"In this family heads are d_model / n_heads wide, and d_model is {sizes['d_model']}, n_heads {sizes['n_heads']}.",
            "Change one, and leave out d_k and d_v.",
        )
    sizes.setdefault("activation", "gelu-tanh" if family == "gpt" else "gelu")
    sizes.setdefault("max_positions", needs.longest)
    if family == "bert":
        classes = needs.target_vocab if needs.classifies else 0
        return BertArchitecture(vocab=needs.source_vocab, classes=classes, **_only(sizes, BertArchitecture))
    if family == "gpt":
        return GptArchitecture(vocab=needs.source_vocab, **_only(sizes, GptArchitecture))
    patch_size = sizes.setdefault("patch_size", PATCH_SIZE)
    if needs.image_size % patch_size:
        raise RequestError(
            f"Pictures of {needs.image_size} pixels cannot be cut into patches of {patch_size}.",
            "Give a --patch-size that divides it, or another --image-size.",
        )
    shape = _only(sizes, VitArchitecture)
    return VitArchitecture(image_size=needs.image_size, channels=needs.channels, classes=needs.target_vocab, **shape)


def _sizes(settings: ModelSettings) -> dict[str, Any]:
    """Preset, then what is given, then what follows from both."""
    preset = PRESETS[settings.preset or "tiny"]
    chosen = {name: value for name, value in settings.model_dump().items() if value is not None}
    sizes = {**vars(preset), **chosen}
    sizes.setdefault("n_decoder_layers", sizes["n_layers"])
    if sizes["d_model"] % sizes["n_heads"] and not {"d_k", "d_v"} <= sizes.keys():
        raise RequestError(
            f"d_model {sizes['d_model']} is not a multiple of n_heads {sizes['n_heads']}.", "Change one, or give d_k and d_v."
        )
    sizes.setdefault("d_k", sizes["d_model"] // sizes["n_heads"])
    return sizes


def _only(sizes: dict[str, Any], architecture: type[Section]) -> dict[str, Any]:
    return {name: value for name, value in sizes.items() if name in architecture.model_fields}
