"""Drawing phrases: somebody, something, somewhere, at some time."""

import random
from dataclasses import replace
from functools import cache

from headway.data.grammar import english, german
from headway.data.grammar.syntax import HE, IT, PRONOUNS, SHE, THEY, Name, Nominal, Phrase, Pronoun, Where
from headway.data.grammar.words import ADJECTIVES, NAMES, NOUNS, Adjective, Adverb, Noun, Place, Verb

_DEFINITE = ["the", "the", "the", "the", "the", "this", "this"]
_INDEFINITE = ["a", "a", "a", "a"]
_OF_SOMEBODY = ["my", "your", "his", "her", "our", "their"]


@cache
def nouns(kind: str) -> list[Noun]:
    return [noun for noun in NOUNS if kind in noun.kinds]


@cache
def adjectives(kinds: frozenset[str]) -> list[Adjective]:
    """Those that go with a noun of these kinds."""
    return [adjective for adjective in ADJECTIVES if adjective.kinds & kinds]


class PhraseWriter:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def name(self) -> Name:
        return Name(self.draw.choice(NAMES))

    def somebody(self) -> Nominal:
        """Who does something."""
        choice = self.draw.random()
        if choice < 0.35:
            return self.draw.choice(PRONOUNS)
        if choice < 0.5:
            return self.name()
        person = self.person()
        if person.indefinite and person.plural:
            return replace(person, determiner="the")
        if person.determiner in ("the", "a") and not person.plural and self.chance(0.08):
            return replace(person, determiner="every")
        return person

    def person(self) -> Phrase:
        return self.phrase("person", adjective=0.2, plural=0.25)

    def objects(self, verb: Verb) -> tuple[Nominal | None, Nominal | None]:
        """Accusative and dative, where the verb has them."""
        accusative = self.object_of(verb, verb.accusative) if verb.accusative else None
        dative = self.object_of(verb, verb.dative) if verb.dative else None
        if accusative and isinstance(dative, Phrase):  # one long object is enough
            dative = replace(dative, adjective=None)
        return accusative, dative

    def object_of(self, verb: Verb, kinds: frozenset[str]) -> Nominal:
        kind = self.draw.choice(sorted(kinds))
        if kind != "person":
            return self.phrase(kind, plural=0 if kind == "garment" else 0.32, own=verb.own)
        if self.chance(0.4):
            return self.draw.choice(PRONOUNS)
        return self.name() if self.chance(0.15) else self.phrase("person", adjective=0.2, plural=0.25, vague=False)

    def phrase(
        self, kind: str, *, adjective: float = 0.3, plural: float = 0.32, vague: bool = True, own: bool = True
    ) -> Phrase:
        """A noun of the kind, with chances of an adjective and the plural. It may be `vague`, a hat or two hats, and it may be
        somebody's `own`.
        """
        noun = self.draw.choice(nouns(kind))
        many = not noun.mass and self.chance(plural)
        family, public = "family" in noun.kinds, "public" in noun.kinds
        determiners = [] if family else _DEFINITE + _INDEFINITE if vague else _DEFINITE
        if family or (own and not public):
            determiners = determiners + _OF_SOMEBODY
        determiner, number = self.draw.choice(determiners), None
        if many and vague and not family and self.chance(0.3):
            determiner, number = "", self.draw.randint(2, 12 if "person" in noun.kinds else 30)
        if determiner == "a" and (many or noun.mass):
            determiner = ""
        return Phrase(noun, determiner, self.quality_of(noun, adjective), many, number)

    def quality_of(self, noun: Noun, chance: float) -> Adjective | None:
        fitting = adjectives(noun.kinds)
        return self.draw.choice(fitting) if fitting and self.chance(chance) else None

    def pronoun_of(self, x: Phrase) -> Pronoun:
        """A thing's."""
        return THEY if x.plural else IT[x.noun.gender]

    def pronoun_for(self, x: Nominal) -> Pronoun | None:
        """A person's; none for das Kind, whose pronoun is not that of the child."""
        if isinstance(x, Pronoun):
            return x
        if isinstance(x, Name):
            return (SHE, HE)[NAMES.index(x.name) % 2]
        if x.plural:
            return THEY
        return {"f": SHE, "m": HE}.get(x.noun.gender)

    def at(self, place: Place) -> Where:
        return Where(*place.at, Phrase(place.noun, adjective=self.quality_of(place.noun, 0.15)))

    def whither(self, place: Place) -> Where:
        return replace(self.at(place), english="to", german=place.to, case="dative" if place.to == "zu" else "accusative")

    def time_of_day(self) -> Adverb:
        hour, minutes = self.draw.randint(1, 12), self.draw.choice([5, 10, 20])
        here = english.number(hour)
        there, soon = ("eins" if h == 1 else german.number(h) for h in (hour, hour % 12 + 1))
        said = self.draw.choice(
            [
                (f"{here} o'clock", f"{german.number(hour)} Uhr"),
                (f"half past {here}", f"halb {soon}"),
                (f"a quarter past {here}", f"Viertel nach {there}"),
                (f"a quarter to {here}", f"Viertel vor {there}"),
                (f"{english.number(minutes)} past {here}", f"{german.number(minutes)} nach {there}"),
                (f"{english.number(minutes)} to {here}", f"{german.number(minutes)} vor {there}"),
            ]
        )
        return Adverb(f"at {said[0]}", f"um {said[1]}", frozenset(), clock=True)
