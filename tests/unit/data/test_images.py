"""Pictures of every kind come out the same way, and what is none is named."""

import gzip
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from headway.data.images import ENDINGS, find_pictures, open_pictures, read_idx, read_picture
from headway.errors import DataError, HeadwayError, RequestError

RED, GREY = (200, 40, 10), 90


def save(path: Path, mode: str = "RGB", colour: object = RED, size: tuple[int, int] = (8, 6), **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path, **options)  # type: ignore[arg-type]
    return path


def write_idx(path: Path, array: np.ndarray) -> Path:
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    content = head + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize(
    ("mode", "colour", "ending", "wanted"),
    [
        ("RGB", RED, "png", RED),
        ("RGB", RED, "bmp", RED),
        ("L", GREY, "png", (GREY,) * 3),
        ("1", 1, "png", (255,) * 3),
        ("P", 0, "gif", (0, 0, 0)),
        ("I;16", GREY * 257, "png", (GREY,) * 3),
        ("I;16", GREY * 257, "tiff", (GREY,) * 3),
        ("I", GREY * 257, "tiff", (GREY,) * 3),
        ("RGBA", (*RED, 255), "png", RED),
        ("RGBA", (*RED, 0), "png", (255, 255, 255)),
        ("RGBA", (0, 0, 0, 128), "png", (127, 127, 127)),
        ("LA", (GREY, 0), "png", (255, 255, 255)),
        ("CMYK", (0, 0, 0, 255), "tiff", (0, 0, 0)),
        ("CMYK", (0, 0, 0, 0), "jpg", (255, 255, 255)),
        ("YCbCr", (255, 128, 128), "jpg", (255, 255, 255)),
    ],
)
def test_every_mode(tmp_path: Path, mode: str, colour: object, ending: str, wanted: tuple[int, ...]) -> None:
    path = save(tmp_path / f"a.{ending}", mode, colour)
    pixels = read_picture(path, channels=3, size=4)
    assert pixels.shape == (3, 4, 4) and pixels.dtype == np.uint8
    assert pixels[:, 1, 2].tolist() == pytest.approx(wanted, abs=1)
    grey = read_picture(path, channels=1, size=4)
    assert grey.shape == (1, 4, 4)
    assert grey[0, 1, 2] == pytest.approx(0.299 * wanted[0] + 0.587 * wanted[1] + 0.114 * wanted[2], abs=1.5)


def test_a_palette_with_a_transparent_colour(tmp_path: Path) -> None:
    picture = Image.new("P", (4, 4), 1)
    picture.putpalette([0, 0, 0, *RED])
    picture.save(tmp_path / "a.png", transparency=1)
    assert (read_picture(tmp_path / "a.png", channels=3, size=4) == 255).all()
    picture.save(tmp_path / "b.png")
    assert read_picture(tmp_path / "b.png", channels=3, size=4)[:, 0, 0].tolist() == list(RED)


def test_a_picture_is_turned_as_its_camera_was_held(tmp_path: Path) -> None:
    picture = Image.new("L", (8, 8), 0)
    picture.paste(255, (0, 0, 4, 8))  # its left half is white
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: the left side is up
    picture.save(tmp_path / "a.png", exif=exif)
    (pixels,) = read_picture(tmp_path / "a.png", channels=1, size=8)
    assert (pixels[:4] == 255).all() and (pixels[4:] == 0).all()


def test_making_a_picture_small_uses_all_its_pixels(tmp_path: Path) -> None:
    board = np.indices((64, 64)).sum(axis=0) % 2 * 255
    Image.fromarray(board.astype(np.uint8)).save(tmp_path / "a.png")
    assert read_picture(tmp_path / "a.png", channels=1, size=4) == pytest.approx(127.5, abs=3)
    assert (read_picture(tmp_path / "a.png", channels=1, size=64)[0] == board).all()


def test_channels_that_no_picture_has(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="4 channels"):
        read_picture(save(tmp_path / "a.png"), channels=4, size=4)


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "tiff", "bmp", "webp"])
def test_a_picture_that_was_cut_off(tmp_path: Path, ending: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / f"a.{ending}")
    whole = (tmp_path / f"a.{ending}").read_bytes()
    (tmp_path / f"a.{ending}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=rf"a\.{ending} is (damaged|no picture)"):
        read_picture(tmp_path / f"a.{ending}", channels=3, size=8)


def test_a_picture_with_other_bytes_inside(tmp_path: Path) -> None:
    path = save(tmp_path / "a.png", size=(50, 50))
    content = bytearray(path.read_bytes())
    content[45:60] = b"\xff" * 15
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.png is damaged"):
        read_picture(path, channels=3, size=8)


@pytest.mark.parametrize("content", [b"", b"no picture at all", b"\x89PNG\r\n\x1a\n"])
def test_a_file_that_is_no_picture(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.png is (no picture|damaged)"):
        read_picture(tmp_path / "a.png", channels=3, size=8)


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file .*none\.png"):
        read_picture(tmp_path / "none.png", channels=3, size=8)
    with pytest.raises(DataError, match="cannot be read"):
        read_picture(tmp_path, channels=3, size=8)


@pytest.mark.parametrize("limit", [40, 20])  # Pillow warns above its limit, and refuses above twice of it
def test_a_huge_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    path = save(tmp_path / "a.png")  # 48 pixels
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(DataError, match=f"too large: pictures of more than {limit}") as told:
        read_picture(path, channels=3, size=8)
    assert "smaller" in told.value.remedy


def test_without_pillow_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(HeadwayError, match=r"pip install 'headway\[images\]'"):
        read_picture(tmp_path / "a.png", channels=3, size=8)


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_idx(tmp_path: Path, name: str) -> None:
    array = np.arange(24).reshape(2, 3, 4)
    found = read_idx(write_idx(tmp_path / name, array))
    assert found.dtype == np.uint8 and (found == array).all()


def test_idx_of_larger_numbers(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(struct.pack(">BBBBIhh", 0, 0, 0x0B, 1, 2, -3, 500))
    assert read_idx(tmp_path / "a").tolist() == [-3, 500]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "no IDX file"),
        (b"\0\0", "no IDX file"),
        (b"\x89PNG1234", "no IDX file"),
        (b"\0\0\x77\x01\0\0\0\x01a", "no IDX file"),
        (b"\0\0\x08\x03\0\0", "no IDX file"),
        (b"\0\0\x08\x00", "no IDX file"),
        (b"\0\0\x08\x01\0\0\0\x05abc", r"has 3 bytes of numbers, and its head tells of 5: \[5\]"),
        (b"\0\0\x08\x01\0\0\0\x02abc", "has 3 bytes"),
        (b"\0\0\x08\x04" + b"\xff" * 16, "tells of 340,"),
        (gzip.compress(b"\0\0\x08\x01\0\0\0\x05abcde", mtime=0)[:-4], "cannot be read"),
        (b"\x1f\x8bnothing", "cannot be read"),
    ],
)
def test_idx_that_is_damaged(tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "train-images").write_bytes(content)
    with pytest.raises(DataError, match=rf"train-images.*{word}"):
        read_idx(tmp_path / "train-images")


