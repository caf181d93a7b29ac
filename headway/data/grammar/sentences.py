"""The sentences of the phrasebook: which structures there are, and what is said in them."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from headway.data.grammar import english, german
from headway.data.grammar.clauses import ClauseWriter, shows_case
from headway.data.grammar.phrases import adjectives, nouns
from headway.data.grammar.syntax import HE, PRONOUNS, SHE, WHAT, WHO, YOU, Case, Clause, I, Name, Nominal, Phrase, Where
from headway.data.grammar.words import (
    BE,
    COME,
    DRIVE,
    GO,
    LAY,
    LIE,
    NAMES,
    PLACES,
    SET,
    STAND,
    VERB,
    Adjective,
    Adverb,
)


@dataclass(frozen=True)
class Sentence:
    """A sentence in both languages, without a capital and an end, and what it was made of."""

    english: str
    german: str
    clauses: list[tuple[Clause, str]]  # each with its form: statement, fronted, question, subordinate, relative, infinitive
    end: str = "."
    phrases: list[tuple[Nominal, Case]] = field(default_factory=list)  # those that stand in no clause
    phenomena: frozenset[str] = frozenset()  # those that the clauses do not show
    combinations: frozenset[tuple[str, ...]] = frozenset()  # the same


class SentenceWriter:
    def __init__(self, draw: random.Random) -> None:
        self.draw, self.clauses = draw, ClauseWriter(draw)
        self.phrases = self.clauses.phrases

    def write(self) -> Sentence:
        structures: dict[Callable[[], Sentence], int] = {
            self.statement: 20,
            self.fronted: 15,
            self.question: 9,
            self.asked: 9,
            self.quality: 4,
            self.contrast: 2,
            self.position: 6,
            self.reason: 7,
            self.report: 9,
            self.condition: 2,
            self.about: 8,
            self.purpose: 3,
            self.age: 1,
            self.price: 2,
            self.supply: 2,
            self.duration: 2,
            self.clock: 2,
        }
        return self.draw.choices(list(structures), list(structures.values()))[0]()

    def statement(self) -> Sentence:
        """Anna often buys hats."""
        clause = self.clauses.clause()
        every = isinstance(clause.subject, Phrase) and clause.subject.determiner == "every"
        often = clause.tense == "present" and not (clause.negated or clause.when or clause.verb.lasting or every)
        if often and self.phrases.chance(0.2):
            clause = replace(clause, often=self.draw.choice(_OFTEN))
        return _state(clause)

    def fronted(self) -> Sentence:
        """Today Anna is buying a hat: in German the verb stays second."""
        clause = self.clauses.clause(when=True)
        assert clause.when
        bare = replace(clause, when=None)
        said = f"{clause.when.english} {english.statement(bare)}", german.statement(bare, clause.when.german)
        return Sentence(*said, [(clause, "fronted")])

    def question(self) -> Sentence:
        """Does Anna buy the hat?"""
        return _ask(self.clauses.asking(self.clauses.clause()))

    def asked(self) -> Sentence:
        """Who buys the hat? When, why does Anna buy it? What does she buy, which hat, how many hats?"""
        clause = self.clauses.asking(self.clauses.clause(negated=0))
        choice = self.draw.choice(["adverb", "subject", "what", "which", "which"])
        x, case = clause.person_object()
        if choice == "which" and _reversible(x, clause.subject):
            return self.asked()
        if "person" in clause.verb.subjects and (choice == "subject" or (choice != "adverb" and x is None)):
            clause = self.clauses.sane(replace(clause, subject=WHO))
            return Sentence(english.statement(clause), german.statement(clause), [(clause, "question")], "?")
        if choice in ("adverb", "subject") or x is None or (clause.accusative and clause.dative):
            adverb = ("why", "warum") if clause.verb.lasting else self.draw.choice([("when", "wann"), ("why", "warum")])
            return _ask(replace(clause, when=None), *adverb)
        thing = isinstance(x, Phrase) and "person" not in x.noun.kinds
        if isinstance(x, Phrase) and not x.noun.mass and (choice == "which" or (thing and clause.verb.lasting)):
            how_many = x.plural and self.phrases.chance(0.6)
            asked: Nominal = replace(x, determiner="how many" if how_many else "which", number=None)
        else:
            asked = WHAT if thing else WHO
        if clause.verb.particle:
            clause = replace(clause, when=None)  # Which hat does she put on on Monday?
        asking = _ask(clause.without(case), english.nominal(asked), german.nominal(asked, case))
        counting = isinstance(asked, Phrase) and asked.determiner == "how many"
        return replace(
            asking,
            clauses=[(clause.with_argument(case, asked), "question")],
            phenomena=frozenset(["numbers"] if counting else []),
        )

    def quality(self) -> Sentence:
        """The bag is not new."""
        clause = self.clauses.description(self.phrases.phrase(self.draw.choice(_DESCRIBED), adjective=0, vague=False))
        return _ask(clause) if self.phrases.chance(0.25) else _state(clause)

    def contrast(self) -> Sentence:
        """The bag is old, but it is beautiful: the pronoun has the noun's gender."""
        subject = self.phrases.phrase(self.draw.choice(sorted(_JUDGED)), adjective=0, plural=0.2, vague=False)
        good, bad = _judge(subject.noun.kinds)
        one = self.draw.choice(good + bad)
        other = self.draw.choice([x for x in (bad if one in good else good) if {x.english, one.english} not in _OPPOSITES])
        first, second = Clause(subject, BE, predicate=one), Clause(self.phrases.pronoun_of(subject), BE, predicate=other)
        said = (
            f"{english.statement(first)}, but {english.statement(second)}",
            f"{german.statement(first)}, aber {german.statement(second)}",
        )
        return Sentence(*said, [(first, "statement"), (second, "statement")])

    def position(self) -> Sentence:
        """Where something is, with the dative, or where somebody puts it, with the accusative."""
        kind = self.draw.choice(["lying", "lying", "standing"])
        furniture = self.phrases.phrase(self.draw.choice(["surface", "surface", "furniture"]), plural=0, vague=False)
        prepositions = _BESIDE if "surface" not in furniture.noun.kinds else _BESIDE + _ON
        where = Where(*self.draw.choice(prepositions), furniture)
        if self.phrases.chance(0.5):
            thing = self.phrases.phrase(kind, adjective=0.25, vague=False)
            clause = Clause(thing, LIE if kind == "lying" else STAND, where=where, negated=self.phrases.chance(0.15))
        else:
            verb, thing = LAY if kind == "lying" else SET, self.phrases.phrase(kind, adjective=0.25)
            clause = self.clauses.in_time(Clause(self.phrases.somebody(), verb, thing, where=replace(where, case="accusative")))
        clause = self.clauses.sane(clause)
        return _ask(self.clauses.asking(clause)) if self.phrases.chance(0.2) else _state(clause)

    def reason(self) -> Sentence:
        """Anna is happy because she found the key; she buys the hat although it is expensive."""
        although = self.phrases.chance(0.35)
        first, second = (self._reason_of_thing if self.phrases.chance(0.45) else self._reason_of_mood)(although)
        because, weil = ("although", "obwohl") if although else ("because", "weil")
        said = (
            f"{english.statement(first)} {because} {english.statement(second)}",
            f"{german.statement(first)}, {weil} {german.subordinate(second)}",
        )
        return Sentence(*said, [(first, "statement"), (second, "subordinate")])

    def _reason_of_thing(self, although: bool) -> tuple[Clause, Clause]:
        """What is good is bought and worn, what is bad is sold and thrown away; or the other way round, although."""
        wanted = self.phrases.chance(0.5)
        verb = VERB[self.draw.choice(_WANTED if wanted else _UNWANTED)]
        kinds = sorted(kind for kind in verb.accusative if kind in _JUDGED)
        x = self.phrases.phrase(self.draw.choice(kinds), adjective=0, vague=False, own=not wanted)
        first = self.clauses.sane(self.clauses.in_time(Clause(self.phrases.somebody(), verb, x), when=False))
        x = first.accusative if isinstance(first.accusative, Phrase) else x
        good, bad = _judge(x.noun.kinds)
        adjective = self.draw.choice(good if wanted != although else bad)
        return first, Clause(
            self.phrases.pronoun_of(x), BE, predicate=adjective, tense="past" if first.tense == "past" else "present"
        )

    def _reason_of_mood(self, although: bool) -> tuple[Clause, Clause]:
        subject = self.somebody_with_pronoun()
        mood = self.draw.choice(sorted(_OTHER_MOOD))
        causes = _REASONS[_OTHER_MOOD[mood] if although else mood]
        first = Clause(subject, BE, predicate=_mood(mood), tense="past" if self.phrases.chance(0.35) else "present")
        while True:
            second = self.clauses.clause(
                verbs=causes, short=True, subject=self.phrases.pronoun_for(subject), negated=0.1 if mood == "sad" else 0
            )
            likely = second.modal is None or second.modal.english in ("can", "must", "will")
            if likely and (first.tense == "past") == (second.tense == "past"):
                return first, second

    def report(self) -> Sentence:
        """I know that the train leaves at ten; Anna asks whether it arrives."""
        speaker = self.draw.choice(_SPEAKERS)
        verbs, formen, that = self.draw.choice(_REPORTS)
        verb = verbs.split(", ")[speaker.person == 3 and not speaker.plural]
        form = formen.split(", ")[0 if speaker.plural else speaker.person]
        inner = self.clauses.clause(short=True, negated=0 if that[0] == "whether" else 0.16)
        hoped = "hope" not in verb or inner.modal is None or inner.modal.english in ("can", "will")
        if not hoped or _speaks_of(inner, speaker) or (inner.subject.person < 3 and inner.subject.person == speaker.person):
            return self.report()
        said = (
            f"{english.nominal(speaker, subject=True)} {verb} {that[0]} {english.statement(inner)}",
            f"{german.nominal(speaker)} {form}, {that[1]} {german.subordinate(inner)}",
        )
        return Sentence(*said, [(inner, "subordinate")], phenomena=frozenset(["negation"] if "not" in verb else []))

    def condition(self) -> Sentence:
        """When Anna is tired, she sleeps: the clause is first, so the verb comes before the subject."""
        subject = self.somebody_with_pronoun()
        mood = self.draw.choice(sorted(_HABITS))
        first = Clause(subject, BE, predicate=_mood(mood))
        second = self.clauses.clause(verbs=_HABITS[mood], short=True, subject=self.phrases.pronoun_for(subject), negated=0)
        if second.modal is None or second.modal.english not in ("can", "will"):
            second = self.clauses.sane(replace(second, tense="present", modal=None))
        second = replace(second, when=None)
        said = (
            f"when {english.statement(first)}, {english.statement(second)}",
            german.statement(second, f"wenn {german.subordinate(first)},"),
        )
        return Sentence(*said, [(first, "subordinate"), (second, "fronted")])

    def about(self) -> Sentence:
        """The hat that Anna bought is new; I know the man who helps us."""
        inner = self.clauses.clause(short=True)
        roles: list[tuple[Phrase, Case]] = []
        for x, case in inner.arguments():
            of_two = case == "dative" and inner.accusative  # the man who Anna gives the book: nobody says so
            if isinstance(x, Phrase) and not (x.noun.mass or "family" in x.noun.kinds or of_two):
                roles.append((x, case))
        if not roles:
            return self.about()
        x, case = self.draw.choice(roles)
        if _reversible(x, inner.accusative if case == "nominative" else inner.subject) and case != "dative":
            return self.about()
        head = replace(x, determiner="the", adjective=None, number=None)
        inner = inner.with_argument(case, head)
        if case != "nominative" or "person" not in head.noun.kinds:
            inner = replace(inner, when=None)  # it might belong to the clause around it
        who = "who" if "person" in head.noun.kinds else "that"
        here, there = f" {who} {english.relative(inner, case)}", f", {german.relative(inner, case)}"
        if self.phrases.chance(0.6) or inner.verb.name in ("eat", "drink", "throw away"):
            outer = self.clauses.description(head)
            outer = replace(outer, tense="past" if outer.tense == inner.tense == "past" else "present")
            said = english.statement(outer, aside=here), german.statement(outer, aside=f"{there},")
        else:
            speaker = self.draw.choice([one for one in _SPEAKERS if not _speaks_of(inner, one)])
            outer = Clause(speaker, VERB["know" if who == "who" else "see"], head)
            said = f"{english.statement(outer)}{here}", f"{german.statement(outer)}{there}"
        return Sentence(*said, [(inner, "relative"), (outer, "statement")])

    def purpose(self) -> Sentence:
        """Anna goes to the market to buy an apple."""
        verb = self.draw.choice([GO, DRIVE, COME])
        place = self.draw.choice([place for place in self.clauses.places(verb) if "outdoors" not in place.noun.kinds])
        outer = self.clauses.sane(
            self.clauses.in_time(Clause(self.phrases.somebody(), verb, where=self.phrases.whither(place)))
        )
        sold = _SHOPS.get(place.noun.english)
        if sold:
            x = self.phrases.phrase(sold, own=False)
            x = x if x.vague else replace(x, determiner="" if x.noun.mass or x.plural else "a")
            inner = Clause(outer.subject, VERB["buy"], x)
        else:
            inner = self.clauses.clause(verbs=_ERRANDS, subject=outer.subject, negated=0)
            inner = replace(inner, when=None, tense="present", modal=None)
            if isinstance(inner.accusative, Phrase):
                inner = replace(inner, accusative=replace(inner.accusative, number=None))
        said = (
            f"{english.statement(outer)} {english.infinitive(inner)}",
            f"{german.statement(outer)}, um {german.infinitive(inner)}",
        )
        return Sentence(*said, [(outer, "statement"), (inner, "infinitive")])

    def age(self) -> Sentence:
        """My sister is nine years old."""
        somebody = self.phrases.phrase("person", adjective=0, plural=0.1, vague=False)
        kinds = somebody.noun.kinds
        low, high = (6, 17) if "minor" in kinds else (55, 95) if "old" in kinds else (18, 75)
        number = self.draw.randint(low, high)
        others: list[Nominal] = [somebody, self.phrases.name(), self.draw.choice([I, YOU, HE, SHE])]
        years = Adjective(f"{english.number(number)} years old", f"{german.number(number)} Jahre alt", "", frozenset())
        clause = Clause(self.draw.choice(others), BE, predicate=years, negated=self.phrases.chance(0.15))
        return replace(
            _ask(self.clauses.asking(clause)) if self.phrases.chance(0.2) else _state(clause), phenomena=frozenset(["numbers"])
        )

    def price(self) -> Sentence:
        """The hat costs twenty-one euros."""
        number = self.draw.randint(2, 99)
        x = self.phrases.phrase(self.draw.choice(["clothing", "device", "furniture", "thing", "dish"]), vague=False, own=False)
        if "dear" in x.noun.kinds:
            return self.price()
        if x.adjective and x.adjective.english in ("cheap", "expensive"):
            x = replace(x, adjective=None)
        said = (
            f"{english.nominal(x)} {'cost' if x.plural else 'costs'} {english.number(number)} euros",
            f"{german.nominal(x)} {'kosten' if x.plural else 'kostet'} {german.number(number)} Euro",
        )
        combinations = frozenset([("cost", "nominative", x.noun.english)])
        return Sentence(*said, [], phrases=[(x, "nominative")], phenomena=frozenset(["numbers"]), combinations=combinations)

    def supply(self) -> Sentence:
        """In the village there are three hotels."""
        kind, where = self.draw.choice(_SUPPLIES)
        noun = self.draw.choice(nouns(kind))
        x = Phrase(noun, "", self.phrases.quality_of(noun, 0.3), plural=True, number=self.draw.randint(2, 60))
        place = self.phrases.at(self.draw.choice([place for place in PLACES if place.noun.english in where]))
        said = (
            f"{english.where(place)} there are {english.nominal(x)}",
            f"{german.where(place)} gibt es {german.nominal(x, 'accusative')}",
        )
        phrases: list[tuple[Nominal, Case]] = [(x, "accusative"), (place.phrase, "dative")]
        combinations = frozenset(
            [("there are", "accusative", noun.english), ("there are", "dative", place.phrase.noun.english)]
        )
        return Sentence(*said, [], phrases=phrases, phenomena=frozenset(["numbers", "verb second"]), combinations=combinations)

    def duration(self) -> Sentence:
        """The boy slept for ten hours."""
        (low, high), unit = self.draw.choice([((2, 12), ("hours", "Stunden")), ((5, 55), ("minutes", "Minuten"))])
        number = self.draw.randint(low, high)
        lasting = Adverb(f"for {english.number(number)} {unit[0]}", f"{german.number(number)} {unit[1]} lang", frozenset())
        clause = self.clauses.clause(verbs=_LASTING, negated=0)
        if clause.tense == "progressive":
            clause = replace(clause, tense="present")
        clause = replace(clause, when=lasting, where=None)
        asking = self.phrases.chance(0.15)
        return replace(_ask(self.clauses.asking(clause)) if asking else _state(clause), phenomena=frozenset(["numbers"]))

    def clock(self) -> Sentence:
        """It is already half past three."""
        time = self.phrases.time_of_day()
        adverb, adverbial = self.draw.choice([(" now", " jetzt"), (" already", " schon"), (" almost", " fast"), ("", "")])
        said = (
            f"it is{adverb} {time.english.removeprefix('at ')}",
            f"es ist{adverbial} {time.german.removeprefix('um ')}",
        )
        combinations = frozenset([("it is", time.english)])
        return Sentence(*said, [], phenomena=frozenset(["times of day"]), combinations=combinations)

    def somebody_with_pronoun(self) -> Nominal:
        """Somebody who can be spoken of again as he, she or they."""
        while True:
            somebody = self.phrases.somebody()
            if isinstance(somebody, Phrase):
                vague = somebody.vague or somebody.number
                somebody = replace(somebody, adjective=None, number=None, determiner="the" if vague else somebody.determiner)
            if self.phrases.pronoun_for(somebody):
                return somebody


