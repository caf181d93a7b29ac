"""For example:

    headway generate runs/gpt/best "Once upon a time" --temperature 0.8 --top-k 40

goes on with the prompt until the model ends the text. Without an option that draws, it takes the likeliest token each time;
without a prompt, it begins a text. On a terminal the text comes as it is written.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.writing import write, write_json
from headway.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Generator as Stream

    from headway.family.generator import Generated, Generator

APART = "---"  # between two texts


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    prompts: Annotated[
        list[str] | None, typer.Argument(help="how the text begins, in quotes; several give a text each")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="tokens to write at most")] = 200,
    temperature: Annotated[float | None, typer.Option(help="draw; above 1 wilder, below 1 tamer")] = None,
    top_k: Annotated[int | None, typer.Option(min=0, help="draw, from this many of the likeliest tokens; 0 is all")] = None,
    top_p: Annotated[float | None, typer.Option(help="draw, from the likeliest that together have this probability")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="draw, and draw the same again")] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="draw this many texts from each prompt")] = None,
    stream: Annotated[
        bool | None, typer.Option("--stream/--no-stream", help="write each piece as soon as it is there; so on a terminal")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="one JSON object a line: prompt, text, and why it stopped: end, tokens or context")
    ] = False,
) -> None:
    if stream and as_json:
        raise RequestError("--stream writes text as it comes, and --json whole objects.", "Leave one of them out.")
    drawing: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed, "samples": samples}

    from headway.decoding.options import choose_sampling
    from headway.family.generator import Generator

    choose_sampling(**drawing)  # what cannot be done is said before anything is read
    generator, given = Generator.load(model), prompts or [""]
    if as_json:
        for one in generator.generate(given, max_tokens=max_tokens, **drawing):
            write_json({"prompt": one.prompt, "text": one.text, "stopped": one.stopped})
        return
    if sys.stdout.isatty() if stream is None else stream:
        found = _stream(generator, given, samples or 1, {**drawing, "max_tokens": max_tokens})
    else:
        found = generator.generate(given, max_tokens=max_tokens, **drawing)
        for number, one in enumerate(found):
            write(f"{APART}\n" if number else "", one.prompt, one.text, "\n")
    if full := sum(one.stopped == "context" for one in found):
        count = "" if len(found) == 1 else f" in {full:,} of {len(found):,} texts"
        print(f"Stopped{count} where the model's context of {generator.context:,} tokens was full.", file=sys.stderr)


def _stream(generator: "Generator", prompts: list[str], samples: int, options: dict[str, Any]) -> list["Generated"]:
    streams = [
        (prompt, generator.stream(prompt, place=(number, draw), **options))
        for number, prompt in enumerate(prompts)
        for draw in range(samples)
    ]
    found = []
    for number, (prompt, stream) in enumerate(streams):
        write(f"{APART}\n" if number else "", prompt)
        found.append(_follow(stream))
        write("\n")
    return found


def _follow(stream: "Stream[str, None, Generated]") -> "Generated":
    """Write what comes, as it comes; hands back the whole."""
    while True:
        try:
            write(next(stream))
        except StopIteration as stop:
            generated: Generated = stop.value
            return generated
