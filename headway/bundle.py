"""A model is a directory, the bundle: `headway.json`, `weights.safetensors`, `tokenizer/`, `README.md`.

Whatever the model needs to turn raw text into raw text is in it. Nothing is pickled; every file's SHA-256 is in
`headway.json` and checked on load. Reading a bundle's facts and tokenizers does not import torch.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from headway import __version__
from headway.amounts import amount
from headway.architectures import AnyArchitecture, Architecture, T5Architecture
from headway.atomic import new_directory
from headway.config import DecodingSettings, Section, Task, TokenizerSettings
from headway.directions import Direction, tell_option
from headway.errors import BundleError, RequestError
from headway.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from torch import Tensor

    from headway.models.model import Model

FORMAT = 2  # 1 knew one kind of model, and said so in a field of its own
MANIFEST, WEIGHTS, TOKENIZER, CARD = "headway.json", "weights.safetensors", "tokenizer", "README.md"


_NAMES = {"bert": "BERT", "gpt": "GPT", "vit": "ViT"}
_OTHER_FORM = "`headway export --to huggingface` takes all kinds."
_WORD = re.compile(r"\w+(?:['’:.-]\w+)*")


class Provenance(Section):
    """Where a model comes from: enough to make it again, and to know how good it was found to be."""

    step: int = 0
    settings: dict[str, Any] = Field(default_factory=dict)
    data: dict[str, str] = Field(default_factory=dict, description="SHA-256 of each corpus file")
    metrics: dict[str, float] = Field(default_factory=dict)

    @property
    def from_the_start(self) -> bool:
        """Whether these settings made the model, from nothing: then all prefixes that it was given are known."""
        training = self.settings.get("training", {})
        return bool(training) and not training.get("init")


class Scope(Section):
    """What a model was made for, where that is little: what to call it, and every word of it, in small letters."""

    name: str
    words: list[str]

    def find_others(self, texts: Iterable[str]) -> list[str]:
        """The words of the texts that do not belong to it, as they stand there, each once."""
        known = set(self.words)
        return list(dict.fromkeys(word for text in texts for word in _WORD.findall(text) if word.lower() not in known))


class Lines(Section):
    """What a line of the training text was: at most one sentence, mostly, and how many pieces the longest had."""

    sentences: bool = True
    longest: int = 256


class Measured(Section):
    """How CTranslate2 computes fastest without loss, as found on held-out sentences when training ended."""

    compute_type: Literal["float32", "int8"]
    sentences: int
    beam: int
    float32_tokens_per_second: float
    int8_tokens_per_second: float
    float32_bleu: float
    int8_bleu: float
    int8_loses: float  # chrF, mean over the sentences
    int8_loses_at_most: float  # with a certainty of 95 %


class Pictures(Section):
    """How pixels become what a model of pictures reads: (value / 255 - mean) / deviation, for each channel."""

    mean: list[float]
    deviation: list[float]


class Manifest(Section):
    format: int = FORMAT
    version: str = __version__
    architecture: AnyArchitecture
    task: Task = "translate"
    source_language: str = ""
    target_language: str = ""
    tokenizer: TokenizerSettings = TokenizerSettings()
    decoding: DecodingSettings = DecodingSettings()
    provenance: Provenance = Provenance()
    scope: Scope | None = None
    lines: Lines = Lines()
    pictures: Pictures | None = None
    ctranslate2: Measured | None = None
    directions: list[Direction] = Field(default_factory=list)
    prefixes: list[str] = Field(default_factory=list, description="of the run's corpora, longest first")
    files: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def have_a_direction(self) -> Self:
        """Those that were written before there could be several do not tell theirs apart."""
        if not self.directions and self.source_language and self.target_language:
            self.directions = [Direction(source=self.source_language, target=self.target_language)]
        return self


@dataclass(frozen=True)
class Bundle:
    directory: Path
    manifest: Manifest
    tokenizers: Tokenizers

    def weights(self) -> dict[str, "Tensor"]:
        from safetensors.torch import load_file

        return load_file(self.directory / WEIGHTS)

    def require_transformer(self, use: str) -> Architecture:
        """The shape of the paper's model, for what is only made for that."""
        a = self.manifest.architecture
        if not isinstance(a, Architecture):
            raise RequestError(f"{self.directory} is a model of the kind {a.kind}; {use} is for translators.", _OTHER_FORM)
        return a

    def build_model(self) -> "Model":
        """The model in torch, ready to be asked."""
        from headway.models.build import assemble
        from headway.models.weights import set_weights

        model = assemble(self.manifest.architecture, pad=self.tokenizers.source.pad)
        set_weights(model, self.weights())
        return model.eval()

    def tokenizer_sums(self) -> dict[str, str]:
        """SHA-256 of each tokenizer file: the same sums, the same vocabulary."""
        return {name: digest for name, digest in self.manifest.files.items() if name.startswith(f"{TOKENIZER}/")}


