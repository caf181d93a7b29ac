"""What a model reads of a text: the tag of the direction before each sentence, and the user's words as they are."""

from pathlib import Path

import pytest
from small_models import write_model

import headway
from headway.directions import list_directions
from headway.errors import RequestError
from headway.reading import Reader

TAGS = ("<2de>", "<2twi>", "<news>")
LINE = "Ash oak. Elm fir pine."
FEW = {"beam": 2, "max_extra": 6}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> headway.Translator:
    """A model that knows its directions and the prefix that it was trained with."""
    facts = {"directions": list_directions("en,fr", "de,twi"), "prefixes": ["<news> "]}
    return load(tmp_path_factory.mktemp("told") / "model", facts=facts)


@pytest.fixture(scope="module")
def untold(tmp_path_factory: pytest.TempPathFactory) -> headway.Translator:
    """The same one, but that it has to be told the tags."""
    return load(tmp_path_factory.mktemp("untold") / "model")


def load(place: Path, **facts: object) -> headway.Translator:
    model = write_model(place, seed=4, ends=5.0, words=6.0, sharpness=0.5, tags=TAGS, **facts)
    return headway.load(model, engine="torch", threads=1)


def translate_parts(translator: headway.Translator, texts: list[str]) -> tuple[list[str], float]:
    found = translator.translate(texts, **FEW)
    return [one.text for one in found], pytest.approx(sum(one.score for one in found), abs=1e-3)


def test_a_direction_is_its_tag(told: headway.Translator, untold: headway.Translator) -> None:
    sources, targets = ["ash oak", "elm"], ["oak ash", "elm fir"]
    found = {to: [one.score for one in told.score(sources, targets, to=to)] for to in ("de", "twi")}
    for to, scores in found.items():
        asked = untold.score([f"<2{to}> {source}" for source in sources], targets)
        assert scores == pytest.approx([one.score for one in asked], abs=1e-4)
    assert found["de"] != pytest.approx(found["twi"], abs=1e-2)
    mixed = [one.score for one in told.score(sources, targets, to=["de", "twi"], from_="fr")]
    assert mixed == pytest.approx([found["de"][0], found["twi"][1]], abs=1e-4)
    assert told.encode(["ash"], to="de", pool=False)[0].shape == untold.encode(["<2de> ash"], pool=False)[0].shape
    assert "<2twi>" in told.inspect("ash oak", to="twi").source


def test_each_sentence_of_a_line_has_the_tag(told: headway.Translator, untold: headway.Translator) -> None:
    (found,) = told.translate([LINE], to="twi", **FEW)
    assert ([one.text for one in found.sentences], found.score) == translate_parts(
        untold, ["<2twi> Ash oak.", "<2twi> Elm fir pine."]
    )
    assert [one.source for one in found.sentences] == ["Ash oak. ", "Elm fir pine."] and found.source == LINE
    assert "".join(told.stream(LINE, to="twi", **FEW)) == found.text


def test_a_prefix_of_the_run_holds_for_the_whole_line(told: headway.Translator, untold: headway.Translator) -> None:
    expected = translate_parts(untold, ["<2de> <news> Ash oak.", "<2de> <news> Elm fir pine."])
    (written,) = told.translate([f"<news> {LINE}"], to="de", **FEW)
    (given,) = told.translate([LINE], to="de", source_prefix="<news> ", **FEW)
    for found in (written, given):
        assert ([one.text for one in found.sentences], found.score) == expected
    assert "".join(one.source for one in written.sentences) == f"<news> {LINE}"


@pytest.mark.parametrize("prefix", ["", "<news> "])
def test_links_are_between_words_of_the_user(told: headway.Translator, untold: headway.Translator, prefix: str) -> None:
    text, added = "ash oak elm fir", 2 if prefix else 1
    (found,) = told.translate([text], to="de", source_prefix=prefix, alignment=True, **FEW)
    (known,) = untold.translate([f"<2de> {prefix}{text}"], alignment=True, **FEW)
    assert found.alignment and {source for source, _ in found.alignment} <= set(range(4))
    assert set(found.alignment) >= {(source - added, target) for source, target in known.alignment if source >= added}
    (written,) = told.translate([f"<news> {text}"], to="de", alignment=True, **FEW)
    assert {source for source, _ in written.alignment} <= set(range(5))


def test_what_looks_like_a_tag_in_a_text_is_text(told: headway.Translator, untold: headway.Translator) -> None:
    (found,) = told.score(["<2twi> ash"], ["oak"], to="de")
    as_text, as_tag = untold.score(["<2de>  <2twi> ash", "<2de> <2twi> ash"], ["oak", "oak"])
    assert found.score == pytest.approx(as_text.score, abs=1e-4) != pytest.approx(as_tag.score, abs=1e-4)


def test_a_direction_must_be_chosen_from_those_there_are(told: headway.Translator, untold: headway.Translator) -> None:
    with pytest.raises(RequestError, match="in several directions: en → de, en → twi, fr → de, fr → twi"):
        told.translate([])
    for ask in (told.encode, told.stream, told.inspect):
        with pytest.raises(RequestError, match="several directions"):
            ask("ash" if ask != told.encode else ["ash"])
    with pytest.raises(RequestError, match="does not translate from any language to en"):
        told.translate(["ash"], to="en")
    with pytest.raises(RequestError, match="it translates en → de"):
        untold.translate(["ash"], to="fr")
    with pytest.raises(RequestError, match="2 texts and 1 to"):
        told.translate(["ash", "oak"], to=["de"])
    assert untold.translate([""], to="de", from_="en")[0].text == ""


@pytest.mark.parametrize("prefix", ["<sport> ", "<news> <sport> ", "<news>"])
def test_a_tag_that_the_model_has_not_learned_is_refused(told: headway.Translator, prefix: str) -> None:
    with pytest.raises(RequestError) as refused:
        told.translate([LINE], to="de", source_prefix=prefix, **FEW)
    assert "<news> " in str(refused.value)
    assert told.translate([LINE], to="de", source_prefix="sport: ", **FEW)  # words, as any text


def test_a_prefix_of_the_training_text_is_taken_whatever_its_vocabulary_makes_of_it(told: headway.Translator) -> None:
    """A model that was gone on with keeps its vocabulary, and learns a new tag as text."""
    reader = told.reader
    gone_on_with = Reader(reader.tokenizer, reader.directions, [*reader.prefixes, "<sport> "], reader.lines)
    (ids,) = gone_on_with.cut_whole([LINE], "de", "", "<sport> ")
    assert reader.tokenizer.decode([ids])[0].endswith(f"<sport> {LINE}")
