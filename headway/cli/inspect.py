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

import os
import shlex
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.searching import FromOption, SourcePrefixOption, ToOption
from headway.errors import DataError, RequestError

if TYPE_CHECKING:
    from headway.family.kinds import Verb
    from headway.family.reading import Reading
    from headway.glass.parts import Glass
    from headway.progress import Display
    from headway.translator import Inside


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    words: Annotated[
        list[str],
        typer.Argument(metavar="SENTENCE", help="the sentence to look into, in quotes; for a ViT the file of a picture"),
    ],
    to: ToOption = "",
    from_: FromOption = "",
    source_prefix: SourcePrefixOption = "",
    target: Annotated[str | None, typer.Option(help="a translation to read instead of the model's own")] = None,
    out: Annotated[Path, typer.Option("--output", "-o", help="directory to write to")] = Path("inspect"),
    layer: Annotated[int | None, typer.Option(min=1, help="pictures of this layer only; the page always has all")] = None,
    full: Annotated[bool, typer.Option("--full", help="the glass box: all that is computed, from pieces to beam")] = False,
    picture: Annotated[
        list[str] | None, typer.Option(help="a picture of the glass box by itself, as .svg and .png, or all; repeatable")
    ] = None,
) -> None:
    from headway.architectures import TwoStacks, VitArchitecture
    from headway.bundle import read_manifest
    from headway.family.kinds import find_verb
    from headway.progress import Display
    from headway.reports.glass.page import check_pictures
    from headway.reports.glass.pictures import foresee_pictures
    from headway.reports.inside.page import check_layer

    if len(words) > 1:
        whole = shlex.quote(" ".join(words))
        raise RequestError(f"There are {len(words)} arguments after the model.", f"Put the sentence in quotes: {whole}")
    if out.exists() and not out.is_dir():
        raise RequestError(f"{out} is a file.", "Give --output a directory.")
    (sentence,) = words
    architecture = read_manifest(model).architecture
    verb = find_verb(architecture)
    if target is not None and verb != "translate":
        raise RequestError(f"{model} does not translate: it has no translation to read.", "Leave out --target.")
    if verb != "translate" and (to or from_ or source_prefix):
        raise RequestError(f"{model} does not translate.", "Leave out --to, --from and --source-prefix.")
    ways = {"to": to, "from_": from_, "source_prefix": source_prefix}
    if layer is not None and (full or picture):
        raise RequestError("The glass box has all layers.", "Leave out --layer; --picture encoder-2 is one of a layer.")
    deepest = max(architecture.n_layers, architecture.n_decoder_layers if isinstance(architecture, TwoStacks) else 0)
    check_layer(layer, deepest)
    if picture:
        check_pictures(picture, foresee_pictures(architecture, searched=target is None))
    is_file = os.path.isfile(sentence)  # noqa: PTH113 (no text is too long for it)
    if isinstance(architecture, VitArchitecture) and not is_file:
        raise DataError(
            f"There is no file {sentence}.", f"{model} reads pictures, not text: give the file of one, as seven.png."
        )
    with Display() as display:
        if is_file and not isinstance(architecture, VitArchitecture):
            display.say(f"{sentence} is also a file: what is read here is its name, not what it holds.")
        if full or picture:
            glass = _see(model, verb, sentence, target, ways, display)
            glass = replace(glass, answer=_tell_answer(verb, glass.answer))
            _write_glass(glass, out, full, picture or [], display)
        elif isinstance(architecture, VitArchitecture):
            _write_pictures(model, Path(sentence), out, layer, display)
        elif verb == "translate":
            inside = _translate(model, sentence, target, ways, display)
            _write_page(inside, inside.translation, sentence, out, layer, display)
        else:
            reading = _read(model, verb, sentence)
            reading = replace(reading, answer=_tell_answer(verb, reading.answer))
            _write_page(reading, reading.answer, sentence, out, layer, display)


def _translate(model: Path, sentence: str, target: str | None, ways: dict[str, str], display: "Display") -> "Inside":
    from headway import load

    translator = load(model)
    inside = translator.inspect(sentence, target, **ways)
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


def _tell_answer(verb: "Verb", answer: str) -> str:
    """So that a person knows what it is: a class by that word, and what leaves no mark on a screen by its name."""
    if verb == "classify":
        return f"class {answer}"
    if verb == "generate" and not any(letter.isprintable() and not letter.isspace() for letter in answer.removeprefix("…")):
        following = answer.removeprefix("…")
        return f"…{'‹line break›' if chr(10) in following else '‹space›' if following.isspace() else '‹nothing to see›'}"
    return answer


def _see(model: Path, verb: "Verb", sentence: str, target: str | None, ways: dict[str, str], display: "Display") -> "Glass":
    from headway import load
    from headway.family.classifier import Classifier
    from headway.family.filler import Filler
    from headway.family.generator import Generator
    from headway.glass.relatives import see_classifier, see_filler, see_generator, see_picture
    from headway.glass.translation import see_translation

    if verb == "translate":
        translator = load(model)
        glass = see_translation(translator, sentence, target, **ways)
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
        display.say(_tell_made(written, out))
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
    reading = replace(reading, answer=_tell_answer("classify", reading.answer))
    display.say(f"{path}\n→ {reading.answer}")
    written = write_picture_inside(reading, path.name, out, display, only_layer=layer)
    display.say(_tell_made(written, out))


def _tell_made(written: list[Path], out: Path) -> str:
    if len(written) == 2:
        return f"Made {written[0]} and {written[1].name}."
    names = ", ".join(path.stem for path in written if path.suffix == ".png")
    return textwrap.fill(f"Made in {out}, each as .png and .svg: {names}.", 100, break_long_words=False, break_on_hyphens=False)
