"""For example:

    headway translate runs/en-de/best text.en > text.de

reads standard input where no file is given. One line comes out for each line that goes in, in order, empty for empty.

    headway translate runs/en-de/best 'crawl/**/*.en.gz' -o translated/

writes a file for each file. With -o the same command goes on after an interruption.

    headway translate runs/both-ways/best --to de text.en > text.de

chooses one of the directions of a model that was trained for several.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.help import Command
from headway.cli.searching import (
    AlphaOption,
    BatchOption,
    BeamOption,
    ComputeTypeOption,
    EngineOption,
    EnsembleOption,
    FromOption,
    PenaltyOption,
    SourcePrefixOption,
    ToOption,
)
from headway.errors import RequestError

if TYPE_CHECKING:
    from headway.jobs.local import Work
    from headway.jobs.render import Render


class _Command(Command):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, complete_ray(args))


COMMAND = {"cls": _Command}


def run(
    model: Annotated[Path, typer.Argument(help="directory of the model")],
    files: Annotated[
        list[str] | None,
        typer.Argument(help="files to translate, or patterns in quotes; .gz and .zst too; standard input if none"),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--output", "-o", help="file to write instead of standard output, or directory for a file each"),
    ] = None,
    to: ToOption = "",
    from_: FromOption = "",
    others: EnsembleOption = None,
    engine: EngineOption = "auto",
    compute_type: ComputeTypeOption = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="threads that work; one a core if not given")] = None,
    batch_tokens: BatchOption = None,
    beam: BeamOption = None,
    length_penalty: AlphaOption = None,
    penalty: PenaltyOption = None,
    patience: Annotated[float | None, typer.Option(help="times the beam: hypotheses that must have ended")] = None,
    max_extra: Annotated[
        int | None, typer.Option(min=1, help="pieces that a translation may have more than its source")
    ] = None,
    min_length: Annotated[int | None, typer.Option(min=0, help="fewest pieces of a translation")] = None,
    no_repeat_ngram: Annotated[
        int | None, typer.Option(min=0, help="no run of this many pieces comes twice; 0 lets it")
    ] = None,
    source_prefix: SourcePrefixOption = "",
    prefix: Annotated[str | None, typer.Option(help="what every translation begins with")] = None,
    terms: Annotated[
        Path | None, typer.Option(help="glossary: word, tab, translation; where the word stands, its translation must (torch)")
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=0, help="draw, from this many of the likeliest pieces; 0 is all")] = None,
    top_p: Annotated[float | None, typer.Option(help="draw, from the likeliest that together have this probability")] = None,
    temperature: Annotated[float | None, typer.Option(help="draw; above 1 wilder, below 1 tamer")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="draw, and draw the same again")] = None,
    nbest: Annotated[int, typer.Option(min=1, help="translations of each line; more than one needs --json")] = 1,
    tokens: Annotated[bool, typer.Option("--tokens", help="scores by piece; needs --json")] = False,
    alignment: Annotated[bool, typer.Option("--alignment", help="which word comes from which; needs --json")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="one JSON object a line: source, text, score, and what else is asked for")
    ] = False,
    stream: Annotated[bool, typer.Option("--stream", help="write each piece as soon as it is certain")] = False,
    shard: Annotated[
        str | None, typer.Option(help="K/N: only the K-th of N parts; their outputs one after the other are the whole")
    ] = None,
    ray: Annotated[
        str | None, typer.Option(help="run on a Ray cluster at this address; without one, on a new one of this machine")
    ] = None,
) -> None:
    search: dict[str, Any] = {
        "beam": beam,
        "length_penalty": length_penalty,
        "penalty": penalty,
        "patience": patience,
        "nbest": nbest,
    }
    search |= {"max_extra": max_extra, "min_length": min_length, "no_repeat_ngram": no_repeat_ngram}
    search |= {"top_k": top_k, "top_p": top_p, "temperature": temperature, "seed": seed}
    search |= {"to": to, "from_": from_, "source_prefix": source_prefix}
    more = {"prefixes": prefix, "batch_tokens": batch_tokens, "tokens": tokens, "alignment": alignment}
    if not as_json and (asked := _needs_json(nbest, tokens, alignment)):
        raise RequestError(f"{asked} gives more than a line of text.", "Add --json.")
    if ray and threads:
        raise RequestError("On a cluster each processor has a thread.", "Leave out --threads.")
    if ray and Path(ray).exists():
        raise RequestError(f"--ray takes {ray} for an address, but it is a file.", f"Write: --ray local {ray}")
    models, loading = [model, *(others or [])], {"engine": engine, "compute_type": compute_type}
    if stream:
        if out or ray or shard or as_json or terms or prefix or batch_tokens:
            other = "-o, --json, --prefix, --terms, --batch-tokens, --shard or --ray"
            raise RequestError(f"--stream writes text as it comes, without {other}.", "Leave one of them out.")
        _stream(models, {**loading, "threads": threads}, files or [], search)
        return

    from headway.bundle import read_manifest
    from headway.directions import match_directions
    from headway.jobs import blocks, tasks
    from headway.jobs.job import describe_request, print_task, run_tasks
    from headway.jobs.render import render_json, render_text
    from headway.text.glossary import read_glossary

    options = {**search, **more, "terms": read_glossary(terms) if terms else None}
    size, part = blocks.BLOCK, blocks.parse_shard(shard) if shard else None
    directions = match_directions(read_manifest(model).directions, to, from_)
    planned = tasks.plan_tasks(tasks.find_files(files or []), out, [(one.source, one.target) for one in directions])
    if part and out and tasks.names_directory(out):
        raise RequestError(
            "--shard cuts one output into parts, and a directory has many.", "Give -o a file, or each machine some files."
        )
    if part:
        planned = [tasks.take_shard(task, part, size) for task in planned]
    stdout = sys.stdout  # which Ray is kept from
    with _open_work(ray, models, loading, threads, options, render_json if as_json else render_text) as work:
        if out is None:
            print_task(planned[0], work, stdout, size)
        else:
            run_tasks(planned, work, describe_request(models, {**options, **loading, "json": as_json}, size), size)


def _needs_json(nbest: int, tokens: bool, alignment: bool) -> str:
    asked = {f"--nbest {nbest}": nbest > 1, "--tokens": tokens, "--alignment": alignment}
    return ", ".join(name for name, given in asked.items() if given)


@contextmanager
def _open_work(
    ray: str | None,
    models: list[Path],
    loading: dict[str, Any],
    threads: int | None,
    options: dict[str, Any],
    render: "Render",
) -> Iterator["Work"]:
    """What turns blocks of lines into their translations, here or on a cluster."""
    from headway import load

    translator = load(models, threads=threads, **loading)
    if translator.engines.must_convert():
        print("Preparing the model for CTranslate2: once, some seconds.", file=sys.stderr)
    translator.translate([], **options)  # what cannot be done is said before anything starts
    if ray:
        from headway.jobs.cluster import join_cluster

        with join_cluster(ray, models, loading, options, render) as work:
            yield work
        return
    from headway.jobs.local import make_local_work

    yield make_local_work(translator, options, render)


def _stream(models: list[Path], loading: dict[str, Any], files: list[str], search: dict[str, Any]) -> None:
    from headway import load
    from headway.jobs.blocks import read_lines
    from headway.jobs.tasks import find_files

    translator = load(models, **loading)
    translator.stream("", **search)  # what cannot be done is said before anything is read
    output = sys.stdout.buffer
    for line in read_lines(find_files(files)):
        if warning := translator.warn([line]):
            print(warning, file=sys.stderr)
        for text in translator.stream(line, **search):
            output.write(text.replace("\n", " ").encode())
            output.flush()
        output.write(b"\n")
        output.flush()


def complete_ray(arguments: list[str]) -> list[str]:
    """`--ray` without an address, last or before another option, means a cluster of this machine."""
    completed = []
    for word, following in zip_longest(arguments, arguments[1:], fillvalue="-"):
        completed += [word, "local"] if word == "--ray" and following.startswith("-") else [word]
    return completed
