"""Options that several verbs share: what computes, and how translations are searched for."""

from pathlib import Path
from typing import Annotated, Literal

import typer

EngineOption = Annotated[
    Literal["auto", "torch", "ctranslate2"],
    typer.Option(help="what computes; auto takes CTranslate2 for all that it can do, else torch"),
]
ComputeTypeOption = Annotated[
    Literal["auto", "float32", "int8"],
    typer.Option(help="how CTranslate2 computes; auto is what was measured when the model was trained"),
]
EnsembleOption = Annotated[
    list[Path] | None, typer.Option("--with", help="another model of the same vocabulary, averaged with the first; repeatable")
]
BeamOption = Annotated[int | None, typer.Option(min=1, help="hypotheses kept at each step; 1 is greedy")]
AlphaOption = Annotated[float | None, typer.Option(min=0, help="alpha, exponent of the length penalty; more is longer")]
PenaltyOption = Annotated[
    Literal["paper", "power"] | None, typer.Option(help="what alpha is the exponent of: (5 + n) / 6 as in the paper, or n")
]
BatchOption = Annotated[int | None, typer.Option(min=1, help="source tokens at once; what suits the engine if not given")]
ToOption = Annotated[str, typer.Option("--to", help="target language, of a model that has several")]
FromOption = Annotated[str, typer.Option("--from", help="source language, of a model that has several")]
SourcePrefixOption = Annotated[
    str, typer.Option(help="put before each sentence that is read, as --prefix in training was: '<news> '")
]
