"""The shape of each model, complete: what `headway.json` keeps and what a model is built from."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from headway.config import Section

PATCH_SIZE = 4  # pixels of a patch's side, where nobody says
Activation = Literal["relu", "gelu", "gelu-tanh", "swish"]


class Stack(Section):
    """What all have: N layers, and how wide they are."""

    n_layers: int
    d_model: int
    d_ff: int
    n_heads: int
    dropout: float
    activation: Activation


class TwoStacks(Stack):
    """An encoder and a decoder."""

    n_decoder_layers: int

    @property
    def alignment_layer(self) -> int:
        """The decoder layer whose attention aligns words: the one before the last (Garg et al., 2019), all heads alike."""
        return max(0, self.n_decoder_layers - 2)


class Architecture(TwoStacks):
    """The paper's model."""

    kind: Literal["transformer"] = "transformer"
    source_vocab: int
    target_vocab: int
    d_k: int
    d_v: int
    norm: Literal["post", "pre"]
    positions: Literal["sinusoidal", "learned", "none"]
    max_positions: int
    scale_attention: bool = True
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    word_dropout: float = 0.0
    tie: Literal["all", "target", "none"]
    output_bias: bool = False
    epsilon: float = 1e-5  # of the layer norms, what torch takes


class T5Architecture(TwoStacks):
    """Text to text: an encoder and a decoder that know distances, not positions."""

    kind: Literal["t5"] = "t5"
    vocab: int
    d_k: int
    gated: bool  # version 1.1
    tie: bool  # one matrix for both embeddings and the output; version 1.0
    buckets: int
    max_distance: int
    epsilon: float = 1e-6


class BertArchitecture(Stack):
    """The encoder alone. It names masked pieces, or, with `classes`, the class of a text."""

    kind: Literal["bert"] = "bert"
    vocab: int
    max_positions: int
    segments: int = 2
    classes: int = 0  # 0: it names masked pieces
    epsilon: float = 1e-12


class GptArchitecture(Stack):
    """The decoder alone: what comes next."""

    kind: Literal["gpt"] = "gpt"
    vocab: int
    max_positions: int
    epsilon: float = 1e-5


class VitArchitecture(Stack):
    """The encoder alone, over the patches of a picture: its class."""

    kind: Literal["vit"] = "vit"
    image_size: int
    patch_size: int
    channels: int
    classes: int
    epsilon: float = 1e-12

    @property
    def patches(self) -> int:
        return (self.image_size // self.patch_size) ** 2


def _kind(value: Any) -> str:
    return value.get("kind", "transformer") if isinstance(value, dict) else value.kind


AnyArchitecture = Annotated[
    Annotated[Architecture, Tag("transformer")]
    | Annotated[T5Architecture, Tag("t5")]
    | Annotated[BertArchitecture, Tag("bert")]
    | Annotated[GptArchitecture, Tag("gpt")]
    | Annotated[VitArchitecture, Tag("vit")],
    Discriminator(_kind),
]


def has_one_embedding(a: AnyArchitecture) -> bool:
    """For all that it reads and writes: two vocabularies need two."""
    return not isinstance(a, Architecture) or a.tie == "all"
