"""For example:

    headway inspect runs/en-de/best "A dog runs." --output inspect

writes inspect/inside.html, one page to open in a browser, and pictures of every layer's heads: encoder-1.png, decoder-1.png,
cross-1.png, ... with a .svg of each; and of what tells positions apart. With --target it shows how the model reads a
translation that it did not write.
"""

from pathlib import Path
from typing import Annotated

import typer


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    sentence: Annotated[str, typer.Argument(help="the sentence to look into, in quotes")],
    target: Annotated[str | None, typer.Option(help="a translation to read instead of the model's own")] = None,
    out: Annotated[Path, typer.Option("--output", "-o", help="directory to write to")] = Path("inspect"),
    layer: Annotated[int | None, typer.Option(min=1, help="pictures of this layer only; the page always has all")] = None,
) -> None:
    from headway import load
    from headway.progress import Display
    from headway.reports.inside import write_inside

    translator = load(model)
    inside = translator.inspect(sentence, target)
    with Display() as display:
        if warning := translator.warn([sentence]):
            display.say(warning)
        display.say(f"{sentence}\n→ {inside.translation}")
        page = write_inside(inside, sentence, out, display, only_layer=layer)
        display.say(f"Made {page}, and pictures beside it. Open in a browser:\n  {page.absolute().as_uri()}")
