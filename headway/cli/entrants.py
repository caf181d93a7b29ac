"""Who is evaluated, as named on the command line: models that translate, and files of translations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.cli.given_files import Text, check_together, read_text
from headway.errors import RequestError
from headway.reports.short_names import shorten

if TYPE_CHECKING:
    from headway.bundle import Manifest
    from headway.evaluation.evaluation import System
    from headway.progress import Display


@dataclass(frozen=True)
class Entrant:
    """A system. Several paths are its seeds."""

    name: str
    paths: list[Path]
    models: list[Path]  # those of the paths that are models

    def translate(
        self, sources: list[str] | None, written: Mapping[Path, list[str]], display: "Display", **how: Any
    ) -> "System":
        """Its translations, made now or written already."""
        from headway.evaluation.evaluation import System

        outputs = []
        for path in self.paths:
            if path in self.models:
                assert sources is not None
                outputs.append(_translate(path, sources, display, **how))
            else:
                outputs.append(written[path])
        return System(self.name, outputs)


def _translate(
    model: Path, sources: list[str], display: "Display", *, engine: Any, compute_type: Any, **search: Any
) -> list[str]:
    from headway import load

    work = f"Translating with {model}"
    translator = load(model, engine=engine, compute_type=compute_type)
    found = translator.translate(sources, on_progress=lambda done, total: display.update(work, done, total), **search)
    return [translation.text for translation in found]


def read_translations(entrants: "Sequence[Entrant]", references: Sequence[Text]) -> dict[Path, list[str]]:
    """The files of all systems, read and held against the references before a model takes its time."""
    written: dict[Path, list[str]] = {}
    for path in (path for entrant in entrants for path in entrant.paths if path not in entrant.models):
        if path not in written:
            text = read_text(path, "translations")
            for reference in references:
                check_together(text, reference)
            written[path] = text.lines
    return written


def name_entrants(models: list[Path], files: list[Path], others: list[str]) -> list[Entrant]:
    """The first system and what it is compared with, each under a name of its own."""
    systems = [models or files, *map(_divide, others)]
    paths = [path for seeds in systems for path in seeds]
    short = dict(zip(paths, shorten(paths), strict=True))
    entrants: list[Entrant] = []
    for seeds in systems:
        name = short[seeds[0]] if len(seeds) == 1 else f"{short[seeds[0]]} and {len(seeds) - 1} more"
        same = sum(entrant.name == name or entrant.name.startswith(f"{name} (") for entrant in entrants)
        translating = models if not entrants else [path for path in seeds if path.is_dir()]
        entrants.append(Entrant(f"{name} ({same + 1})" if same else name, seeds, translating))
    return entrants


def _divide(words: str) -> list[Path]:
    """Seeds are separated by commas; a file whose name has one is that file."""
    names = [words] if Path(words).exists() else [name.strip() for name in words.split(",")]
    if not all(names):
        raise RequestError(f"--compare {words} has an empty name.", "Separate seeds by single commas: --compare a.de,b.de")
    return [Path(name) for name in names]


def check_directions(entrants: Sequence[Entrant], source_language: str, target_language: str) -> dict[str, str]:
    """Refuse models that are no translators, and translators of other languages, before anything takes time.

    What all that are left are to be told, as `Translator.translate` takes it.
    """
    from headway.bundle import read_bundle, read_manifest
    from headway.directions import is_same, match_directions
    from headway.family.kinds import find_verb, require

    wanted, who = (source_language, target_language), "--from and --to"
    for path in (path for entrant in entrants for path in entrant.models):
        manifest = read_manifest(path)
        if find_verb(manifest.architecture) != "translate":
            require(read_bundle(path), "translate")
        own = (manifest.source_language, manifest.target_language)
        if len(manifest.directions) > 1:
            first, *others = match_directions(manifest.directions, to=wanted[1], from_=wanted[0])
            own = ("" if others else first.source, first.target)
        if not all(is_same(asked, has) for asked, has in zip(wanted, own, strict=True)):
            asked = " to ".join(word or "any language" for word in wanted)
            raise RequestError(
                f"{path} translates from {own[0]} to {own[1]}; {who} ask for {asked}.",
                "Take a model of that direction, or other languages.",
            )
        if not any(wanted):
            wanted, who = own, f"{path} and its text"
    return {"from_": wanted[0], "to": wanted[1]}


def check_endings(entrants: Sequence[Entrant], source: Path, references: Sequence[Path]) -> None:
    """Refuse files whose names say that a model would translate in the wrong direction."""
    from headway.bundle import read_manifest
    from headway.directions import base_of

    for path in (path for entrant in entrants for path in entrant.models):
        manifest = read_manifest(path)
        ways = [(base_of(one.source), base_of(one.target)) for one in manifest.directions]
        if not ways or any(own[0] == own[1] for own in ways) or len({*ways}) > 1:
            continue  # of several, --to must say which
        own = ways[0]
        insist = f"if the name misleads: --from {own[0]} --to {own[1]}"
        if _ending(source) == own[1]:
            raise RequestError(
                f"{path} translates from {own[0]} to {own[1]}, but the source {source} is {own[1]} by its name.",
                f"Exchange --source and --references, or take a model of the other direction; {insist}",
            )
        for reference in references:
            if _ending(reference) == own[0]:
                raise RequestError(
                    f"{path} translates from {own[0]} to {own[1]}, but the references {reference} are {own[0]} by their name.",
                    f"Give the {own[1]} side; {insist}",
                )


def _ending(file: Path) -> str:
    from headway.directions import base_of

    return base_of(file.suffix.removeprefix("."))


def note_other_settings(entrants: Sequence[Entrant]) -> list[str]:
    """Seeds of one system differ by their seed alone: of models that differ by more, a mean tells little."""
    from headway.bundle import read_manifest

    notes = []
    for entrant in entrants:
        manifests = [read_manifest(path) for path in entrant.models]
        if any(_differ(manifests[0], other) for other in manifests[1:]):
            notes.append(
                f"The models {entrant.name} differ by more than the seed of their training. They are averaged as seeds of one "
                "system; to compare them, use --compare."
            )
    return notes


def _differ(one: "Manifest", other: "Manifest") -> bool:
    """By their shape, their training text, or the settings that a report of runs compares."""
    from headway.reports.runs.comparison import DIVISION, FOLLOWING, SEED

    if one.architecture != other.architecture:
        return True
    settings = [_flatten(manifest.provenance.settings) for manifest in (one, other)]
    if not all(settings):  # nobody knows how a model from elsewhere was trained
        return False
    timed = all(told.get("training.max_minutes") for told in settings)
    ignored = {SEED} | DIVISION | (FOLLOWING if timed else set())
    names = (settings[0].keys() | settings[1].keys()) - ignored
    data = [manifest.provenance.data for manifest in (one, other)]
    return data[0] != data[1] or any(settings[0].get(name) != settings[1].get(name) for name in names)


def _flatten(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{section}.{name}": value for section, values in settings.items() for name, value in values.items()}
