"""Pictures are read once for all parts, and no held-out one is trained on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from headway.config import Settings, build_settings
from headway.data.facts import Facts
from headway.data.picture_store import PictureData, open_picture_data, picture_shape
from headway.data.store import Store
from headway.errors import DataError, RequestError
from headway.text.class_names import ClassNames
from headway.text.tokenizer import Tokenizers

PARTS = ("train", "valid", "test")


def draw(count: int, seed: int = 1, size: int = 4) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).integers(0, 256, (count, size, size)).astype(np.uint8))


def write(directory: Path, pictures: Sequence[np.ndarray], classes: Sequence[str] = ("cat", "dog")) -> str:
    for number, pixels in enumerate(pictures):
        path = directory / classes[number % len(classes)] / f"{number:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    return str(directory)


def make_settings(train: str | list[str], **sections: Any) -> Settings:
    data = {"task": "classify", "train": [train] if isinstance(train, str) else train, **sections.pop("data", {})}
    return build_settings({"data": data, **sections})


def build(settings: Settings, directory: Path, given: Sequence[str] = ()) -> Facts:
    names = ClassNames(given)
    data = open_picture_data(settings, Tokenizers(names, names) if given else None, None, None)
    directory.mkdir()
    return data.build(settings, directory, lambda *_: None)


def contents(directory: Path) -> dict[str, Counter[tuple[bytes, str]]]:
    """What stands in each part: pixels and class."""
    names = Tokenizers.load(directory / "tokenizer").target
    stores = {part: Store(directory / part) for part in PARTS}
    return {
        part: Counter((store.source(i).tobytes(), names.decode([store.target(i).tolist()])[0]) for i in range(len(store)))
        for part, store in stores.items()
    }


def pixels_of(part: Counter[tuple[bytes, str]]) -> Counter[bytes]:
    return Counter(pixels for pixels, _ in part.elements())


def test_every_picture_comes_into_one_part_with_its_class(tmp_path: Path) -> None:
    pictures = draw(20)
    facts = build(make_settings(write(tmp_path / "pictures", pictures), data={"held_out": 3}), tmp_path / "out")
    found = contents(tmp_path / "out")
    assert [part.total() for part in found.values()] == [14, 3, 3]
    assert (facts.pairs_read, facts.pairs_kept, facts.valid_pairs, facts.test_pairs, facts.leaking) == (20, 14, 3, 3, 0)
    assert found["train"] + found["valid"] + found["test"] == Counter(
        (pixels.tobytes(), ("cat", "dog")[number % 2]) for number, pixels in enumerate(pictures)
    )


@pytest.mark.parametrize(
    ("given", "wanted"), [(["dog", "bird", "cat"], ["dog", "bird", "cat"]), (["dog", "bird"], ["cat", "dog"])]
)
def test_a_model_keeps_its_classes_where_it_knows_all_of_the_data(tmp_path: Path, given: list[str], wanted: list[str]) -> None:
    facts = build(make_settings(write(tmp_path / "pictures", draw(20))), tmp_path / "out", given)
    names = Tokenizers.load(tmp_path / "out" / "tokenizer").target
    assert names.pieces(range(names.size)) == wanted and facts.classes == facts.target_vocab == len(wanted)
    assert set(contents(tmp_path / "out")["train"]) <= {
        (pixels.tobytes(), ("cat", "dog")[number % 2]) for number, pixels in enumerate(draw(20))
    }


def test_pictures_are_decoded_once_and_to_cut_parts_off_once_more(tmp_path: Path) -> None:
    train, other = write(tmp_path / "pictures", draw(20)), write(tmp_path / "other", draw(6, seed=2))

    def count_reads(**data: Any) -> Counter[str]:
        settings = make_settings(train, data=data)
        opened = open_picture_data(settings, None, None, None)
        reads: Counter[str] = Counter()

        def counting(name: str) -> Any:
            corpus = getattr(opened, name)

            def read(size: int, channels: int) -> Any:
                for one in corpus.read(size, channels):
                    reads[name] += 1
                    yield one

            return corpus and replace(corpus, read=read)

        directory = tmp_path / f"out{len(data)}"
        directory.mkdir()
        PictureData(counting("train"), counting("valid"), counting("test"), 4, 1).build(settings, directory, lambda *_: None)
        return reads

    assert count_reads() == {"train": 40}
    assert count_reads(valid=other, test=other) == {"train": 20, "valid": 6, "test": 6}


def test_no_copy_of_a_held_out_picture_is_trained_on(tmp_path: Path) -> None:
    pictures = draw(8)
    corpus = write(tmp_path / "pictures", [*pictures, *pictures, *pictures])
    facts = build(make_settings(corpus, data={"held_out": 2}), tmp_path / "out")
    train, valid, test = (pixels_of(part) for part in contents(tmp_path / "out").values())
    assert [len(part) for part in (train, valid, test)] == [4, 2, 2]
    assert valid.total() == test.total() == 2 and train.total() == 12
    assert not train & valid and not train & test and not valid & test
    assert facts.leaking == 8 and facts.pairs_kept == 12


def test_the_parts_are_the_same_whatever_the_order(tmp_path: Path) -> None:
    pictures, found = draw(30), []
    for name, some in (("one", pictures), ("two", pictures[::-1])):
        build(make_settings(write(tmp_path / name, some), data={"held_out": 4}), tmp_path / f"{name}.out")
        found.append({part: pixels_of(rows) for part, rows in contents(tmp_path / f"{name}.out").items()})
    assert found[0] == found[1]


def test_what_given_parts_share_with_training_is_counted(tmp_path: Path) -> None:
    pictures = draw(20)
    train = write(tmp_path / "pictures", pictures)
    valid, test = write(tmp_path / "valid", draw(6, seed=2)), write(tmp_path / "test", [*pictures[:3], *draw(2, seed=3)])
    facts = build(make_settings(train, data={"valid": valid, "test": test}), tmp_path / "out")
    assert (facts.valid_given, facts.test_given, facts.valid_overlap, facts.test_overlap) == (True, True, 0, 3)
    assert (facts.pairs_kept, facts.valid_pairs, facts.test_pairs, facts.leaking) == (20, 6, 5, 0)
    facts = build(make_settings(train, data={"test": test, "held_out": 17}), tmp_path / "out2")
    held_out, given = (pixels_of(contents(tmp_path / "out2")[part]) for part in ("valid", "test"))
    assert held_out.total() == 17 and not held_out & given  # the three that are left stand in the test
    assert (facts.test_overlap, facts.pairs_kept) == (3, 3)


@pytest.mark.parametrize(("pictures", "held_out"), [(draw(4), 2), (draw(2) * 5, 1), (draw(1) * 9, None)])
def test_too_few_pictures(tmp_path: Path, pictures: list[np.ndarray], held_out: int | None) -> None:
    settings = make_settings(write(tmp_path / "pictures", pictures), data={"held_out": held_out})
    with pytest.raises(DataError, match=f"{len(pictures)} pictures are too few"):
        build(settings, tmp_path / "out")


def test_a_weight(tmp_path: Path) -> None:
    corpus, valid = write(tmp_path / "pictures", draw(20)), write(tmp_path / "valid", draw(6, seed=2))
    settings = make_settings(f"{corpus}:2.5", data={"valid": f"{valid}:1"})
    build(settings, tmp_path / "out")
    assert [segment.weight for segment in Store(tmp_path / "out" / "train").segments] == [2.5]
    assert picture_shape(settings) == (1, 4)


def test_requests_that_make_no_sense_of_pictures(tmp_path: Path) -> None:
    corpus = write(tmp_path / "pictures", draw(20))
    for settings in (make_settings(corpus, tokenizer={"sampling": 0.1}), make_settings([corpus, corpus])):
        with pytest.raises(RequestError):
            open_picture_data(settings, None, None, None)


@pytest.mark.parametrize(
    ("pixels", "patch_size", "image_size", "wanted"),
    [(75, None, None, 72), (75, 16, None, 64), (75, 5, None, 75), (3, None, None, 4), (75, None, 96, 96), (75, 4, 30, 30)],
)
def test_a_side_is_cut_into_whole_patches(
    tmp_path: Path, pixels: int, patch_size: int | None, image_size: int | None, wanted: int
) -> None:
    corpus = write(tmp_path / "pictures", draw(4, size=pixels))
    settings = make_settings(corpus, data={"image_size": image_size}, model={"patch_size": patch_size})
    assert picture_shape(settings) == (1, wanted)
    assert open_picture_data(settings, None, None, None).size == wanted
    assert open_picture_data(settings, None, 33, 3).size == 33  # a model's that is there
