"""Which model is for which verb. Nothing here needs torch."""

from typing import Literal

from headway.architectures import AnyArchitecture, BertArchitecture, GptArchitecture, VitArchitecture
from headway.bundle import Bundle
from headway.errors import RequestError

Verb = Literal["translate", "generate", "fill", "classify"]

_NEEDS: dict[Verb, str] = {
    "translate": "a translator",
    "generate": "a model that goes on with a text (GPT)",
    "fill": "a model that fills in what is masked (BERT)",
    "classify": "a classifier (BERT or ViT with classes)",
}
_EXAMPLES: dict[Verb, str] = {
    "translate": "headway translate {} text.txt",
    "generate": 'headway generate {} "Once upon a time"',
    "fill": 'headway fill {} "A [MASK] runs."',
    "classify": "headway classify {} lines.txt",
}


def find_verb(architecture: AnyArchitecture) -> Verb:
    """What a model of this shape is for."""
    if isinstance(architecture, GptArchitecture):
        return "generate"
    if isinstance(architecture, BertArchitecture):
        return "classify" if architecture.classes else "fill"
    return "classify" if isinstance(architecture, VitArchitecture) else "translate"


def require(bundle: Bundle, verb: Verb) -> None:
    """Refuse a model that is for another verb, and name that one."""
    fitting = find_verb(bundle.manifest.architecture)
    if fitting == verb:
        return
    example = _EXAMPLES[fitting].format(bundle.directory)
    if isinstance(bundle.manifest.architecture, VitArchitecture):
        example = f"headway classify {bundle.directory} picture.png"
    raise RequestError(f"{bundle.directory} is no model to {verb} with: it is {_NEEDS[fitting]}.", f"What it can do: {example}")
