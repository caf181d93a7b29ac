import re

from headway.data.names import Renamer, find_alike, gather_names

PAIRS = [
    ("Tom sees Boston.", "Tom sieht Boston."),
    ("In winter Mary sleeps.", "In dem Winter schläft Mary."),
    ("A man in a hat hands Tom his Hand puppet.", "Ein Mann in einem Hut gibt Tom die Hand."),
    ("I see the Saint-Denis.", "I bi s Saint-Denis."),
]


def test_names_stand_in_both_languages_with_a_capital_and_are_not_usually_written_without():
    assert gather_names(PAIRS) == ["Boston", "Hand", "Mary", "Saint-Denis", "Tom"]
    assert gather_names([*PAIRS, ("One hand, a hand.", "Eine.")]) == ["Boston", "Mary", "Saint-Denis", "Tom"]
    assert gather_names([("Вижу Анну и Москву", "Бачу Москву")]) == ["Москву"]
    assert gather_names([("他在北京", "Tom"), ("", "")]) == []


def test_the_same_name_is_put_into_both_sentences_and_nothing_else_is_touched():
    renamer = Renamer(["Tom", "Boston"], ["Ama", "Kofi"])
    for source, target in renamer.rename(("Tom's dog and Tom's cat see Boston, not Mary.", "Tom Boston Mary tom."), 20):
        found = re.fullmatch(r"(\w+)'s dog and (\w+)'s cat see (\w+), not Mary\.", source)
        assert found and found[1] == found[2] and target == f"{found[1]} {found[3]} Mary tom."
        assert {found[1], found[3]} <= {"Ama", "Kofi", "Amfi", "Koma", "Amma"}


def test_half_of_the_names_are_made_up_of_two():
    names = ["Asamoah", "Boston", "Kwabena", "Tokyo"]
    drawn = [find_alike(pair).pop() for pair in Renamer(names).rename(("Tokyo", "Tokyo"), 400)]
    made_up = [name for name in drawn if name not in names]
    assert 120 < len(made_up) < 240  # a quarter of those that are put together come out whole again
    assert {"Asambena", "Boskyo"} <= set(made_up) and all(name[0].isupper() for name in made_up)


def test_of_a_number_the_last_two_digits_stay_and_short_ones_stay_whole():
    made = Renamer([]).rename(("In 1969, 21 of 7 and 100 km", "1969: 21 von 7, 100 km"), 30)
    assert len({source for source, _ in made}) > 20
    for source, target in made:
        assert re.fullmatch(r"In [1-9]\d69, 21 of 7 and [1-9]00 km", source)
        assert re.findall(r"\d+", source) == re.findall(r"\d+", target)


def test_a_pair_without_names_makes_no_others_and_the_same_pair_the_same_ones():
    renamer = Renamer(gather_names(PAIRS))
    assert renamer.rename(("A dog runs.", "Ein Hund rennt."), 3) == []
    assert renamer.rename(("Tom runs.", "Er rennt."), 3) == []
    assert renamer.rename(PAIRS[0], 3) == Renamer(gather_names(reversed(PAIRS))).rename(PAIRS[0], 3)
    assert len(set(renamer.rename(PAIRS[0], 3))) > 1