def test_idx_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        read_idx(tmp_path / "none")


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_corpus_in_idx(tmp_path: Path, ending: str) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 6, 6))
    first = write_idx(tmp_path / f"train-images-idx3-ubyte{ending}", images)
    second = write_idx(tmp_path / f"train-labels-idx1-ubyte{ending}", np.array([7, 0, 7]))
    corpus = open_pictures(str(tmp_path / "train"))
    assert (corpus.files, corpus.labels, len(corpus)) == ([first, second], ["0", "7"], 3)
    assert (corpus.channels, corpus.size) == (1, 6)
    for _ in range(2):  # it can be read again
        found = list(corpus.read(6, 1))
        assert [label for _, label in found] == ["7", "0", "7"]
        assert (np.stack([pixels[0] for pixels, _ in found]) == images).all()
    assert (next(corpus.read(6, 3))[0] == images[0]).all()
    small, _ = next(corpus.read(3, 3))
    assert small.shape == (3, 3, 3) and small.dtype == np.uint8
    with pytest.raises(RequestError, match="channels"):
        next(corpus.read(6, 2))


def test_labels_beyond_nine_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    write_idx(tmp_path / "a-images-idx3-ubyte", np.zeros((3, 2, 4)))
    write_idx(tmp_path / "a-labels-idx1-ubyte", np.array([10, 2, 9]))
    corpus = open_pictures(str(tmp_path / "a"))
    assert corpus.labels == ["2", "9", "10"] and corpus.size == 2


def test_a_corpus_in_idx_that_does_not_fit_together(tmp_path: Path) -> None:
    stem = str(tmp_path / "a")
    write_idx(tmp_path / "a-images-idx3-ubyte", np.zeros((3, 2, 2)))
    with pytest.raises(DataError, match="a-labels-idx1-ubyte"):
        open_pictures(stem)
    write_idx(tmp_path / "a-labels-idx1-ubyte", np.zeros(2))
    with pytest.raises(DataError, match=r"has 3 pictures, but .* shape \[2\]"):
        open_pictures(stem)
    write_idx(tmp_path / "a-images-idx3-ubyte", np.zeros((3, 4)))
    with pytest.raises(DataError, match="no grey pictures"):
        open_pictures(stem)


def test_a_corpus_in_directories(tmp_path: Path) -> None:
    save(tmp_path / "cat" / "b.JPG", colour=RED, size=(300, 400))
    save(tmp_path / "cat" / "deep" / "a.png", "L", GREY)
    save(tmp_path / "ant" / "c.png", "L", 7, size=(9, 5))
    (tmp_path / "ant" / "Thumbs.db").write_text("no picture")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "notes.txt").write_text("beside")
    corpus = open_pictures(str(tmp_path))
    assert corpus.labels == ["ant", "cat"]
    assert [path.name for path in corpus.files] == ["c.png", "b.JPG", "a.png"]
    assert (len(corpus), corpus.channels, corpus.size) == (3, 1, 5)
    found = list(corpus.read(4, 3))
    assert [(pixels.shape, label) for pixels, label in found] == [((3, 4, 4), "ant"), ((3, 4, 4), "cat"), ((3, 4, 4), "cat")]
    save(tmp_path / "ant" / "a.png", size=(1000, 500))
    corpus = open_pictures(str(tmp_path))
    assert (corpus.channels, corpus.size) == (3, 224)


def test_directories_that_are_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no directories in it"):
        open_pictures(str(tmp_path))
    save(tmp_path / "cat" / "a.png")
    (tmp_path / "dog").mkdir()
    with pytest.raises(DataError, match="without a picture: dog"):
        open_pictures(str(tmp_path))
    with pytest.raises(DataError, match=r"no directory .*none"):
        open_pictures(str(tmp_path / "none"))


def test_pictures_are_found_by_their_endings(tmp_path: Path) -> None:
    for ending in ENDINGS:
        (tmp_path / f"a{ending.upper()}").write_bytes(b"")
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / ".b.png").write_bytes(b"")
    assert [path.suffix.lower() for path in find_pictures(tmp_path)] == sorted(ENDINGS)
