"""Drawing clauses: who does what, when and where, so that it makes sense."""

import random
from collections.abc import Sequence
from dataclasses import replace

from headway.data.grammar import german
from headway.data.grammar.phrases import PhraseWriter, adjectives
from headway.data.grammar.syntax import PRONOUNS, SHE, THEY, WHO, YOU, Clause, I, Name, Nominal, Phrase, Pronoun, Tense
from headway.data.grammar.words import (
    ADVERBS,
    BE,
    COME,
    DRIVE,
    GO,
    MODAL,
    MODALS,
    NAMES,
    NOUN,
    PLACES,
    VERB,
    VERBS,
    Place,
    Verb,
)


class ClauseWriter:
    def __init__(self, draw: random.Random) -> None:
        self.draw, self.phrases = draw, PhraseWriter(draw)

    def clause(
        self,
        *,
        when: bool = False,
        negated: float = 0.16,
        short: bool = False,
        subject: Nominal | None = None,
        verbs: Sequence[str] = (),
    ) -> Clause:
        """Somebody or something does something. `when`: at a time that is told; `short`: it is one of two clauses."""
        if not verbs and self.phrases.chance(0.14):
            verb = self.draw.choice([GO, DRIVE, COME])
            clause = Clause(self.phrases.somebody(), verb, where=self.phrases.whither(self.draw.choice(self.places(verb))))
        else:
            possible = [VERB[name] for name in verbs] or [verb for verb in VERBS if not (when and verb.lasting)]
            verb = self.draw.choices(possible, [2.0 if verb.prefix else 1.0 for verb in possible])[0]
            clause = Clause(subject or self.subject_of(verb), verb, *self.phrases.objects(verb))
            if verb.name in _SOMEWHERE and self.phrases.chance(0.35):
                animal = isinstance(clause.subject, Phrase) and "animal" in clause.subject.noun.kinds
                places = [place for place in PLACES if not animal or "outdoors" in place.noun.kinds]
                clause = replace(clause, where=self.phrases.at(self.draw.choice(places)))
        clause = replace(clause, negated=self.phrases.chance(negated))
        if not verb.lasting:
            clause = self.in_time(clause, when=when or self.phrases.chance(0.1 if short else 0.25))
        if verb.name in _MOMENTARY and clause.tense == "present" and not clause.when:
            clause = replace(clause, tense="progressive")
        return self.sane(clause)

    def subject_of(self, verb: Verb) -> Nominal:
        kinds = sorted(verb.subjects) + ["person"] * 3 if "person" in verb.subjects else sorted(verb.subjects)
        kind = self.draw.choice(kinds)
        return self.phrases.somebody() if kind == "person" else self.phrases.phrase(kind, vague=False)

    def places(self, verb: Verb) -> list[Place]:
        """Those that one goes to, or drives to."""
        if verb is GO:
            return [place for place in PLACES if "town" not in place.noun.kinds and place.noun.english != "airport"]
        if verb is COME:
            return [place for place in PLACES if "room" not in place.noun.kinds]
        return [place for place in PLACES if place.to == "zu" or "town" in place.noun.kinds]

    def in_time(self, clause: Clause, when: bool | None = None) -> Clause:
        """A tense or a modal, and a time that goes with it."""
        tenses: dict[Tense, int] = {"modal": 24}
        if clause.verb.gradual:
            tenses["progressive"] = 16
        if not _timeless(clause):
            tenses |= {"present": 38, "past": 24}
        tense = self.draw.choices(list(tenses), list(tenses.values()))[0]
        clause = replace(clause, tense=tense, modal=self.draw.choice(MODALS) if tense == "modal" else None)
        if self.phrases.chance(0.3) if when is None else when:
            fitting = [adverb for adverb in ADVERBS if tense in adverb.tenses]
            if clause.negated or _is_every(clause.subject):  # not every day is not the same as every day not
                fitting = [adverb for adverb in fitting if not adverb.english.startswith("every")]
            if tense == "progressive" and clause.verb.name in _UNPLANNED:
                fitting = [adverb for adverb in fitting if adverb.english == "now"]
            clock = tense != "progressive" and self.phrases.chance(0.45)
            clause = replace(clause, when=self.phrases.time_of_day() if clock else self.draw.choice(fitting))
        return clause

    def description(self, subject: Phrase) -> Clause:
        """Somebody or something is so, was so, is not so."""
        adjective = self.draw.choice(adjectives(subject.noun.kinds))
        tense: Tense = "past" if self.phrases.chance(0.25) else "present"
        return Clause(subject, BE, predicate=adjective, tense=tense, negated=self.phrases.chance(0.2))

    def asking(self, clause: Clause) -> Clause:
        """The clause as one asks for it: nobody asks whether he himself sleeps."""
        if clause.subject.person == 1:
            clause = self.sane(replace(clause, subject=YOU))
        if isinstance(clause.subject, Phrase) and _is_every(clause.subject):
            clause = replace(clause, subject=replace(clause.subject, determiner="the"))
        if clause.modal is MODAL["should"]:
            clause = replace(clause, modal=MODAL["can"])
        return clause

    def sane(self, clause: Clause) -> Clause:
        """The clause without what nobody says."""
        clause = self._apart(clause)
        clause = self._dressed(clause)
        if _timeless(clause) and clause.tense in ("present", "past") and not clause.verb.lasting:
            clause = replace(clause, tense="progressive", when=None)
        return _owned(_particular(_grown(clause)))

    def _apart(self, clause: Clause) -> Clause:
        """Not: I see me, the man helps the man; nor, in German, sie sieht sie, sie gibt ihr ihr Buch, sieht die Frau Anna."""
        subject, (x, case) = clause.subject, clause.person_object()
        if x is None:
            return clause
        alike = isinstance(subject, Phrase) and isinstance(x, Phrase) and subject.noun == x.noun
        both_sie = subject in (SHE, THEY) and x in (SHE, THEY)
        its = clause.accusative
        both_ihr = case == "dative" and x == SHE and isinstance(its, Phrase) and its.determiner in ("her", "their")
        which_is_which = isinstance(x, Name) and not shows_case(subject)
        if alike or subject == x or both_sie or both_ihr or which_is_which or _who(subject) & _who(x):
            others = [one for one in PRONOUNS if one not in (subject, SHE, THEY) and not _who(one) & _who(subject)]
            return clause.with_argument(case, self.draw.choice(others))
        return clause

    def _dressed(self, clause: Clause) -> Clause:
        """Skirts are for women and girls, in this book."""
        x = clause.accusative
        skirt = isinstance(x, Phrase) and "feminine" in x.noun.kinds and clause.verb.name in _DRESSING
        if not skirt or not isinstance(x, Phrase) or _may_be_female(clause.subject):
            return clause
        return replace(clause, accusative=replace(x, noun=NOUN[self.draw.choice(["shirt", "jacket", "coat"])]))


