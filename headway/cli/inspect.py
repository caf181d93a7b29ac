"""For example:

    headway inspect runs/en-de/best "A dog runs." --output inspect

writes inspect/inside.html, one page to open in a browser, and pictures of every layer's heads: encoder-1.png, decoder-1.png,
cross-1.png, ... with a .svg of each; and of what tells positions apart. With --target it shows how the model reads a
translation that it did not write. A BERT or GPT has one attention, over the text that it reads.

    headway inspect runs/digits/best seven.png

draws where a ViT looks: over the picture, each layer's heads (heads-1.png, ...), and what they come to (rollout.png).

    headway inspect runs/en-de/best "A dog runs." --full

writes inspect/glass.html, the glass box: one page that follows the sentence through the paper's figure 1 from bottom to top,
each part with its equation, its shapes and the function that computes it: pieces, embeddings and positions, every layer and
head, alignment, the distribution at each step, the beam's tree. GPT, BERT, T5 and ViT have the parts that they have.

    headway inspect runs/en-de/best "A dog runs." --picture beam

writes one picture of that page as .svg and .png, for a paper; others are cross-2, alignment, distribution, ..., or all.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.errors import RequestError

if TYPE_CHECKING:
    from headway.family.kinds import Verb
    from headway.family.reading import Reading
    from headway.glass.parts import Glass
    from headway.progress import Display
    from headway.translator import Inside


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    sentence: Annotated[str, typer.Argument(help="the sentence to look into, in quotes; for a ViT the file of a picture")],
    target: Annotated[str | None, typer.Option(help="a translation to read instead of the model's own")] = None,
    out: Annotated[Path, typer.Option("--output", "-o", help="directory to write to")] = Path("inspect"),
    layer: Annotated[int | None, typer.Option(min=1, help="pictures of this layer only; the page always has all")] = None,
    full: Annotated[bool, typer.Option("--full", help="the glass box: all that is computed, from pieces to beam")] = False,
    picture: Annotated[
        list[str] | None, typer.Option(help="a picture of the glass box by itself, as .svg and .png, or all; repeatable")
    ] = None,
) -> None:
    from headway.architectures import VitArchitecture
    from headway.bundle import read_manifest
    from headway.family.kinds import find_verb
    from headway.progress import Display

    architecture = read_manifest(model).architecture
    verb = find_verb(architecture)
    if target is not None and verb != "translate":
        raise RequestError(f"{model} does not translate: it has no translation to read.", "Leave out --target.")
    if layer is not None and (full or picture):
        raise RequestError("The glass box has all layers.", "Leave out --layer; --picture encoder-2 is one of a layer.")
    with Display() as display:
        if full or picture:
            glass = _see(model, verb, sentence, target, display)
            _write_glass(glass, out, full, picture or [], display)
        elif isinstance(architecture, VitArchitecture):
            _write_pictures(model, Path(sentence), out, layer, display)
        elif verb == "translate":
            inside = _translate(model, sentence, target, display)
            _write_page(inside, inside.translation, sentence, out, layer, display)
        else:
            reading = _read(model, verb, sentence)
            _write_page(reading, reading.answer, sentence, out, layer, display)


def _translate(model: Path, sentence: str, target: str | None, display: "Display") -> "Inside":
    from headway import load

    translator = load(model)
    inside = translator.inspect(sentence, target)
    if warning := translator.warn([sentence]):
        display.say(warning)
    return inside


def _read(model: Path, verb: "Verb", text: str) -> "Reading":
    from headway.family.classifier import Classifier
    from headway.family.filler import Filler
    from headway.family.generator import Generator

    if verb == "generate":
        return Generator.load(model).inspect(text)
    return Filler.load(model).inspect(text) if verb == "fill" else Classifier.load(model).inspect(text)


def _see(model: Path, verb: "Verb", sentence: str, target: str | None, display: "Display") -> "Glass":
    from headway import load
    from headway.family.classifier import Classifier
    from headway.family.filler import Filler
    from headway.family.generator import Generator
    from headway.glass.relatives import see_classifier, see_filler, see_generator, see_picture
    from headway.glass.translation import see_translation

    if verb == "translate":
        translator = load(model)
        glass = see_translation(translator, sentence, target)
        if warning := translator.warn([sentence]):
            display.say(warning)
        return glass
    if verb == "generate":
        return see_generator(Generator.load(model), sentence)
    if verb == "fill":
        return see_filler(Filler.load(model), sentence)
    classifier = Classifier.load(model)
    return see_picture(classifier, Path(sentence)) if classifier.reads_pictures else see_classifier(classifier, sentence)


def _write_glass(glass: "Glass", out: Path, full: bool, pictures: list[str], display: "Display") -> None:
    from headway.reports.glass.page import write_glass, write_pictures

    display.say(f"{glass.sentence}\n→ {glass.answer}" if glass.answer else glass.sentence)
    if pictures:
        written = write_pictures(glass, pictures, out, display)
        display.say(f"Made {', '.join(str(path) for path in written if path.suffix == '.png')}, and a .svg of each.")
    if full:
        page = write_glass(glass, out)
        display.say(f"Made {page}. Open in a browser:\n  {page.absolute().as_uri()}")


def _write_page(inside: "Inside | Reading", answer: str, text: str, out: Path, layer: int | None, display: "Display") -> None:
    from headway.reports.inside.page import write_inside

    display.say(f"{text}\n→ {answer}" if answer else text)
    page = write_inside(inside, text, out, display, only_layer=layer)
    display.say(f"Made {page}, and pictures beside it. Open in a browser:\n  {page.absolute().as_uri()}")


def _write_pictures(model: Path, path: Path, out: Path, layer: int | None, display: "Display") -> None:
    from headway.family.classifier import Classifier
    from headway.reports.inside.picture_attention import write_picture_inside

    reading = Classifier.load(model).inspect_picture(path)
    display.say(f"{path}\n→ {reading.answer}")
    written = write_picture_inside(reading, path.name, out, display, only_layer=layer)
    display.say(f"Made in {out}: {', '.join(file.name for file in written if file.suffix == '.png')}, and a .svg of each.")
