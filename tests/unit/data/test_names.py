import re
import unicodedata

from headway.data.names import Renamer, find_alike, gather_names

PAIRS = [
    ("Tom sees Boston.", "Tom sieht Boston."),
    ("In winter Mary sleeps.", "In dem Winter schläft Mary."),
    ("A man in a hat hands Tom his Hand puppet.", "Ein Mann in einem Hut gibt Tom die Hand."),
    ("I see the Saint-Denis.", "I bi s Saint-Denis."),
]


def test_names_stand_in_both_languages_with_a_capital_and_are_not_usually_written_without():
    assert gather_names(lambda: PAIRS) == ["Boston", "Hand", "Mary", "Saint-Denis", "Tom"]
    assert gather_names(lambda: [*PAIRS, ("One hand, a hand.", "Eine.")]) == ["Boston", "Mary", "Saint-Denis", "Tom"]
    assert gather_names(lambda: [("Вижу Анну и Москву", "Бачу Москву")]) == ["Москву"]
    assert gather_names(lambda: [("他在北京", "Tom"), ("", "")]) == []


def test_the_same_name_is_put_into_both_sentences_and_nothing_else_is_touched():
    renamer = Renamer(["Tom", "Boston"], ["Ama", "Kofi"])
    for source, target in renamer.rename(("Tom's dog and Tom's cat see Boston, not Mary.", "Tom Boston Mary tom."), 20):
        found = re.fullmatch(r"(\w+)'s dog and (\w+)'s cat see (\w+), not Mary\.", source)
        assert found and found[1] == found[2] and target == f"{found[1]} {found[3]} Mary tom."
        assert {found[1], found[3]} <= {"Ama", "Kofi", "Amfi", "Koma", "Amma"}


def test_half_of_the_names_are_made_up_of_two():
    names = ["Asamoah", "Boston", "Kwabena", "Tokyo"]
    pairs = [(f"Tokyo {i}", f"Tokyo {i}") for i in range(400)]
    renamer = Renamer(names)
    drawn = [find_alike(made).pop() for pair in pairs for made in renamer.rename((pair[0], "Tokyo"), 1)]
    made_up = [name for name in drawn if name not in names]
    assert 340 < len(drawn) < 400  # Tokyo itself is no other name
    assert 120 < len(made_up) < 240  # a quarter of those that are put together come out whole again
    assert {"Asambena", "Boskyo"} <= set(made_up) and all(name[0].isupper() for name in made_up)


def test_of_a_number_the_last_two_digits_stay_and_short_ones_stay_whole():
    made = Renamer([]).rename(("In 1969, 21 of 7 and 100 km", "1969: 21 von 7, 100 km"), 30)
    assert len(set(made)) == len(made) > 20
    for source, target in made:
        assert re.fullmatch(r"In [1-9]\d69, 21 of 7 and [1-9]00 km", source)
        assert re.findall(r"\d+", source) == re.findall(r"\d+", target)


def test_a_pair_without_names_makes_no_others_and_the_same_pair_the_same_ones():
    renamer = Renamer(gather_names(lambda: PAIRS))
    assert renamer.rename(("A dog runs.", "Ein Hund rennt."), 3) == []
    assert renamer.rename(("Tom runs.", "Er rennt."), 3) == []
    assert renamer.rename(PAIRS[0], 3) == Renamer(gather_names(lambda: reversed(PAIRS))).rename(PAIRS[0], 3)
    assert len(set(renamer.rename(PAIRS[0], 3))) > 1


def test_no_pair_is_made_twice_and_none_is_the_one_that_it_is_made_of():
    pair = ("Tom sees Mary.", "Tom sieht Mary.")
    made = Renamer(["Tom", "Mary"]).rename(pair, 100)
    assert len(set(made)) == len(made) and pair not in made
    assert Renamer(["Tom"], []).rename(("A dog.", "Ein Hund."), 1) == []


def test_accents_belong_to_the_name_however_they_are_written():
    yoruba = [("Fẹ́mi sees Adébáyọ̀.", "Fẹ́mi rí Adébáyọ̀.")]
    assert gather_names(lambda: yoruba) == ["Adébáyọ̀", "Fẹ́mi"]
    in_two_ways = (unicodedata.normalize("NFD", "José sees Zoë."), "José sieht Zoë.")
    assert gather_names(lambda: [in_two_ways]) == ["José", "Zoë"]
    for source, target in Renamer(["José", "Zoë"], ["Ama"]).rename(in_two_ways, 5):
        assert re.fullmatch(r"Amm?a sees Amm?a\.", source) and target == source.replace("sees", "sieht")


def test_a_row_of_very_many_digits_is_a_number_like_any():
    ((source, target),) = Renamer([]).rename(("7" * 9000, "7" * 9000), 1)
    assert source == target and len(source) == 9000 and source.endswith("77")


def test_what_is_mostly_translated_is_no_name():
    translated = [("Mary sleeps.", "Maria schläft.")] * 2
    assert "Mary" in gather_names(lambda: PAIRS) and "Mary" not in gather_names(lambda: [*PAIRS, *translated])


def test_a_pair_with_another_form_of_its_name_is_left_alone():
    renamer = Renamer(["Tom"], ["Ama", "Kofi"])
    assert renamer.rename(("Tom's father saw Tom.", "Toms Vater sah Tom."), 5) == []
    assert renamer.rename(("Tom's father saw Tom.", "Der Vater von Tom sah Tom."), 5)


def test_no_name_is_given_that_the_pair_has_already():
    renamer = Renamer(["Tom"], ["Mary", "Maria"])
    for source, target in renamer.rename(("Tom sees Mary.", "Tom sieht Maria."), 40):
        assert source.split()[0] not in ("Mary", "Maria") and source.endswith("Mary.") and target.endswith("Maria.")
