"""For example:

    headway export runs/en-de/best --to huggingface -o exported

The export is compared with the model on real sentences, those held out in the run or those given, and is only written if it
translates as the model does; `parity.json` in it tells the figures.
"""

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headway.errors import HeadwayError, RequestError

if TYPE_CHECKING:
    from headway.bundle import Bundle
    from headway.parity import Exported

# Of the texts. Where two cuts are as good, a unigram tokenizer's rounding decides.
MOST_CUT_OTHERWISE = {"bpe": 0.0, "unigram": 0.01}

Format = Literal["ctranslate2", "onnx", "huggingface"]


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    to: Annotated[Format, typer.Option(help="form to write")],
    out: Annotated[Path, typer.Option("--output", "-o", help="directory to write")],
    source: Annotated[Path | None, typer.Option(help="sentences to compare on; held-out ones of the run if not given")] = None,
    references: Annotated[Path | None, typer.Option(help="their translations")] = None,
    sentences: Annotated[int, typer.Option(min=1, help="how many are compared, at most")] = 200,
) -> None:
    if (source is None) != (references is None):
        raise RequestError("Give --source and --references together, or neither.", "`headway export --help` has an example.")
    from headway import load, parity
    from headway.atomic import new_directory
    from headway.bundle import read_bundle
    from headway.progress import Display

    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / parity.FILE).is_file())):
        raise RequestError(f"{out} is there already and is no export.", "Give a new directory with -o.")
    pairs = list(islice(_read_pairs(model, source, references), sentences))
    bundle = read_bundle(model)
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
    from headway.export.huggingface import HuggingFaceModel, write_huggingface
    from headway.export.huggingface_tokenizer import check_tokenizer

    write_huggingface(bundle, directory)
    different = check_tokenizer(bundle, directory, texts)
    if len(different) > MOST_CUT_OTHERWISE[bundle.manifest.tokenizer.kind] * len(texts):
        raise HeadwayError(f"The exported tokenizer cuts another way: {different[0]!r}.", "Please report this.")
    return HuggingFaceModel(directory)


def _read_pairs(model: Path, source: Path | None, references: Path | None) -> "list[tuple[str, str]]":
    from headway.data.pairtext import read_pairs
    from headway.data.readers import read_lines
    from headway.errors import DataError

    if source and references:
        sources, targets = list(read_lines(source)), list(read_lines(references))
        if len(sources) != len(targets):
            raise DataError(
                f"{source} has {len(sources):,} lines, but {references} has {len(targets):,}.",
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
