"""The trees that sentences are made of: what is said, before any language has put it into an order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from headway.data.grammar.words import Adjective, Adverb, Modal, Noun, Verb

Tense = Literal["present", "progressive", "past", "modal"]
Case = Literal["nominative", "accusative", "dative"]


@dataclass(frozen=True)
class Pronoun:
    english: str
    english_object: str
    nominative: str
    accusative: str
    dative: str
    person: int
    plural: bool = False


I, YOU, HE, SHE, WE, THEY = PRONOUNS = (  # noqa: E741
    Pronoun("I", "me", "ich", "mich", "mir", 1),
    Pronoun("you", "you", "du", "dich", "dir", 2),
    Pronoun("he", "him", "er", "ihn", "ihm", 3),
    Pronoun("she", "her", "sie", "sie", "ihr", 3),
    Pronoun("we", "us", "wir", "uns", "uns", 1, plural=True),
    Pronoun("they", "them", "sie", "sie", "ihnen", 3, plural=True),
)
IT = {  # the pronoun of a thing has the thing's gender
    "m": Pronoun("it", "it", "er", "ihn", "ihm", 3),
    "f": Pronoun("it", "it", "sie", "sie", "ihr", 3),
    "n": Pronoun("it", "it", "es", "es", "ihm", 3),
}
WHO = Pronoun("who", "who", "wer", "wen", "wem", 3)
WHAT = Pronoun("what", "what", "was", "was", "was", 3)


@dataclass(frozen=True)
class Phrase:
    """A noun with what belongs to it. `determiner` is an English word: the, this, a, my, no, which, every; none: ""."""

    noun: Noun
    determiner: str = "the"
    adjective: Adjective | None = None
    plural: bool = False
    number: int | None = None

    person = 3

    @property
    def vague(self) -> bool:
        """Nobody knows which: a hat, hats, two hats, no hat, every hat."""
        return self.determiner in ("a", "", "no", "every")

    @property
    def indefinite(self) -> bool:
        """Negated by kein and not by nicht."""
        return self.determiner in ("a", "") and self.number is None


@dataclass(frozen=True)
class Name:
    name: str
    person = 3
    plural = False


Nominal = Phrase | Name | Pronoun


@dataclass(frozen=True)
class Where:
    """In the park, into the park: a preposition in each language and its noun. `case` tells place from direction."""

    english: str
    german: str
    phrase: Phrase
    case: Case = "dative"


@dataclass(frozen=True)
class Clause:
    subject: Nominal
    verb: Verb
    accusative: Nominal | None = None
    dative: Nominal | None = None
    predicate: Adjective | None = None  # after be
    where: Where | None = None
    when: Adverb | None = None
    often: Adverb | None = None  # stands before the verb in English
    tense: Tense = "present"
    modal: Modal | None = None
    negated: bool = False

    def nominals(self) -> Iterator[tuple[Nominal, Case]]:
        """Whom and what it speaks of, each in its case, the place last."""
        for x, case in self.arguments():
            if x is not None:
                yield x, case
        if self.where:
            yield self.where.phrase, self.where.case

    def arguments(self) -> list[tuple[Nominal | None, Case]]:
        return [(self.subject, "nominative"), (self.accusative, "accusative"), (self.dative, "dative")]

    def argument(self, case: Case) -> Nominal | None:
        return next(x for x, its_case in self.arguments() if its_case == case)

    def person_object(self) -> tuple[Nominal | None, Case]:
        """The object that is or may be a person: the dative, if there is one."""
        return (self.dative, "dative") if self.dative else (self.accusative, "accusative")

    def with_argument(self, case: Case, x: Nominal) -> "Clause":
        if case == "nominative":
            return replace(self, subject=x)
        return replace(self, accusative=x) if case == "accusative" else replace(self, dative=x)

    def without(self, case: Case) -> "Clause":
        """An object of it left out, because it is asked for or spoken of already."""
        return replace(self, accusative=None) if case == "accusative" else replace(self, dative=None)
