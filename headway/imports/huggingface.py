"""A directory as Hugging Face saves it becomes a bundle: its shape, its weights, its tokenizer, its way to search.

Nothing of transformers is needed, and nothing pickled is read.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from headway.architectures import AnyArchitecture, Architecture, BertArchitecture, T5Architecture, VitArchitecture
from headway.bundle import Lines, Manifest, Pictures, Provenance, sha256, write_bundle
from headway.config import DecodingSettings, Task
from headway.errors import BundleError, RequestError
from headway.text.class_names import ClassNames
from headway.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from torch import Tensor

CONFIG, GENERATION, PICTURES = "config.json", "generation_config.json", "preprocessor_config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLED = ("pytorch_model*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")

_BILINEAR = 2  # of the numbers that Pillow gives to the ways to resize

_CONVERT = """In an environment with transformers, and only if you trust who made the file, convert it:
    from transformers import AutoConfig
    import transformers
    kind = getattr(transformers, AutoConfig.from_pretrained("{0}").architectures[0])
    kind.from_pretrained("{0}").save_pretrained("{0}", safe_serialization=True)"""


def is_huggingface(directory: Path) -> bool:
    return (directory / CONFIG).is_file()


def import_huggingface(directory: Path, out: Path, *, source_language: str = "", target_language: str = "") -> list[str]:
    """Write the bundle `out`. Hands back what the user should be told."""
    from headway.models.huggingface import from_huggingface, has_ban, list_never
    from headway.models.huggingface_config import read_architecture

    config = _read_json(directory / CONFIG)
    architecture = read_architecture(config)
    if isinstance(architecture, Architecture) and not (source_language and target_language):
        source_language, target_language = _find_languages(directory, config, source_language, target_language)
    tokenizers = _read_tokenizers(directory, config, architecture)
    pictures: Pictures | None = None
    notes: list[str] = []
    if isinstance(architecture, VitArchitecture):
        pictures, notes = _read_pictures(directory, architecture)
    with _open_weights(directory) as (shapes, read, files):
        if isinstance(architecture, Architecture):
            rows = architecture.target_vocab
            if has_ban(list_never(tokenizers.target, rows), rows, shapes, read):
                architecture = architecture.model_copy(update={"output_bias": False})
        weights = from_huggingface(shapes, read, architecture)
    manifest = Manifest(
        architecture=architecture,
        task=_tell_task(architecture),
        source_language=source_language,
        target_language=target_language,
        decoding=_read_decoding(directory, config, architecture),
        provenance=Provenance(data={path.name: sha256(path) for path in files}),
        lines=Lines(sentences=False, longest=512) if isinstance(architecture, T5Architecture) else Lines(),
        pictures=pictures,
    )
    write_bundle(out, manifest, weights, tokenizers)
    return notes


def _tell_task(architecture: AnyArchitecture) -> Task:
    if isinstance(architecture, Architecture | T5Architecture):
        return "translate"
    if isinstance(architecture, BertArchitecture):
        return "classify" if architecture.classes else "mlm"
    return "classify" if isinstance(architecture, VitArchitecture) else "lm"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BundleError(
            f"There is no {path}.", "A directory as Hugging Face saves it has config.json, model.safetensors and a tokenizer."
        ) from None
    except (OSError, ValueError) as error:
        raise BundleError(f"{path} cannot be read: {error}.", "Take a whole copy of it.") from None
    if not isinstance(content, dict):
        raise BundleError(f"{path} holds no settings.", "Take a whole copy of it.")
    return content


def _read_tokenizers(directory: Path, config: dict[str, Any], architecture: AnyArchitecture) -> Tokenizers:
    from headway.models.huggingface_config import read_class_names

    if isinstance(architecture, VitArchitecture):
        names = ClassNames(read_class_names(config))
        return Tokenizers(names, names)
    from headway.imports.tokenizers import read_tokenizers

    tokenizers = read_tokenizers(directory, config)
    if isinstance(architecture, BertArchitecture) and architecture.classes:
        return Tokenizers(tokenizers.source, ClassNames(read_class_names(config)))
    return tokenizers


def _read_pictures(directory: Path, architecture: VitArchitecture) -> tuple[Pictures, list[str]]:
    channels = architecture.channels
    if not (directory / PICTURES).is_file():
        half = [0.5] * channels
        return Pictures(mean=half, deviation=half), [
            f"There is no {PICTURES}: pixels are taken to have mean and deviation 0.5."
        ]
    settings = _read_json(directory / PICTURES)
    scale = settings.get("rescale_factor", 1 / 255) if settings.get("do_rescale", True) else 1.0
    mean, deviation = settings.get("image_mean"), settings.get("image_std")
    if not settings.get("do_normalize", True):
        mean, deviation = [0.0] * channels, [1.0] * channels
    try:
        if len(mean) == len(deviation) == channels and abs(scale * 255 - 1) < 1e-3:  # type: ignore[arg-type]
            return Pictures(mean=mean, deviation=deviation), _compare_pictures(settings, architecture.image_size)
    except (TypeError, ValidationError):
        pass
    raise BundleError(
        f"{directory / PICTURES} has no mean and deviation for {channels} channels of pixels between 0 and 1: "
        f"image_mean {mean}, image_std {deviation}, rescale_factor {scale}.",
        "Take a whole copy of it, or correct it.",
    )


def _compare_pictures(settings: dict[str, Any], size: int) -> list[str]:
    """What would be done to a picture there that Headway, which squeezes all of it into the model's square, does not do."""
    square = {"height": size, "width": size}
    others = []
    if settings.get("do_resize", True):
        wanted = settings.get("size", square)
        if wanted not in (size, square, [size, size]):
            others.append(f"size {wanted}")
        if settings.get("resample", _BILINEAR) not in (_BILINEAR, None):
            others.append(f"resample {settings['resample']}")
    else:
        others.append("do_resize false")
    if settings.get("do_center_crop"):
        others.append(f"do_center_crop to {settings.get('crop_size')}")
    if not others:
        return []
    return [
        f"{PICTURES} says {', '.join(others)}; Headway squeezes every picture to {size} by {size} pixels, bilinearly. "
        "Some may get another class for it."
    ]


