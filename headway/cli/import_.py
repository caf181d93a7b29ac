"""For example:

    headway import models/opus-mt-en-de -o models/en-de

where the first is a directory as Hugging Face saves it (MarianMT, T5, BERT, GPT-2 or ViT, with model.safetensors) or as OPUS-MT
and Marian release it (.npz). Or, from the Hugging Face Hub:

    headway import hf:Helsinki-NLP/opus-mt-en-de -o models/en-de
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.errors import RequestError


def run(
    model: Annotated[str, typer.Argument(help="directory of the model, or hf:NAME", metavar="DIRECTORY|hf:NAME")],
    out: Annotated[Path, typer.Option("--output", "-o", help="directory of the new model")],
    source_language: Annotated[str, typer.Option("--from", help="source language, if the model does not tell")] = "",
    target_language: Annotated[str, typer.Option("--to", help="target language, if the model does not tell")] = "",
) -> None:
    from headway.imports.download import PREFIX, download
    from headway.progress import Display

    with Display() as display:
        if model.startswith(PREFIX):
            display.say(f"Downloading {model.removeprefix(PREFIX)} …")
            directory = download(model.removeprefix(PREFIX))
        else:
            directory = Path(model)
        if (directory / "headway.json").is_file():
            raise RequestError(f"{directory} is a model of Headway already.", "Use it as it is.")
        if not directory.is_dir():
            raise RequestError(f"There is no directory {directory}.", "For a model of the Hugging Face Hub, give hf:NAME.")
        display.update(f"Importing {model}", 0, None)
        notes = _import(directory, out, source_language, target_language)
    for note in notes:
        print(note, file=sys.stderr)
    print(_tell(out), file=sys.stderr)


def _import(directory: Path, out: Path, source_language: str, target_language: str) -> list[str]:
    from headway.imports.huggingface import import_huggingface, is_huggingface
    from headway.imports.marian import import_marian, is_marian

    if not is_huggingface(directory) and is_marian(directory):
        if not source_language or not target_language:
            raise RequestError("A release of Marian does not tell its languages.", "Give them: --from en --to de")
        import_marian(directory, out, source_language=source_language, target_language=target_language)
        return []
    return import_huggingface(directory, out, source_language=source_language, target_language=target_language)


def _tell(out: Path) -> str:
    """What was made, and what to type next."""
    from headway.bundle import read_manifest

    manifest = read_manifest(out)
    verb = {"translate": "translate", "lm": "generate", "mlm": "fill", "classify": "classify"}.get(manifest.task, "translate")
    return f"Model: {out}\nNext:  headway {verb} {out}"
