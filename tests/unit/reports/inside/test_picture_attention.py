from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from headway.errors import RequestError
from headway.family.reading import PictureReading
from headway.progress import Display
from headway.reports.inside.picture_attention import draw_heads, draw_rollout, write_picture_inside


def make_reading(layers: int = 2, heads: int = 3, channels: int = 3) -> PictureReading:
    random = np.random.default_rng(0)
    looks = random.random((layers, heads, 4, 4), dtype=np.float32)
    picture = random.integers(0, 256, (channels, 16, 16), dtype=np.uint8)
    return PictureReading(picture, "dog (0.90)", looks / 20, looks[:, 0] / 16)


def read_texts(path: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("channels", [1, 3])
def test_a_picture_for_each_head(tmp_path: Path, channels: int) -> None:
    reading = make_reading(channels=channels)
    png, svg = draw_heads(reading, 2, "a dog $x^$.png", tmp_path / "heads-2")
    texts = read_texts(svg)
    assert "Where layer 2 looks" in texts and "the picture" in texts
    assert f"head 3, at most {reading.looks[1, 2].max():.2f}" in texts
    assert any("dog (0.90)" in text for text in texts)
    assert min(Image.open(png).size) > 300


def test_the_warmest_patch_is_the_one_with_the_most_weight(tmp_path: Path) -> None:
    reading = make_reading(layers=1, heads=1)
    looks = np.zeros_like(reading.looks)
    looks[0, 0, 1, 2] = 0.5
    reading = PictureReading(np.full_like(reading.picture, 255), "dog", looks, looks[:, 0])
    png, _ = draw_heads(reading, 1, "a", tmp_path / "a")
    pixels = np.asarray(Image.open(png).convert("RGB")).astype(int)
    rows, columns = np.nonzero((pixels[:, :, 0] > 150) & (pixels[:, :, 2] < 90))  # as wide as high, and only one
    assert len(rows) and np.ptp(rows) == pytest.approx(np.ptp(columns), abs=2)
    assert len(rows) == pytest.approx((np.ptp(rows) + 1) * (np.ptp(columns) + 1), rel=0.05)


def test_the_rollout_has_a_picture_for_each_layer(tmp_path: Path) -> None:
    _, svg = draw_rollout(make_reading(layers=7), "a.png", tmp_path / "rollout")
    assert len([text for text in read_texts(svg) if text.startswith("after layer")]) == 7


def test_a_directory_of_them(tmp_path: Path) -> None:
    out = tmp_path / "new" / "inspect"
    write_picture_inside(make_reading(layers=3), "a.png", out, Display())
    assert len(list(out.iterdir())) == 2 * 4
    written = write_picture_inside(make_reading(layers=2), "a.png", out, Display(), only_layer=2)
    assert {path.name for path in out.iterdir()} == {"heads-2.png", "heads-2.svg", "rollout.png", "rollout.svg"}
    assert set(out.iterdir()) == set(written)
    with pytest.raises(RequestError, match="no layer 3"):
        write_picture_inside(make_reading(), "a.png", tmp_path / "other", Display(), only_layer=3)
    assert not (tmp_path / "other").exists()
