"""Named sizes as data, and what a model's settings come to: preset, then what the user set, then what follows from both."""

from dataclasses import dataclass
from typing import Literal

from headway.config import Architecture, ModelSettings
from headway.errors import RequestError


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
    "tiny": Preset(n_layers=4, d_model=128, d_ff=256, n_heads=4, dropout=0.3, norm="pre"),
    "small": Preset(n_layers=6, d_model=256, d_ff=1024, n_heads=4, dropout=0.2, norm="pre"),
    "base": Preset(n_layers=6, d_model=512, d_ff=2048, n_heads=8, dropout=0.1, norm="post"),
    "big": Preset(n_layers=6, d_model=1024, d_ff=4096, n_heads=16, dropout=0.3, norm="post"),
}


def build_architecture(settings: ModelSettings, *, source_vocab: int, target_vocab: int, shared: bool) -> Architecture:
    """The complete shape. `shared`: both languages have one vocabulary, so that one embedding can serve both."""
    preset = PRESETS[settings.preset or "tiny"]
    chosen = {name: value for name, value in settings.model_dump(exclude={"preset"}).items() if value is not None}
    sizes = {**vars(preset), **chosen}
    sizes.setdefault("n_decoder_layers", sizes["n_layers"])
    if sizes["d_model"] % sizes["n_heads"] and not {"d_k", "d_v"} <= sizes.keys():
        raise RequestError(
            f"d_model {sizes['d_model']} is not a multiple of n_heads {sizes['n_heads']}.", "Change one, or give d_k and d_v."
        )
    sizes.setdefault("d_k", sizes["d_model"] // sizes["n_heads"])
    sizes.setdefault("d_v", sizes["d_model"] // sizes["n_heads"])
    sizes.setdefault("tie", "all" if shared else "target")
    if sizes["tie"] == "all" and not shared:
        raise RequestError(
            "One embedding cannot serve two vocabularies: tie is all, shared is false.", "Use tie target, or shared true."
        )
    return Architecture(source_vocab=source_vocab, target_vocab=target_vocab, **sizes)
