"""Pictures as people have them: files that Pillow reads, directories of them, and IDX as MNIST comes. C channels.

A picture comes out as uint8 [C, size, size]: grey or in colours, upright, without transparency, squeezed into the square.
"""

import gzip
import math
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.amounts import amount
from headway.errors import DataError, HeadwayError, RequestError

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp")
LARGEST = 224  # pixels a side that are kept of pictures of any size, unless more are asked for

_IMAGES, _LABELS = "-images-idx3-ubyte", "-labels-idx1-ubyte"
_KINDS = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}  # of IDX, by its third byte
_GREY = {"1", "L", "LA", "La", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"}


@dataclass(frozen=True)
class PictureCorpus:
    """Pictures with their classes, read anew at each `read(size, channels)`: uint8 [C, size, size] and the class's label."""

    files: list[Path]
    labels: list[str]  # the classes, each once, in their order
    channels: int  # of the first picture
    size: int  # its shorter side
    length: int
    read: Callable[[int, int], Iterator[tuple[np.ndarray, str]]]

    def __len__(self) -> int:
        return self.length


def open_pictures(spec: str) -> PictureCorpus:
    """Open `STEM`, meaning STEM-images-idx3-ubyte and STEM-labels-idx1-ubyte (.gz too), or a directory that has a directory
    of pictures for each class.
    """
    if Path(spec).is_dir():
        return _open_directory(Path(spec))
    images, labels = _find_idx(f"{spec}{_IMAGES}"), _find_idx(f"{spec}{_LABELS}")
    if images and labels:
        return _open_idx(images, labels)
    missing = f"{spec}{_LABELS if images else _IMAGES}"
    raise DataError(
        f"There is no directory {spec} and no file {missing}[.gz].",
        f"Give a directory with one directory of pictures for each class, or STEM for STEM{_IMAGES} and STEM{_LABELS}.",
    )


def find_pictures(directory: Path) -> list[Path]:
    """All files below that are called like pictures, in alphabetical order."""
    found = (path for path in directory.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    return sorted(path for path in found if not _is_hidden(path.relative_to(directory)))


def read_picture(path: Path, *, channels: int, size: int) -> np.ndarray:
    """uint8 [C, size, size]. One channel is grey, three are red, green and blue; what was transparent is white."""
    with _open_picture(path) as picture:
        return fit_picture(picture, channels=channels, size=size)


def fit_picture(picture: "Image", *, channels: int, size: int) -> np.ndarray:
    """The same of a picture that is open."""
    from PIL import Image, ImageOps

    if channels not in (1, 3):
        raise RequestError(f"Pictures cannot have {channels} channels.", "They are grey (1) or in colours (3).")
    picture = ImageOps.exif_transpose(picture)
    if picture.mode == "I" or picture.mode.startswith("I;16"):  # 16 bits, of which Pillow would cut off the upper ones
        values = np.asarray(picture).astype(np.int64).clip(0, 65535)
        picture = Image.fromarray(((values + 128) // 257).astype(np.uint8))
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    picture = picture.convert("L" if channels == 1 else "RGB")
    if picture.size != (size, size):
        picture = picture.resize((size, size), Image.Resampling.BILINEAR)
    pixels = np.array(picture)
    return pixels[None] if channels == 1 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def read_idx(path: Path) -> np.ndarray:
    """The array in a file of the IDX format: what kind of numbers, how many of them each way, and the numbers."""
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.", "Check the name.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}.", "It is damaged or cut off: copy it again.") from None
    kind, dimensions = (_KINDS.get(content[2]), content[3]) if content[:2] == b"\0\0" and len(content) > 3 else (None, 0)
    begin = 4 + 4 * dimensions
    if kind is None or dimensions == 0 or len(content) < begin:
        raise DataError(
            f"{path} is no IDX file.", "It would begin with two zero bytes, a kind of numbers and their dimensions."
        )
    shape = struct.unpack(f">{dimensions}I", content[4:begin])
    wanted = math.prod(shape) * np.dtype(kind).itemsize
    if len(content) - begin != wanted:
        raise DataError(
            f"{path} has {len(content) - begin:,} bytes of numbers, and its head tells of {wanted:,}: {list(shape)}.",
            "It is damaged or cut off: copy it again.",
        )
    return np.frombuffer(content, kind, offset=begin).reshape(shape)


def _open_idx(images: Path, labels: Path) -> PictureCorpus:
    pixels, numbers = read_idx(images), read_idx(labels)
    if pixels.ndim != 3 or pixels.dtype != np.uint8 or 0 in pixels.shape:
        raise DataError(f"{images} holds no grey pictures: {pixels.dtype} of {list(pixels.shape)}.", "Check what file it is.")
    if numbers.shape != pixels.shape[:1]:
        raise DataError(
            f"{images} has {amount(len(pixels), 'picture')}, but {labels} has labels of shape {list(numbers.shape)}.",
            "Number n of one must be the label of number n of the other.",
        )

    def read(size: int, channels: int) -> Iterator[tuple[np.ndarray, str]]:
        as_it_is = pixels.shape[1:] == (size, size) and channels in (1, 3)
        for one, number in zip(pixels, numbers.tolist(), strict=True):
            yield one[None].repeat(channels, axis=0) if as_it_is else _fit_array(one, size, channels), str(number)

    names = [str(number) for number in np.unique(numbers).tolist()]
    return PictureCorpus([images, labels], names, 1, min(pixels.shape[1:]), len(pixels), read)


def _open_directory(directory: Path) -> PictureCorpus:
    classes = sorted(path for path in directory.iterdir() if path.is_dir() and not _is_hidden(Path(path.name)))
    if not classes:
        raise DataError(
            f"{directory} has no directories in it.", "Put the pictures of each class into a directory of its name."
        )
    found = [(path, one.name) for one in classes for path in find_pictures(one)]
    empty = [one.name for one in classes if one.name not in {label for _, label in found}]
    if empty:
        raise DataError(
            f"{directory} has directories without a picture: {', '.join(empty[:10])}.",
            f"Each is a class; take out what is none. Pictures end in {', '.join(ENDINGS)}.",
        )
    with _open_picture(found[0][0]) as first:
        channels, size = 1 if first.mode in _GREY else 3, min(*first.size, LARGEST)

    def read(size: int, channels: int) -> Iterator[tuple[np.ndarray, str]]:
        for path, label in found:
            yield read_picture(path, channels=channels, size=size), label

    return PictureCorpus([path for path, _ in found], [one.name for one in classes], channels, size, len(found), read)


def _find_idx(name: str) -> Path | None:
    return next((path for path in (Path(name), Path(f"{name}.gz")) if path.is_file()), None)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _fit_array(pixels: np.ndarray, size: int, channels: int) -> np.ndarray:
    return fit_picture(_pillow().fromarray(pixels), channels=channels, size=size)


@contextmanager
def _open_picture(path: Path) -> Iterator["Image"]:
    """A picture's file; whatever is wrong with it, now or when its pixels are read, is said with its name."""
    pillow = _pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            with pillow.open(path) as picture:
                yield picture
    except HeadwayError:
        raise
    except Exception as error:  # a damaged file makes Pillow's readers stumble in as many ways as there are formats
        raise _explain(path, error) from None


def _explain(path: Path, error: Exception) -> DataError:
    pillow = _pillow()
    if isinstance(error, FileNotFoundError):
        return DataError(f"There is no file {path}.", "Check the name.")
    if isinstance(error, IsADirectoryError | PermissionError):
        return DataError(f"{path} cannot be read: {error.strerror}.", "Give a picture that you may read.")
    if isinstance(error, pillow.DecompressionBombError | pillow.DecompressionBombWarning):
        return DataError(
            f"{path} is too large: pictures of more than {pillow.MAX_IMAGE_PIXELS:,} pixels are not read.",
            "Make it smaller first, or take it out.",
        )
    if isinstance(error, pillow.UnidentifiedImageError):
        return DataError(
            f"{path} is no picture, or of an unknown kind.", f"Known are {', '.join(ENDINGS)}; if it is one, it is damaged."
        )
    return DataError(f"{path} is damaged: {error}.", "Make it or copy it again, or take it out.")


def _pillow() -> Any:
    try:
        import PIL.Image
    except ImportError:
        raise HeadwayError("Reading pictures needs Pillow.", "pip install 'headway[images]'") from None
    return PIL.Image
