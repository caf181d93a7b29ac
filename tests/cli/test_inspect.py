"""`headway inspect`: what a model looks at, as a page and as pictures."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from small_models import write_relative

import headway as api
from headway.cli.inspect import _tell_answer
from headway.errors import RequestError
from headway.nn.positions import LearnedPositions, NoPositions

SENTENCE = "copy oak elm"


@pytest.fixture(scope="module")
def translator(run: Path) -> api.Translator:
    return api.load(run / "best")


def test_a_page_and_pictures(tmp_path: Path, run: Path, headway):
    out = tmp_path / "new" / "inspect"
    result = headway("inspect", run / "best", SENTENCE, "-o", out)
    assert (result.code, result.out) == (0, ""), result.err
    stems = ["encoder-1", "decoder-1", "cross-1", "positions", "position-products"]
    names = {"inside.html", *(f"{s}.{k}" for s in stems for k in ("png", "svg"))}
    assert {path.name for path in out.iterdir()} == names
    (out / "cross-7.svg").write_text("of a deeper model")
    assert headway("inspect", run / "best", SENTENCE, "-o", out).code == 0
    assert {path.name for path in out.iterdir()} == names
    assert SENTENCE in (out / "inside.html").read_text(encoding="utf-8")
    assert (out / "inside.html").as_uri() in result.err
    (translation,) = api.load(run / "best").translate([SENTENCE])
    assert translation.text in result.err


def test_a_given_translation(tmp_path: Path, run: Path, headway):
    result = headway("inspect", run / "best", SENTENCE, "--target", "elm oak", "--layer", 1, "-o", tmp_path)
    assert result.code == 0 and "→ elm oak" in result.err
    assert "elm oak" in (tmp_path / "inside.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ([" "], 2, "no sentence"),
        ([SENTENCE, "--target", " "], 2, "blank"),
        ([SENTENCE, "--layer", 2], 2, "from 1 to 1"),
        ([SENTENCE, "--layer", 0], 2, "layer"),
        ([SENTENCE, "-o", "taken/below"], 1, "taken"),
        ([SENTENCE, "-o", "taken"], 2, "taken is a file.\nGive --output a directory."),
        (["copy", "oak"], 2, "Put the sentence in quotes: 'copy oak'"),
    ],
)
def test_requests_that_cannot_be_met_leave_nothing_behind(
    arguments, code, word, tmp_path: Path, run: Path, headway, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("a file")
    result = headway("inspect", run / "best", *arguments)
    assert result.code == code and word in result.err and "Traceback" not in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_model_that_is_none(tmp_path: Path, headway):
    result = headway("inspect", tmp_path, SENTENCE, "-o", tmp_path / "out")
    assert result.code == 1 and str(tmp_path) in result.err and not (tmp_path / "out").exists()


def test_inside_is_what_the_model_does(translator: api.Translator):
    inside = translator.inspect(SENTENCE)
    steps, pieces = len(inside.written), len(inside.source)
    assert inside.translation.strip() == translator.translate([SENTENCE])[0].text
    assert (inside.source[-1], inside.read[0], inside.written[-1]) == ("‹end›", "‹begin›", "‹end›")
    assert inside.read[1:] == inside.written[:-1]
    assert inside.encoder.shape == (1, 2, pieces, pieces)
    assert inside.decoder.shape == (1, 2, steps, steps)
    assert inside.cross.shape == (1, 2, steps, pieces)
    for weights in (inside.encoder, inside.decoder, inside.cross):
        assert weights.dtype == np.float32
        assert weights.sum(axis=-1) == pytest.approx(np.ones(weights.shape[:-1]), abs=1e-5)
    assert (np.triu(inside.decoder, 1) == 0).all()
    assert inside.positions is not None and inside.positions.shape == (128, 32)


def test_a_given_translation_is_read_as_it_is(translator: api.Translator):
    inside = translator.inspect(SENTENCE, "elm é")
    assert inside.translation == "elm é"
    assert inside.read[-2:] == ["é 1/2", "é 2/2"] or inside.read[-1].endswith("é")
    assert inside.encoder == pytest.approx(translator.inspect(SENTENCE).encoder)  # the encoder does not see it


def test_a_model_with_learned_positions_or_without_any(run: Path):
    translator = api.load(run / "best")
    model = translator.engines.torch.model
    model.architecture = model.architecture.model_copy(update={"positions": "learned", "max_positions": 7})
    model.positions = LearnedPositions(d_model=32, max_positions=7)
    torch.nn.init.normal_(model.positions.weight)
    np.testing.assert_array_equal(translator.inspect(SENTENCE).positions, model.positions.weight.detach())
    model.architecture = model.architecture.model_copy(update={"positions": "none"})
    model.positions = NoPositions()
    assert translator.inspect(SENTENCE).positions is None
    assert translator.inspect(SENTENCE).scaled
    model.architecture = model.architecture.model_copy(update={"scale_attention": False})
    assert not translator.inspect(SENTENCE).scaled


def test_a_sentence_longer_than_any_in_training(translator: api.Translator):
    inside = translator.inspect(" ".join(["oak"] * 150), "elm")
    assert len(inside.source) > 300
    assert inside.encoder.shape[2:] == (len(inside.source),) * 2


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_nothing_to_look_into(translator: api.Translator, text: str):
    with pytest.raises(RequestError, match="no sentence"):
        translator.inspect(text)
    with pytest.raises(RequestError, match="blank"):
        translator.inspect(SENTENCE, text)


def test_a_text_too_long_to_look_into(translator: api.Translator):
    with pytest.raises(RequestError, match="too long to look into"):
        translator.inspect("oak " * 1100)


@pytest.fixture(scope="module")
def relatives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("relatives")
    write_relative(home / "gpt", "gpt")
    write_relative(home / "bert", "bert")
    write_relative(home / "sorter", "bert", classes=["bad", "good"])
    write_relative(home / "vit", "vit")
    Image.new("RGB", (40, 30), "red").save(home / "red.png")
    return home


@pytest.mark.parametrize(
    ("name", "text", "view", "answer"),
    [
        ("gpt", "copy oak elm", "decoder", "→ …"),
        ("bert", "copy [MASK] elm", "encoder", "→ "),
        ("sorter", "copy oak", "encoder", "→ class "),
    ],
)
def test_a_relative_has_one_attention(name: str, text: str, view: str, answer: str, relatives: Path, tmp_path: Path, headway):
    (tmp_path / "cross-1.png").write_text("of a translator")
    result = headway("inspect", relatives / name, text, "-o", tmp_path)
    assert (result.code, result.out) == (0, ""), result.err
    assert answer in result.err
    stems = [f"{view}-1", f"{view}-2", "positions", "position-products"]
    assert {path.name for path in tmp_path.iterdir()} == {"inside.html", *(f"{s}.{k}" for s in stems for k in ("png", "svg"))}
    page = (tmp_path / "inside.html").read_text(encoding="utf-8")
    assert text in page and "Inside a translation" not in page


def test_a_picture_is_looked_into(relatives: Path, tmp_path: Path, headway):
    result = headway("inspect", relatives / "vit", relatives / "red.png", "-o", tmp_path)
    assert (result.code, result.out) == (0, ""), result.err
    stems = ["heads-1", "heads-2", "rollout"]
    assert {path.name for path in tmp_path.iterdir()} == {f"{s}.{k}" for s in stems for k in ("png", "svg")}


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["gpt", " "], 2, "no text"),
        (["bert", "oak " * 60], 2, "too long"),
        (["gpt", "oak", "--target", "elm"], 2, "does not translate"),
        (["sorter", "oak", "--layer", 3], 2, "from 1 to 2"),
        (["vit", "none.png"], 3, "no file"),
        (["vit", "A dog runs."], 3, "reads pictures, not text"),
        (["vit", "A dog runs.", "--full"], 3, "reads pictures, not text"),
        (["vit", "headway.json"], 3, "no picture"),
    ],
)
def test_requests_that_a_relative_cannot_meet(arguments, code, word, relatives: Path, tmp_path: Path, headway, monkeypatch):
    monkeypatch.chdir(relatives / "vit")
    name, *more = arguments
    result = headway("inspect", relatives / name, *more, "-o", tmp_path / "out")
    assert result.code == code and word in result.err and "Traceback" not in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("verb", "answer", "told"),
    [
        ("classify", "1 (0.69)", "class 1 (0.69)"),
        ("generate", "… oak", "… oak"),
        ("generate", "… ", "…‹space›"),
        ("generate", "…\n", "…‹line break›"),
        ("generate", "…\u200b", "…‹nothing to see›"),
        ("generate", "‹end›", "‹end›"),
        ("fill", "oak", "oak"),
    ],
)
def test_an_answer_says_what_it_is(verb, answer: str, told: str):
    assert _tell_answer(verb, answer) == told


def test_the_name_of_a_file_is_read_as_text_and_that_is_said(relatives: Path, tmp_path: Path, headway, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("oak").write_text("copy elm")
    result = headway("inspect", relatives / "gpt", "oak", "--full")
    assert result.code == 0 and "oak is also a file: what is read here is its name" in result.err
    assert "also a file" not in headway("inspect", relatives / "vit", relatives / "red.png", "--full").err


@pytest.mark.parametrize("arguments", [["--picture", "beem"], ["--picture", "cross-9"], ["--layer", 9]])
def test_what_is_not_there_is_refused_before_the_translation(arguments, run: Path, headway, monkeypatch):
    monkeypatch.setattr(api, "load", lambda *_: pytest.fail("the model was read"))
    result = headway("inspect", run / "best", SENTENCE, *arguments)
    assert result.code == 2 and "There is no" in result.err
    assert max(map(len, result.err.splitlines())) <= 100


def test_the_glass_box(tmp_path: Path, headway):
    model, out = write_relative(tmp_path / "model", "gpt", n_layers=1), tmp_path / "out"
    result = headway("inspect", model, "oak", "--full", "-o", out)
    assert (result.code, result.out) == (0, ""), result.err
    assert [path.name for path in out.iterdir()] == ["glass.html"]
    assert "oak" in (out / "glass.html").read_text(encoding="utf-8") and (out / "glass.html").as_uri() in result.err


def test_pictures_of_the_glass_box(tmp_path: Path, run: Path, headway):
    result = headway("inspect", run / "best", SENTENCE, "--target", "elm", "--picture", "alignment", "-o", tmp_path / "one")
    assert result.code == 0 and "alignment.png and alignment.svg.\n" in result.err
    assert {path.name for path in (tmp_path / "one").iterdir()} == {"alignment.png", "alignment.svg"}
    model = write_relative(tmp_path / "model", "gpt", n_layers=1)
    result = headway("inspect", model, "oak", "--picture", "all", "-o", tmp_path / "all")
    assert result.code == 0 and "each as .png and .svg: embedding-text," in " ".join(result.err.split())
    names = ["embedding-text", "decoder-1", "units-decoder-1", "changes-decoder", "distribution"]
    found = {path.name for path in (tmp_path / "all").iterdir()}
    assert found == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([SENTENCE, "--picture", "beem"], "Did you mean beam"),
        ([SENTENCE, "--target", "elm", "--picture", "beam"], "There are: embedding-source"),
        (["oak " * 300, "--full"], "leave out --full"),
        ([SENTENCE, "--full", "--layer", 1], "Leave out --layer"),
        ([" ", "--full"], "no text"),
    ],
)
def test_a_glass_box_that_cannot_be_made_leaves_nothing_behind(arguments, word, tmp_path: Path, run: Path, headway):
    result = headway("inspect", run / "best", *arguments, "-o", tmp_path / "out")
    assert result.code == 2 and word in result.err and "Traceback" not in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "text", "pictures"),
    [
        ("gpt", "copy oak", ["embedding-text", "decoder-2", "distribution"]),
        ("bert", "copy [MASK]", ["embedding-text", "encoder-2", "distribution"]),
        ("sorter", "copy", ["embedding-text", "encoder-2", "distribution"]),
        ("vit", "red.png", ["embedding-picture", "heads-2", "rollout", "distribution"]),
    ],
)
def test_the_glass_box_of_a_relative_has_its_pictures(
    name, text, pictures, relatives: Path, tmp_path: Path, headway, monkeypatch
):
    monkeypatch.chdir(relatives)
    result = headway("inspect", relatives / name, text, "--picture", "beam", "-o", tmp_path / "out")
    listed = result.err.split("There are: ")[1].split("; or")[0].replace("\n", " ").split(", ")
    assert result.code == 2 and set(pictures) <= set(listed) and not (tmp_path / "out").exists()