def _particular(clause: Clause) -> Clause:
    """What is denied is denied of something in particular, and he calls somebody in particular."""
    for x, case in clause.arguments():
        if not isinstance(x, Phrase) or not x.vague:
            continue
        object_is_pronoun = isinstance(clause.accusative or clause.dative, Pronoun)
        denied = clause.negated and (case != "accusative" or not x.indefinite)
        if denied or (case == "nominative" and object_is_pronoun):
            clause = clause.with_argument(case, replace(x, determiner="the", number=None))
    return clause


def _owned(clause: Clause) -> Clause:
    """Not: every man opens their door, the girl opens her door (seine, ihre?), and nobody cleans the clean door."""
    subject = clause.subject
    someone = subject == WHO or (isinstance(subject, Phrase) and not subject.plural and subject.determiner in ("a", "every"))
    neuter = isinstance(subject, Phrase) and not subject.plural and subject.noun.gender == "n"
    for x, case in clause.arguments()[1:]:
        if not isinstance(x, Phrase):
            continue
        if (x.determiner == "their" and (someone or neuter)) or (x.determiner == "her" and neuter):
            x = replace(x, determiner="my" if "family" in x.noun.kinds else "the")
        if x.adjective and x.adjective.english == "clean" and clause.verb.name in _CLEANING:
            x = replace(x, adjective=None)
        clause = clause.with_argument(case, x)
    return clause


def shows_case(x: Nominal | None) -> bool:
    """Whether its German tells the one who does something from the one to whom it is done."""
    return x is not None and german.nominal(x) != german.nominal(x, "accusative")


def _is_every(x: Nominal) -> bool:
    return isinstance(x, Phrase) and x.determiner == "every"


def _grown(clause: Clause) -> Clause:
    """Children do not drive, animals need no permission, and nobody is allowed to arrive."""
    if clause.verb is VERB["arrive"] and clause.modal and clause.modal.english not in ("can", "must", "will"):
        clause = replace(clause, modal=MODAL["will"])
    subject = clause.subject
    if not isinstance(subject, Phrase):
        return clause
    if "minor" in subject.noun.kinds and clause.verb is DRIVE:
        clause = replace(clause, verb=COME)
    if "animal" in subject.noun.kinds and clause.modal and clause.modal.english in ("be allowed to", "would like to", "should"):
        clause = replace(clause, modal=MODAL["can"])
    return clause


def _who(x: Nominal | None) -> set[int]:
    """The speaker, the one spoken to, or nobody in particular."""
    return {x.person} if isinstance(x, Pronoun) and x.person < 3 else set()


def _timeless(clause: Clause) -> bool:
    """`I read` may be present or past; `she reads` may not."""
    return clause.verb.past == clause.verb.base and (clause.subject.plural or clause.subject.person != 3)


def _may_be_female(x: Nominal) -> bool:
    if isinstance(x, Pronoun):
        return x in (I, YOU, SHE)
    if isinstance(x, Name):
        return x.name in NAMES[::2]
    return x.noun.gender == "f" or x.noun.english == "girl"


_SOMEWHERE = {"work", "wait", "play", "sing", "dance", "laugh", "practise", "sleep", "cry"}
_MOMENTARY = {"arrive", "leave", "get off", "get up", "wake up", "fall asleep"}
_UNPLANNED = {"wake up", "fall asleep", "cry", "laugh", "sleep"}
_CLEANING = {"clean", "tidy up", "wash up"}
_DRESSING = {"wear", "put on", "take off", "try on"}
