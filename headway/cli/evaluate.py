"""For example:

    headway evaluate runs/en-de/best --source test.en --references test.de

or, for translations that are there already, beside those of another program:

    headway evaluate --hypotheses a.de --references test.de --compare b.de

or on one of sacreBLEU's test sets, which it downloads:

    headway evaluate runs/en-de/best --testset wmt14 --from en --to de

Several models, or several --hypotheses, are seeds of one system, and are averaged; --compare compares.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.searching import (
    AlphaOption,
    BeamOption,
    ComputeTypeOption,
    EngineOption,
    PenaltyOption,
    SourcePrefixOption,
)
from headway.errors import RequestError

if TYPE_CHECKING:
    from headway.cli.entrants import Entrant
    from headway.cli.given_files import Text


def run(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="MODEL", help="directory of the model that translates the source; several are seeds"),
    ] = None,
    source: Annotated[Path | None, typer.Option(help="text to translate; beside --hypotheses what they translate")] = None,
    hypotheses: Annotated[
        list[Path] | None, typer.Option(help="translations to score, instead of a model's; several are seeds")
    ] = None,
    references: Annotated[list[Path] | None, typer.Option(help="reference translations; repeatable")] = None,
    testset: Annotated[str | None, typer.Option(help="source and references of sacreBLEU's, such as wmt14")] = None,
    source_language: Annotated[str, typer.Option("--from", help="language of the source")] = "",
    target_language: Annotated[str, typer.Option("--to", help="language of the translations")] = "",
    compare: Annotated[
        list[str] | None,
        typer.Option(help="another system: a model or a file of translations; its seeds separated by commas; repeatable"),
    ] = None,
    training: Annotated[
        list[Path] | None, typer.Option(help="target side of the training text, to tell of rare words; repeatable")
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", "-lc", help="score without regard to case")] = False,
    compound_split: Annotated[
        bool, typer.Option("--compound-split", help="also BLEU in the paper's manner: compounds put apart at hyphens")
    ] = False,
    draws: Annotated[int, typer.Option(help="resampled test sets, for intervals and tests; 100 or more")] = 1000,
    source_prefix: SourcePrefixOption = "",
    beam: BeamOption = None,
    length_penalty: AlphaOption = None,
    penalty: PenaltyOption = None,
    engine: EngineOption = "auto",
    compute_type: ComputeTypeOption = "auto",
    report: Annotated[Path | None, typer.Option(help="page to write, such as evaluation.html")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    from headway.cli.entrants import check_directions, check_endings, name_entrants, note_other_settings, read_translations
    from headway.cli.evaluation_table import print_evaluation
    from headway.cli.given_files import check_given, read_text
    from headway.data.readers import check_file
    from headway.evaluation.evaluate import check_draws, check_references, evaluate
    from headway.evaluation.record import to_dict
    from headway.progress import Display

    _check(models, hypotheses, source, references, testset, report)
    check_draws(draws)
    if testset:
        from headway.evaluation.testsets import check_testset, find_testset

        check_testset(testset, source_language, target_language)
    entrants = name_entrants(models or [], hypotheses or [], compare or [])
    others = [path for entrant in entrants[1:] for path in entrant.paths if path not in entrant.models]
    given = {"--source": [source] if source else [], "--hypotheses": hypotheses or [], "--references": references or []}
    check_given(given | {"--compare": others, "--training": training or []})
    for path in training or []:
        check_file(path)
    ways = check_directions(entrants, source_language, target_language)
    translating = any(entrant.models for entrant in entrants)
    if not translating:
        _refuse_search(source_prefix, beam, length_penalty, penalty, engine, compute_type)
    if testset:
        with Display() as display:
            display.update(f"Asking sacreBLEU for {testset}", 0, None)
            found = find_testset(testset, source_language, target_language)
        source, references = found.source, found.references
    assert references
    if source is None and translating:
        raise RequestError("A model needs a text to translate.", "Give it: --source test.en")
    if source and not source_language and not target_language:
        check_endings(entrants, source, references)
    texts = [read_text(path, "references") for path in references]
    streams = [text.lines for text in texts]
    sources = _read_source(source, texts) if source else None
    written = read_translations(entrants, texts)
    check_references(streams)
    search = {"beam": beam, "length_penalty": length_penalty, "penalty": penalty, "source_prefix": source_prefix, **ways}
    with Display() as display:
        systems = [
            entrant.translate(sources, written, display, engine=engine, compute_type=compute_type, **search)
            for entrant in entrants
        ]
        evaluation = evaluate(
            systems,
            streams,
            sources=sources,
            training=_read_all(training) if training else None,
            lowercase=lowercase,
            compound_split=compound_split,
            draws=draws,
            on_progress=display.update,
        )
    evaluation = replace(evaluation, notes=[*note_other_settings(entrants), *evaluation.notes])
    if as_json:
        print(json.dumps(to_dict(evaluation), ensure_ascii=False))
    else:
        print_evaluation(evaluation)
    sys.stdout.flush()
    if report:
        from headway.reports.evaluation.page import write_evaluation

        page = write_evaluation(evaluation, report, title=_title(entrants, testset, references))
        print(f"The page is {page}.", file=sys.stderr)


def _check(
    models: list[Path] | None,
    hypotheses: list[Path] | None,
    source: Path | None,
    references: list[Path] | None,
    testset: str | None,
    report: Path | None,
) -> None:
    if testset and (source or references):
        raise RequestError(
            "A test set has its own source and references.", "Leave out --source and --references, or --testset."
        )
    if not references and not testset:
        raise RequestError("Not given: --references.", "As in: headway evaluate MODEL --source test.en --references test.de")
    if bool(models) == bool(hypotheses) or (models and not source and not testset):
        raise RequestError("Give either a model and --source, or --hypotheses.", "`headway evaluate --help` has examples.")
    for path in models or []:
        if path.is_file():
            raise RequestError(f"{path} is a file, not the directory of a model.", f"For translations: --hypotheses {path}")
    for path in hypotheses or []:
        if path.is_dir():
            raise RequestError(
                f"{path} is a directory, not a file of translations.",
                f"For a model: headway evaluate {path} --source test.en --references test.de",
            )
    if report and (report.is_dir() or report.suffix.lower() not in (".html", ".htm")):
        raise RequestError(f"{report} is no name for a page.", "Name a file, such as --report evaluation.html")
    if report and not report.parent.is_dir():
        raise RequestError(f"There is no directory {report.parent} for {report.name}.", "Make it first, or name another.")
    if report and not os.access(report.parent, os.W_OK | os.X_OK):
        raise RequestError(f"{report.parent} may not be written to.", "Give --report a place that you may write to.")


def _refuse_search(
    prefix: str, beam: int | None, length_penalty: float | None, penalty: str | None, engine: str, compute_type: str
) -> None:
    """What a model is told helps nothing where none translates."""
    search = {"--source-prefix": prefix or None, "--beam": beam, "--length-penalty": length_penalty, "--penalty": penalty}
    computing = {"--engine": engine, "--compute-type": compute_type}
    given = [name for name, value in search.items() if value is not None]
    given += [name for name, value in computing.items() if value != "auto"]
    if given:
        raise RequestError(
            f"{' and '.join(given)} would change nothing: translations that are there already are not made again.",
            f"Leave out {' and '.join(given)}, or give a model and --source in place of --hypotheses.",
        )


def _read_source(source: Path, references: "list[Text]") -> list[str]:
    from headway.cli.given_files import check_together, read_text

    text = read_text(source, "source")
    for reference in references:
        check_together(text, reference)
    return text.lines


def _read_all(paths: list[Path]) -> Iterator[str]:
    from headway.data.readers import read_lines

    for path in paths:
        yield from read_lines(path)


def _title(entrants: "list[Entrant]", testset: str | None, references: list[Path]) -> str:
    names = " and ".join(entrant.name for entrant in entrants) if len(entrants) < 3 else f"{len(entrants)} systems"
    return f"{names} on {testset or references[0].name}"
