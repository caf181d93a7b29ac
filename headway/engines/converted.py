"""The CTranslate2 form of a bundle: made when training ends, otherwise once, on demand, and kept beside the bundle.

`runs/en-de/best` has its form in `runs/en-de/best.ctranslate2/KEY`, where KEY is the beginning of the SHA-256 of its weights.
Where nothing can be written beside the bundle, the user's cache directory takes its place.
"""

import json
import os
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
    return next((place for place in _places(bundle) if _is_whole(place)), None)


def make_form(bundle: Bundle) -> Path:
    """Convert the bundle, in place of the forms of earlier weights. Of several processes that want it, one does it."""
    beside, cached = _places(bundle)
    try:
        _write(bundle, beside)
    except HeadwayError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        _write(bundle, cached)
        return cached
    for other in beside.parent.iterdir():
        if other != beside and len(other.name) == _KEY and (other / SUMS).is_file():
            _remove(other)
            other.with_name(f".{other.name}.lock").unlink(missing_ok=True)
    return beside


def _places(bundle: Bundle) -> tuple[Path, Path]:
    key = bundle.manifest.files[WEIGHTS][:_KEY]
    directory = bundle.directory.absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return directory.with_name(f"{directory.name}.ctranslate2") / key, cache / "headway" / "ctranslate2" / key


def _write(bundle: Bundle, place: Path) -> None:
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(place.with_name(f".{place.name}.lock")):
            if not _is_whole(place):  # nobody was faster
                _convert(bundle, place)


def _convert(bundle: Bundle, place: Path) -> None:
    with new_directory(place) as new:
        write_ctranslate2(bundle, new)
        sums = {path.name: sha256(path) for path in sorted(new.iterdir())}
        (new / SUMS).write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")


def _is_whole(place: Path) -> bool:
    try:
        sums = json.loads((place / SUMS).read_text(encoding="utf-8"))
        return all(sha256(place / name) == digest for name, digest in sums.items())
    except (OSError, ValueError, AttributeError):
        return False


def _remove(form: Path) -> None:
    for path in form.iterdir():
        path.unlink()
    form.rmdir()