def _find_languages(directory: Path, config: dict[str, Any], source: str, target: str) -> tuple[str, str]:
    """What was given, or what the tokenizer's file or the model's name (opus-mt-en-de) tells."""
    path = directory / "tokenizer_config.json"
    told = _read_json(path) if path.is_file() else {}
    name = re.search(
        r"opus-mt-(?:tc-(?:big|base)-)?([A-Za-z_]+)-([A-Za-z_]+)", f"{config.get('_name_or_path', '')} {directory}"
    )
    source = source or str(told.get("source_lang") or "") or (name[1] if name else "")
    target = target or str(told.get("target_lang") or "") or (name[2] if name else "")
    if not source or not target:
        raise RequestError(f"{directory} does not tell its languages.", "Give them: --from en --to de")
    return source, target


def _read_decoding(directory: Path, config: dict[str, Any], architecture: AnyArchitecture) -> DecodingSettings:
    """The search that its makers chose: a beam that ends when as many hypotheses have, ranked by the power of their length."""
    if not isinstance(architecture, Architecture | T5Architecture):
        return DecodingSettings()
    path = directory / GENERATION
    told = {**config, **(_read_json(path) if path.is_file() else {})}
    penalty = told.get("length_penalty")
    try:
        return DecodingSettings(
            beam=told.get("num_beams") or 1,
            length_penalty=1.0 if penalty is None else max(0.0, penalty),
            penalty="power",
            patience=1.0,
            no_repeat_ngram=told.get("no_repeat_ngram_size") or 0,
            min_length=told.get("min_new_tokens") or 0,
        )
    except (ValidationError, TypeError) as error:
        raise BundleError(f"{path} tells no search: {error}", "Take a whole copy of it.") from None


Opened = tuple[dict[str, list[int]], Callable[[str], "Tensor"], list[Path]]


@contextmanager
def _open_weights(directory: Path) -> Iterator[Opened]:
    """Shapes by name, what reads a tensor, and the files they are in."""
    from safetensors import SafetensorError, safe_open

    with ExitStack() as stack:
        shapes: dict[str, list[int]] = {}
        places: dict[str, Any] = {}
        files = _find_weights(directory)
        for path in files:
            try:
                file = stack.enter_context(safe_open(path, framework="pt"))
                for name in file.keys():  # noqa: SIM118
                    shapes[name], places[name] = file.get_slice(name).get_shape(), file
            except (SafetensorError, OSError) as error:
                raise BundleError(f"{path} is damaged: {error}.", "Take a whole copy of it.") from None
        yield shapes, lambda name: places[name].get_tensor(name), files


def _find_weights(directory: Path) -> list[Path]:
    if (directory / WEIGHTS).is_file():
        return [directory / WEIGHTS]
    if (directory / INDEX).is_file():
        parts = _read_json(directory / INDEX).get("weight_map")
        if not isinstance(parts, dict):
            raise BundleError(f"{directory / INDEX} does not tell where the weights are.", "Take a whole copy of it.")
        names = sorted({Path(str(name)).name for name in parts.values()})
        missing = [name for name in names if not (directory / name).is_file()]
        if missing:
            raise BundleError(f"{directory} lacks {', '.join(missing)}.", "Take a whole copy of it.")
        return [directory / name for name in names]
    pickled = sorted(path.name for pattern in PICKLED for path in directory.glob(pattern))
    found = (
        f"{', '.join(pickled)} could run anything when read, and is not" if pickled else "and nothing else that is safe to read"
    )
    raise BundleError(f"There is no {WEIGHTS} in {directory}: {found}.", _CONVERT.format(directory))
