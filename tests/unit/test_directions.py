import pytest

from headway.bundle import Manifest
from headway.directions import Direction, keep_tags, list_directions, match_directions
from headway.errors import RequestError


def name(directions: list[Direction]) -> list[str]:
    return [f"{one.prefix}{one}" for one in directions]


@pytest.mark.parametrize(
    ("given", "directions"),
    [
        (("en", "de"), ["en → de"]),
        (("en", "en"), ["en → en"]),
        (("en, fr", "de"), ["en → de", "fr → de"]),
        (("en,fr", "de,fr"), ["<2de> en → de", "<2fr> en → fr", "<2de> fr → de"]),
    ],
)
def test_only_several_targets_have_tags(given: tuple[str, str], directions: list[str]) -> None:
    assert name(list_directions(*given)) == directions


@pytest.mark.parametrize("wrong", ["en,", "en,,fr", "en fr,de", "en,d>e"])
def test_names_that_are_none(wrong: str) -> None:
    with pytest.raises(RequestError, match="is no name of a language"):
        list_directions(wrong, "de")


@pytest.mark.parametrize(("given", "idle"), [(("en,de", "de"), "de of --from"), (("en", "en,de"), "en of --to")])
def test_each_language_has_another_to_go_to(given: tuple[str, str], idle: str) -> None:
    with pytest.raises(RequestError, match=f"no other language to translate to or from: {idle}"):
        list_directions(*given)


@pytest.mark.parametrize(
    ("learned", "asked", "kept"),
    [
        ("de,fr", "fr", ["<2fr> en → fr"]),
        ("de,fr", "fr-CA", ["<2fr> en → fr-CA"]),
        ("de,fr", "de,de-AT", ["<2de> en → de", "<2de-AT> en → de-AT"]),
        ("zh-Hans,zh-Hant", "zh-Hant", ["<2zh-Hant> en → zh-Hant"]),
        ("de,fr", "twi", ["en → twi"]),
        ("de", "de,fr", ["<2de> en → de", "<2fr> en → fr"]),
    ],
)
def test_a_model_keeps_the_tags_that_it_learned(learned: str, asked: str, kept: list[str]) -> None:
    assert name(keep_tags(list_directions("en", asked), list_directions("en", learned))) == kept


def test_a_tag_is_not_guessed() -> None:
    with pytest.raises(RequestError, match="into zh-Hans and zh-Hant; zh may be any"):
        keep_tags(list_directions("en", "zh"), list_directions("en", "zh-Hans,zh-Hant"))


def test_one_is_chosen_where_that_makes_a_difference() -> None:
    several = list_directions("en,fr", "de,twi")
    assert name(match_directions(several, "twi", "fr")) == ["<2twi> fr → twi"]
    assert name(match_directions(several, "de-AT")) == ["<2de> en → de", "<2de> fr → de"]
    assert name(match_directions(list_directions("en,fr", "de"))) == ["en → de", "fr → de"]
    assert name(match_directions(list_directions("en", "zh-Hans,zh-Hant"), "zh-Hant")) == ["<2zh-Hant> en → zh-Hant"]
    assert name(match_directions([], "de", "en")) == ["en → de"]
    with pytest.raises(RequestError, match="in several directions: en → de, en → twi, fr → de, fr → twi"):
        match_directions(several, from_="en")
    with pytest.raises(RequestError, match="not translate from any language to en; it translates en → de, en → twi"):
        match_directions(several, "en")


def test_a_manifest_of_old_has_one_direction() -> None:
    from small_models import PLAIN

    old = {"architecture": {"kind": "transformer", **PLAIN, "source_vocab": 9, "target_vocab": 9}}
    assert Manifest.model_validate(old | {"source_language": "en", "target_language": "de"}).directions == [
        Direction(source="en", target="de")
    ]
    assert Manifest.model_validate(old).directions == []