def write_bundle(directory: Path, manifest: Manifest, weights: Mapping[str, "Tensor"], tokenizers: Tokenizers) -> None:
    """Write a whole bundle, in place of one that may stand there."""
    from safetensors.torch import save

    if directory.exists() and not (directory / MANIFEST).is_file():
        raise RequestError(f"{directory} is there already and is no model.", "Give a new directory for the model.")
    with new_directory(directory) as new:
        (new / WEIGHTS).write_bytes(save({name: tensor.detach().contiguous() for name, tensor in weights.items()}))
        (new / TOKENIZER).mkdir()
        tokenizers.save(new / TOKENIZER)
        (new / CARD).write_text(model_card(manifest), encoding="utf-8")
        files = {path.relative_to(new).as_posix(): sha256(path) for path in sorted(new.rglob("*")) if path.is_file()}
        manifest = manifest.model_copy(update={"files": files})
        (new / MANIFEST).write_text(json.dumps(manifest.model_dump(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_bundle(directory: Path) -> Bundle:
    """Check a bundle's files against their sums, all of them before any is used.

    A training run may put a new bundle in its place meanwhile: then the new one is read.
    """
    manifest = read_manifest(directory)
    wrong = []
    for name, sum_written in manifest.files.items():
        path = directory / name
        if not path.is_file():
            wrong.append(f"{name} is missing")
        elif sha256(path) != sum_written:
            wrong.append(f"{name} is not as it was written (changed or truncated)")
    if wrong and read_manifest(directory) != manifest:
        return read_bundle(directory)
    if wrong:
        raise BundleError(
            f"The model in {directory} is damaged: {'; '.join(wrong)}.",
            "Copy it again from where it came from, or train it again.",
        )
    return Bundle(directory, manifest, Tokenizers.load(directory / TOKENIZER))


def read_manifest(directory: Path) -> Manifest:
    """A bundle's facts alone, without a look at its other files."""
    if not directory.exists():
        raise BundleError(f"There is no model {directory}.", "A model is a directory such as runs/en-de/best.")
    path = directory / MANIFEST
    if not path.is_file():
        inside = [name for name in ("best", "last") if (directory / name / MANIFEST).is_file()]
        hint = f"It is a run; its models are {' and '.join(str(directory / name) for name in inside)}." if inside else ""
        raise BundleError(
            f"{directory} is no model: it has no {MANIFEST}.", hint or "A model is a directory such as runs/en-de/best."
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        written = int(content["format"])
    except (ValueError, TypeError, KeyError) as error:
        raise BundleError(f"{path} cannot be read: {error}.", "The file is damaged; copy the model again.") from None
    if written > FORMAT:
        raise BundleError(
            f"{directory} has format {written}; this Headway ({__version__}) reads up to {FORMAT}.",
            f"It was written by Headway {content.get('version', '?')}: upgrade to that or a later one.",
        )
    if written == 1:
        content.pop("model", None)
    try:
        return Manifest.model_validate(content | {"format": FORMAT})
    except ValidationError as error:
        places = ", ".join(".".join(map(str, problem["loc"])) for problem in error.errors())
        raise BundleError(
            f"{path} is not as Headway writes it: {places}.", "The file is damaged; copy the model again."
        ) from None


def model_card(manifest: Manifest) -> str:
    """What a person wants to know who finds the directory."""
    p = manifest.provenance
    figures = "\n".join(f"| {name} | {value:.4g} |" for name, value in p.metrics.items()) or "| none | |"
    sources = "\n".join(f"- `{name}` (SHA-256 {digest[:16]}…)" for name, digest in p.data.items()) or "- not recorded"
    return f"""{_describe_model(manifest)}

| figure | value |
|---|---|
{figures}
{_describe_measured(manifest.ctranslate2)}
Trained on:
{sources}

It knows only what stood in that; have what it writes read before you rely on it.
"""


def _describe_model(manifest: Manifest) -> str:
    a, made = manifest.architecture, f"made with Headway {manifest.version}"
    sizes = f"d_model {a.d_model},\nd_ff {a.d_ff}, {amount(a.n_heads, 'head')}"
    updates = amount(manifest.provenance.step, "update")
    languages = f"{manifest.source_language} → {manifest.target_language}"
    source = manifest.source_language.split(",")[0] or "txt"
    chosen = tell_option(manifest.directions)
    if len(manifest.directions) > 1:
        languages = ", ".join(map(str, manifest.directions))
    if isinstance(a, Architecture):
        pieces = f"{a.source_vocab:,} source and {a.target_vocab:,} target pieces"
        return f"""# {languages}

A Transformer translator {made}: {a.n_layers}+{a.n_decoder_layers} layers, {sizes}, {pieces}, {updates}.

    headway translate DIRECTORY{chosen} < text.{source}"""
    if isinstance(a, T5Architecture):
        return f"""# T5{f": {languages}" if manifest.source_language else ""}

A text-to-text model {made}: {a.n_layers}+{a.n_decoder_layers} layers, {sizes}, {a.vocab:,} pieces, {updates}.

    headway translate DIRECTORY{chosen} < text.txt"""
    use = "generate DIRECTORY 'Once upon a time'" if a.kind == "gpt" else "fill DIRECTORY 'A [MASK] runs.'"
    if getattr(a, "classes", 0):
        use = "classify DIRECTORY FILE"
    return f"""# {_NAMES[a.kind]}

A {_NAMES[a.kind]} model {made}: {amount(a.n_layers, "layer")}, {sizes}, {updates}.

    headway {use}"""


def _describe_measured(measured: Measured | None) -> str:
    if measured is None:
        return ""
    m = measured
    return f"""
With CTranslate2 on the machine that trained it, {amount(m.sentences, "held-out sentence")}, beam {m.beam}:
`--compute-type auto` takes {m.compute_type}.

| compute type | tokens a second | BLEU |
|---|---|---|
| float32 | {m.float32_tokens_per_second:,.0f} | {m.float32_bleu:.2f} |
| int8 | {m.int8_tokens_per_second:,.0f} | {m.int8_bleu:.2f} |

Sentence by sentence int8 loses {m.int8_loses:.2f} chrF, with 95 % certainty at most {m.int8_loses_at_most:.2f}.
"""


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
