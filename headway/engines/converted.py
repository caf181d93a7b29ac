"""The CTranslate2 form of a bundle: made when training ends, otherwise once, on demand, and kept beside the bundle.

`runs/en-de/best` has its form in `runs/en-de/best.ctranslate2/KEY`, where KEY is the beginning of the SHA-256 of its weights.
Where nothing can be written beside the bundle, the user's cache directory takes its place.
"""

import json
import os
import shutil
from pathlib import Path

from filelock import FileLock

from headway.atomic import new_directory, writing
from headway.bundle import WEIGHTS, Bundle, sha256
from headway.errors import HeadwayError
from headway.export.ctranslate2 import write_ctranslate2

SUMS = "headway-sums.json"
_KEY = 16  # characters of the SHA-256 that a form is named by


def find_form(bundle: Bundle) -> Path | None:
    """The bundle's form, if it stands somewhere and is whole."""
    return next((place for where in (_beside, _cached) if _is_whole(place := where(bundle))), None)


def has_form(bundle: Bundle) -> bool:
    """Whether one seems to stand there: a quick look."""
    return any((where(bundle) / SUMS).is_file() for where in (_beside, _cached))


def make_form(bundle: Bundle) -> Path:
    """Convert the bundle, in place of the forms of earlier weights. Of several processes that want it, one does it."""
    try:
        return _write(bundle, _beside(bundle))
    except HeadwayError as error:
        if not isinstance(error.__cause__, OSError):
            raise
    return _write(bundle, _cached(bundle))


def _beside(bundle: Bundle) -> Path:
    directory = bundle.directory.absolute()
    return directory.with_name(f"{directory.name}.ctranslate2") / _key(bundle)


def _cached(bundle: Bundle) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(cache) / "headway" / "ctranslate2" / _key(bundle)


def _key(bundle: Bundle) -> str:
    return bundle.manifest.files[WEIGHTS][:_KEY]


def _write(bundle: Bundle, place: Path) -> Path:
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(place.parent / ".lock"):
            if not _is_whole(place):  # nobody was faster
                with new_directory(place) as new:
                    write_ctranslate2(bundle, new)
                    sums = {path.name: sha256(path) for path in sorted(new.iterdir())}
                    (new / SUMS).write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")
            if place == _beside(bundle):
                for other in place.parent.iterdir():
                    if other != place and (other / SUMS).is_file():
                        shutil.rmtree(other, ignore_errors=True)
    return place


def _is_whole(place: Path) -> bool:
    try:
        sums = json.loads((place / SUMS).read_text(encoding="utf-8"))
        return all(sha256(place / name) == digest for name, digest in sums.items())
    except (OSError, ValueError, AttributeError):
        return False
