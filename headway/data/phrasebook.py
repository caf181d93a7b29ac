"""A phrasebook of English and German that writes itself: sentences from a grammar, with what makes each hard to translate.

`you` is du throughout: the phrasebook is among friends. Each English sentence has one German translation, the most ordinary
one, so that a translation can be called right or wrong.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

from headway.data.grammar import german
from headway.data.grammar.sentences import Sentence, SentenceWriter
from headway.data.grammar.syntax import IT, Case, Clause, Nominal, Phrase
from headway.data.grammar.words import BE

PHENOMENA = {
    "gender": "der Hut, die Tasche, das Kleid",
    "case": "Ich gebe dem Mann den Hut.",
    "plural": "zwei Hüte",
    "adjective endings": "ein neuer Hut, der neue Hut",
    "verb second": "Heute kauft Anna einen Hut.",
    "verb last": "Anna hat einen Hut gekauft.",
    "separable verbs": "Anna probiert den Hut an.",
    "negation": "Anna kauft keinen Hut.",
    "questions": "Wen ruft Anna an?",
    "modals": "Anna will einen Hut kaufen.",
    "subordinate clauses": "…, weil der Hut billig ist.",
    "numbers": "einundzwanzig Hüte",
    "times of day": "um halb vier",
}
SHORTEST, LONGEST = 3, 14  # words, in each language
HELD_OUT_PERCENT = 2  # of all combinations are kept for the test part, and as many for validation
MOST_USES = 5  # pairs of a held-out part that share a combination which makes them new

Combination = tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    english: str
    german: str
    phenomena: frozenset[str]
    combinations: frozenset[Combination]  # which words stand together, and which verb in which structure


@dataclass(frozen=True)
class Parts:
    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def make_pairs(count: int, *, seed: int = 1) -> Iterator[Pair]:
    """Distinct pairs, in random order."""
    writer = SentenceWriter(random.Random(seed))
    known: set[str] = set()
    while len(known) < count:
        pair = _finish(writer.write())
        lengths = len(pair.english.split()), len(pair.german.split())
        if pair.english not in known and min(lengths) >= SHORTEST and max(lengths) <= LONGEST:
            known.add(pair.english)
            yield pair


def make_parts(train: int, held_out: int, *, seed: int = 1, on_progress: Callable[[int, int], None] | None = None) -> Parts:
    """A training part of so many pairs, and two others.

    Each pair of the test part holds a combination of words, or of a verb and a structure, that no other part has; so does
    each pair of the validation part. No word is new in them, and no combination stands for more than a few pairs.
    """
    found: dict[str, list[Pair]] = {"train": [], "valid": [], "test": []}
    for pair in make_pairs(10 * (train + held_out), seed=seed):
        found.get(_part(pair), []).append(pair)
        if on_progress and len(found["train"]) % 1000 == 0:
            on_progress(min(len(found["train"]), train), train)
        if len(found["train"]) >= train and min(len(found["valid"]), len(found["test"])) >= 4 * held_out:
            break
    kept = found["train"][:train]
    words = {word for pair in kept for word in words_of(f"{pair.english} {pair.german}")}
    targets = {pair.german for pair in kept}

    def choose(part: str) -> list[Pair]:
        chosen: list[Pair] = []
        uses = Counter[Combination]()
        for pair in found[part]:
            new = [combination for combination in pair.combinations if _part_of(combination) == part]
            familiar = words.issuperset(words_of(f"{pair.english} {pair.german}")) and pair.german not in targets
            if familiar and all(uses[combination] < MOST_USES for combination in new) and len(chosen) < held_out:
                chosen.append(pair)
                uses.update(new)
        return chosen

    return Parts(kept, choose("valid"), choose("test"))


def words_of(text: str) -> list[str]:
    return [word.strip(".,?") for word in text.split()]


def _part(pair: Pair) -> str:
    """The part whose combinations it holds; a pair that holds something of both held-out parts belongs to none."""
    parts = {_part_of(combination) for combination in pair.combinations} - {"train"}
    return "train" if not parts else parts.pop() if len(parts) == 1 else ""


@cache
def _part_of(combination: Combination) -> str:
    """The same in every phrasebook, whatever its seed."""
    digest = blake2b(" ".join(combination).encode(), digest_size=8).digest()
    place = int.from_bytes(digest, "little") % 100
    return "test" if place < HELD_OUT_PERCENT else "valid" if place < 2 * HELD_OUT_PERCENT else "train"


def _finish(sentence: Sentence) -> Pair:
    phenomena, combinations = set(sentence.phenomena), set(sentence.combinations)
    phrases = list(sentence.phrases)
    for clause, form in sentence.clauses:
        phenomena |= _phenomena(clause, form)
        combinations |= _combinations(clause, form)
        phrases += clause.nominals()
    for phrase, case in phrases:
        phenomena |= _phrase_phenomena(phrase, case)
        if isinstance(phrase, Phrase) and phrase.adjective:
            combinations.add((phrase.adjective.english, phrase.noun.english))
    here, there = (text[0].upper() + text[1:] + sentence.end for text in (sentence.english, sentence.german))
    return Pair(here, there, frozenset(phenomena), frozenset(combinations))


def _phrase_phenomena(x: Nominal, case: Case) -> set[str]:
    found = {"case"} if german.nominal(x, case) != german.nominal(x) else set()
    if not isinstance(x, Phrase):
        return found | {"gender"} if x in IT.values() else found
    holds = {
        "gender": not x.plural and bool(x.determiner or x.adjective),
        "plural": x.plural,
        "adjective endings": x.adjective is not None,
        "numbers": x.number is not None,
    }
    return found | {name for name, held in holds.items() if held}


def _phenomena(clause: Clause, form: str) -> set[str]:
    subordinate = form in ("subordinate", "relative", "infinitive")
    bracket = clause.modal is not None or (clause.tense == "past" and clause.verb is not BE)
    holds = {
        "verb second": form == "fronted",
        "verb last": subordinate or bracket,
        "separable verbs": bool(clause.verb.prefix),
        "negation": clause.negated or (clause.often is not None and clause.often.english == "never"),
        "questions": form == "question",
        "modals": clause.modal is not None,
        "subordinate clauses": subordinate,
        "times of day": clause.when is not None and clause.when.clock,
    }
    return {name for name, held in holds.items() if held}


def _combinations(clause: Clause, form: str) -> set[Combination]:
    verb, mode = clause.verb.name, clause.modal.english if clause.modal else clause.tense
    found: set[Combination] = {(verb, form, mode, "not" if clause.negated else "")}
    for x, case in clause.nominals():
        if isinstance(x, Phrase):
            found.add((verb, case, x.noun.english))
    if clause.predicate and isinstance(clause.subject, Phrase):
        found.add((clause.predicate.english, clause.subject.noun.english))
    return found
