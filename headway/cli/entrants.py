"""Who is evaluated, as named on the command line: models that translate, and files of translations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import RequestError

if TYPE_CHECKING:
    from headway.evaluation.evaluation import System
    from headway.progress import Display


@dataclass(frozen=True)
class Entrant:
    """A system. Several paths are its seeds."""

    name: str
    paths: list[Path]
    models: list[Path]  # those of the paths that are models

    def translate(
        self, sources: list[str] | None, references: Sequence[Sequence[str]], display: "Display", **how: Any
    ) -> "System":
        """Its translations, made now or read."""
        from headway.data.readers import read_lines
        from headway.evaluation.evaluation import System

        outputs = []
        for path in self.paths:
            if path in self.models:
                assert sources is not None
                outputs.append(_translate(path, sources, references, display, **how))
            else:
                outputs.append(list(read_lines(path)))
        return System(self.name, outputs)


def _translate(
    model: Path,
    sources: list[str],
    references: Sequence[Sequence[str]],
    display: "Display",
    *,
    engine: Any,
    compute_type: Any,
    **search: Any,
) -> list[str]:
    from headway import load
    from headway.evaluation.metrics import check_lengths

    check_lengths(sources, references)
    work = f"Translating with {model}"
    translator = load(model, engine=engine, compute_type=compute_type)
    found = translator.translate(sources, on_progress=lambda done, total: display.update(work, done, total), **search)
    return [translation.text for translation in found]


def name_entrants(models: list[Path], files: list[Path], others: list[str]) -> list[Entrant]:
    """The first system and what it is compared with, each under a name of its own."""
    entrants: list[Entrant] = []
    for paths in [models or files, *map(_part, others)]:
        name = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
        same = sum(entrant.name == name or entrant.name.startswith(f"{name} (") for entrant in entrants)
        translating = models if not entrants else [path for path in paths if path.is_dir()]
        entrants.append(Entrant(f"{name} ({same + 1})" if same else name, paths, translating))
    return entrants


def _part(words: str) -> list[Path]:
    """Seeds are parted by commas; a file whose name has one is that file."""
    from headway.data.readers import check_file

    names = [words] if Path(words).exists() else [name.strip() for name in words.split(",")]
    if not all(names):
        raise RequestError(f"--compare {words} has an empty name.", "Part seeds by single commas: --compare a.de,b.de")
    for name in names:
        if not Path(name).is_dir():
            check_file(Path(name), may_be_empty=True)
    return [Path(name) for name in names]


def check_directions(entrants: Sequence[Entrant], source_language: str, target_language: str) -> None:
    """Refuse models that are no translators, and translators of other languages, before anything takes time."""
    from headway.bundle import read_bundle, read_manifest
    from headway.family.kinds import find_verb, require

    wanted, who = (source_language, target_language), "--from and --to"
    for path in (path for entrant in entrants for path in entrant.models):
        manifest = read_manifest(path)
        if find_verb(manifest.architecture) != "translate":
            require(read_bundle(path), "translate")
        own = (manifest.source_language, manifest.target_language)
        if any(asked and has and _base(asked) != _base(has) for asked, has in zip(wanted, own, strict=True)):
            asked = " to ".join(word or "any language" for word in wanted)
            raise RequestError(
                f"{path} translates from {own[0]} to {own[1]}; {who} ask for {asked}.",
                "Take a model of that direction, or other languages.",
            )
        if not any(wanted):
            wanted, who = own, f"{path} and its text"


def _base(language: str) -> str:
    """de for de-AT and de_AT."""
    return language.replace("_", "-").partition("-")[0].casefold()
