"""For example:

    headway export runs/en-de/best --to huggingface -o exported

The export is compared with the model on real sentences, those held out in the run or those given, and is only written if it
translates as the model does; `parity.json` in it tells the figures. Of models that do not translate, which Hugging Face's form
alone can hold, the logits are compared. That form is also written where transformers is not installed, but not compared then.
"""

import json
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headway.amounts import amount
from headway.errors import HeadwayError, RequestError

if TYPE_CHECKING:
    from headway.bundle import Bundle
    from headway.parity import Exported

# Of the texts. Where two cuts are as good, a unigram tokenizer's rounding decides.
MOST_CUT_OTHERWISE = {"unigram": 0.01}

Format = Literal["ctranslate2", "onnx", "huggingface"]


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    to: Annotated[Format, typer.Option(help="form to write")],
    out: Annotated[Path, typer.Option("--output", "-o", help="directory to write")],
    source: Annotated[Path | None, typer.Option(help="sentences to compare on; held-out ones of the run if not given")] = None,
    references: Annotated[Path | None, typer.Option(help="their translations, if the model translates")] = None,
    sentences: Annotated[int, typer.Option(min=1, help="how many are compared, at most")] = 200,
) -> None:
    from headway import load, parity
    from headway.architectures import Architecture, T5Architecture
    from headway.atomic import new_directory
    from headway.bundle import read_bundle
    from headway.progress import Display

    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / parity.FILE).is_file())):
        raise RequestError(f"{out} is there already and is no export.", "Give a new directory with -o.")
    bundle = read_bundle(model)
    translates = isinstance(bundle.manifest.architecture, Architecture | T5Architecture)
    if translates and (source is None) != (references is None):
        raise RequestError("Give --source and --references together, or neither.", "`headway export --help` has an example.")
    if to != "huggingface" and not translates:
        raise RequestError(f"{model} does not translate: {to} is for translators.", "--to huggingface can hold it.")
    if to == "huggingface" and not (translates and _has_transformers()):
        print(_export_by_logits(bundle, out, source, sentences), file=sys.stderr)
        return
    pairs = list(islice(_read_pairs(model, source, references), sentences))
    with Display() as display, new_directory(out) as new:
        display.update(f"Writing {to}", 0, None)
        exported = _write(bundle, to, new, [text for text, _ in pairs])
        display.close()

        def show(done: int, total: int) -> None:
            display.update("Comparing", done, total)

        found = parity.prove(load(model, engine="torch"), exported, pairs, show)
        found.write(new)
    print(found, file=sys.stderr)


def _write(bundle: "Bundle", to: Format, directory: Path, texts: list[str]) -> "Exported":
    if to == "ctranslate2":
        from headway.export.ctranslate2 import CTranslate2Model, write_ctranslate2

        write_ctranslate2(bundle, directory)
        return CTranslate2Model(directory)
    if to == "onnx":
        from headway.export.onnx import OnnxModel, write_onnx

        write_onnx(bundle, directory)
        return OnnxModel(directory)
    from headway.export.huggingface import HuggingFaceModel

    _write_huggingface(bundle, directory)
    _check_tokenizer(bundle, directory, texts)
    return HuggingFaceModel(directory)


def _write_huggingface(bundle: "Bundle", directory: Path) -> None:
    """With the tokenizer in the form in which it came, if it is not one of ours."""
    from headway.export.huggingface import write_huggingface
    from headway.export.huggingface_tokenizer import is_native

    config = write_huggingface(bundle, directory)
    if config["model_type"] != "vit" and not is_native(bundle.tokenizers):
        from headway.imports.tokenizers import write_tokenizer

        write_tokenizer(bundle.tokenizers, directory, config)


def _check_tokenizer(bundle: "Bundle", directory: Path, texts: list[str]) -> None:
    from headway.export.huggingface_tokenizer import check_tokenizer, is_native

    different = check_tokenizer(bundle, directory, texts)
    kind = bundle.manifest.tokenizer.kind if is_native(bundle.tokenizers) else "unigram"
    if len(different) > MOST_CUT_OTHERWISE.get(kind, 0.0) * len(texts):
        raise HeadwayError(f"The exported tokenizer cuts another way: {different[0]!r}.", "Please report this.")


def _has_transformers() -> bool:
    from headway.export.huggingface_tokenizer import require_transformers

    try:
        require_transformers()
    except HeadwayError:
        return False
    return True


def _export_by_logits(bundle: "Bundle", out: Path, source: Path | None, sentences: int) -> str:
    """Write Hugging Face's form, compare logits if transformers is there, and tell what was found."""
    from headway.atomic import new_directory
    from headway.data.readers import read_lines
    from headway.export.huggingface import find_largest_difference
    from headway.parity import FILE, LARGEST_DIFFERENCE

    texts = [line for line in islice(read_lines(source), sentences) if line.strip()] if source else []
    found: dict[str, object] = {"compared": False}
    told = "Not compared with the model: transformers is not installed (pip install transformers)."
    with new_directory(out) as new:
        _write_huggingface(bundle, new)
        if _has_transformers():
            if bundle.manifest.architecture.kind != "vit":
                _check_tokenizer(bundle, new, texts)
            largest = find_largest_difference(bundle, new, texts=texts)
            told = f"Largest difference of logits {largest:.1e}."
            if not largest <= LARGEST_DIFFERENCE:
                raise HeadwayError(f"The export is not the model. {told}", "Nothing was written. Please report this.")
            found = {"compared": True, "texts": len(texts), "largest_logit_difference": largest}
        (new / FILE).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return told


def _read_pairs(model: Path, source: Path | None, references: Path | None) -> "list[tuple[str, str]]":
    from headway.data.pairtext import read_pairs
    from headway.data.readers import read_lines
    from headway.errors import DataError

    if source and references:
        sources, targets = list(read_lines(source)), list(read_lines(references))
        if len(sources) != len(targets):
            raise DataError(
                f"{source} has {amount(len(sources), 'line')}, but {references} has {len(targets):,}.",
                "Line n of one is the translation of line n of the other.",
            )
        pairs = list(zip(sources, targets, strict=True))
    elif (model.parent / "data" / "prepared.json").is_file():
        pairs = list(read_pairs(model.parent / "data", "valid"))
    else:
        raise RequestError(
            f"There are no held-out sentences beside {model} to compare on.", "Give some: --source test.en --references test.de"
        )
    return [pair for pair in pairs if pair[0].strip()]