def _state(clause: Clause) -> Sentence:
    return Sentence(english.statement(clause), german.statement(clause), [(clause, "statement")])


def _ask(clause: Clause, asked: str = "", gefragt: str = "") -> Sentence:
    return Sentence(english.question(clause, asked), german.question(clause, gefragt), [(clause, "question")], "?")


def _reversible(x: Nominal | None, other: Nominal | None) -> bool:
    """Whether nobody could tell from the German who does it to whom: die Frau, die Paul anruft."""
    if not isinstance(x, Phrase) or not x.noun.kinds & {"person", "animal"} or other is None:
        return False
    return not (shows_case(x) or shows_case(other))


def _speaks_of(clause: Clause, speaker: Nominal) -> bool:
    return any(x == speaker for x, _ in clause.arguments())


def _judge(kinds: frozenset[str]) -> tuple[list[Adjective], list[Adjective]]:
    """What may be good and what may be bad about something."""
    fitting = adjectives(kinds)
    return [one for one in fitting if one.english in _GOOD], [one for one in fitting if one.english in _BAD]


def _mood(name: str) -> Adjective:
    return next(one for one in adjectives(frozenset(["mood"])) if one.english == name)


_SPEAKERS: list[Nominal] = [*PRONOUNS, *map(Name, NAMES)]
_OFTEN = [
    Adverb(*pair, frozenset()) for pair in (("often", "oft"), ("always", "immer"), ("never", "nie"), ("sometimes", "manchmal"))
]
_DESCRIBED = [  # kinds of nouns
    *("person", "animal", "food", "drink", "text", "clothing", "dish", "device"),
    *("container", "furniture", "vehicle", "transport", "thing", "room", "place", "opening"),
]
_GOOD = {"new", "beautiful", "cheap", "clean", "interesting", "important", "fast", "modern", "bright", "quiet", "light", "warm"}
_BAD = {"old", "expensive", "dirty", "boring", "heavy", "slow", "broken", "dark"}
_OPPOSITES = [
    {"new", "old"},
    {"modern", "old"},
    {"cheap", "expensive"},
    {"clean", "dirty"},
    {"interesting", "boring"},
    {"fast", "slow"},
]
_JUDGED = {"clothing", "garment", "device", "furniture", "thing", "vehicle", "text"}
_WANTED = ["buy", "wear", "try on", "put on"]
_UNWANTED = ["sell", "throw away", "repair", "give back"]
_REASONS = {
    "tired": ["work", "dance", "swim", "carry", "clean", "tidy up", "wash up", "play", "repair"],
    "rested": ["sleep"],
    "happy": ["meet", "visit", "find", "go out", "come back", "invite", "dance", "swim", "sing", "pick up"],
    "sad": ["forget", "go away", "wait", "look for", "throw away", "sell", "give back"],
}
_OTHER_MOOD = {"tired": "rested", "happy": "sad", "sad": "happy"}
_HABITS = {
    "tired": ["sleep", "fall asleep", "cry"],
    "hungry": ["eat"],
    "sad": ["cry", "phone", "sing", "write", "go away", "visit"],
    "happy": ["sing", "dance", "laugh", "go out", "invite", "phone", "bring along", "turn on"],
}
_BESIDE = [("next to", "neben"), ("in front of", "vor"), ("behind", "hinter")]
_ON = [("on", "auf"), ("on", "auf"), ("under", "unter")]
_REPORTS = [  # base and third person; plural, ich, du, er
    ("know, knows", "wissen, weiß, weißt, weiß", ("that", "dass")),
    ("say, says", "sagen, sage, sagst, sagt", ("that", "dass")),
    ("believe, believes", "glauben, glaube, glaubst, glaubt", ("that", "dass")),
    ("hope, hopes", "hoffen, hoffe, hoffst, hofft", ("that", "dass")),
    ("ask, asks", "fragen, frage, fragst, fragt", ("whether", "ob")),
    ("do not know, does not know", "wissen nicht, weiß nicht, weißt nicht, weiß nicht", ("whether", "ob")),
]
_SHOPS = {"market": "fruit", "supermarket": "food", "bakery": "baked"}
_ERRANDS = ["meet", "pick up", "help", "look for", "ask", "thank"]
_SUPPLIES = [
    ("sight", {"village", "city"}),
    ("furniture", {"kitchen", "office", "hotel", "library"}),
    ("device", {"office", "hotel", "library", "museum"}),
]
_LASTING = ["wait", "work", "sleep", "practise", "dance", "sing", "play", "swim"]
