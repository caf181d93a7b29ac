"""How German says a clause: endings by gender, number and case; the verb second, first or last; the prefix that comes off."""

from dataclasses import replace

from headway.data.grammar.syntax import Case, Clause, Name, Nominal, Phrase, Pronoun, Where
from headway.data.grammar.words import TENS, UNITS, Verb

# Endings of der (written out), of dieser, of ein; columns: masculine, feminine, neuter, plural.
_THE = {"nominative": "der die das die", "accusative": "den die das die", "dative": "dem der dem den"}
_DIESER = {"nominative": "er e es e", "accusative": "en e es e", "dative": "em er em en"}
_EIN = {"nominative": "- e - e", "accusative": "en e - e", "dative": "em er em en"}
_DIESER_WORDS = {"this": "dies", "every": "jed", "which": "welch"}
_EIN_WORDS = {
    "a": "ein",
    "no": "kein",
    "my": "mein",
    "your": "dein",
    "his": "sein",
    "her": "ihr",
    "our": "unser",
    "their": "ihr",
}
# Adjectives: after der and dieser; after ein, which leaves the gender to them; after nothing, where they show all.
_WEAK = {"nominative": "e e e en", "accusative": "en e e en", "dative": "en en en en"}
_MIXED = {"nominative": "er e es en", "accusative": "en e es en", "dative": "en en en en"}
_STRONG = {"nominative": "er e es e", "accusative": "en e es e", "dative": "em er em en"}
_CONTRACTED = {"in dem": "im", "in das": "ins", "an dem": "am", "an das": "ans", "zu dem": "zum", "zu der": "zur"}


def nominal(x: Nominal, case: Case = "nominative") -> str:
    if isinstance(x, Name):
        return x.name
    if isinstance(x, Pronoun):
        return {"nominative": x.nominative, "accusative": x.accusative, "dative": x.dative}[case]
    column = _column(x)
    determiner, endings = _determiner(x, case, column)
    adjective = x.adjective.stem + _ending(endings, case, column) if x.adjective else ""
    return _join(determiner, number(x.number) if x.number else "", adjective, _noun(x, case))


def _determiner(x: Phrase, case: Case, column: int) -> tuple[str, dict[str, str]]:
    """The determiner, and which endings an adjective takes after it."""
    if x.determiner == "the":
        return _ending(_THE, case, column), _WEAK
    if x.determiner in _DIESER_WORDS:
        return _DIESER_WORDS[x.determiner] + _ending(_DIESER, case, column), _WEAK
    if x.determiner == "how many":
        return "wie viele" if case != "dative" else "wie vielen", _STRONG
    if x.determiner in _EIN_WORDS:
        return _EIN_WORDS[x.determiner] + _ending(_EIN, case, column), _MIXED
    return "", _STRONG


def _column(x: Phrase) -> int:
    return 3 if x.plural else "mfn".index(x.noun.gender)


def _ending(table: dict[str, str], case: Case, column: int) -> str:
    return table[case].split()[column].replace("-", "")


def _noun(x: Phrase, case: Case) -> str:
    noun = x.noun
    if x.plural:
        return noun.german_plural + ("n" if case == "dative" and noun.german_plural[-1] not in "ns" else "")
    return noun.german_plural if noun.weak and case != "nominative" else noun.german


def number(n: int) -> str:
    """Up to 99; the units come first: einundzwanzig."""
    if n < 20:
        return list(UNITS.values())[n - 1]
    tens = list(TENS.values())[n // 10 - 2]
    return f"{number(n % 10)}und{tens}" if n % 10 else tens


def where(x: Where) -> str:
    preposition, phrase = x.german, nominal(x.phrase, x.case)
    article, _, rest = phrase.partition(" ")
    if contracted := _CONTRACTED.get(f"{preposition} {article}"):
        return f"{contracted} {rest}"
    return f"{preposition} {phrase}"


def statement(clause: Clause, first: str = "", aside: str = "") -> str:
    """The finite verb is second, whatever is first: the subject, with what is said of it aside, or `first`."""
    finite, end = _bracket(clause)
    if first:
        return _join(first, finite, _subject_and_middle(clause), end)
    return _join(nominal(clause.subject) + aside, finite, _middle(clause), end)


def question(clause: Clause, asked: str = "") -> str:
    """The finite verb is first, or second after what is asked for."""
    if asked:
        return statement(clause, asked)
    finite, end = _bracket(clause)
    return _join(finite, _subject_and_middle(clause), end)


def subordinate(clause: Clause, pronoun: str = "") -> str:
    """The finite verb is last, and the prefix stays on. `pronoun` is in the subject's place."""
    finite, end = _bracket(clause)
    closed = end + finite if end and end == clause.verb.prefix else f"{end} {finite}"
    return _join(f"{pronoun} {_middle(clause)}" if pronoun else _subject_and_middle(clause), closed)


def relative(clause: Clause, case: Case) -> str:
    """A subordinate clause about its own subject or object, whose pronoun comes first: den Anna kauft."""
    x = clause.argument(case)
    assert isinstance(x, Phrase)
    pronoun = "denen" if x.plural and case == "dative" else _ending(_THE, case, _column(x))
    if case == "nominative":
        return subordinate(clause, pronoun)
    return f"{pronoun} {subordinate(clause.without(case))}"


def infinitive(clause: Clause) -> str:
    """With zu, which goes between the prefix and the verb: anzurufen."""
    verb = clause.verb
    return _join(_middle(clause), f"{verb.prefix}zu{verb.infinitive}" if verb.prefix else f"zu {verb.infinitive}")


def _bracket(clause: Clause) -> tuple[str, str]:
    """What stands in the second place and what stands at the end: finite verb, and prefix, participle or infinitive."""
    verb, subject = clause.verb, clause.subject
    if clause.modal:
        modal = clause.modal
        return _pick(subject, modal.plural, modal.ich, modal.du, modal.er), verb.prefix + verb.infinitive
    if clause.tense == "past":
        if verb.infinitive == "sein":
            return _pick(subject, "waren", "war", "warst", "war"), ""
        auxiliary = ("sind", "bin", "bist", "ist") if verb.auxiliary == "sein" else ("haben", "habe", "hast", "hat")
        return _pick(subject, *auxiliary), verb.participle
    return _present(verb, subject), verb.prefix


def _present(verb: Verb, subject: Nominal) -> str:
    if verb.infinitive == "sein":
        return _pick(subject, "sind", "bin", "bist", "ist")
    if verb.infinitive == "haben":
        return _pick(subject, "haben", "habe", "hast", "hat")
    ich = verb.infinitive.removesuffix("n") + ("" if verb.infinitive.endswith("en") else "e")  # kaufe, füttere
    du = verb.er if verb.er[-2] in "sßzx" else verb.er[:-1] + "st"  # kaufst, but isst and putzt
    return _pick(subject, verb.infinitive, ich, du, verb.er)


def _pick(subject: Nominal, plural: str, ich: str, du: str, er: str) -> str:
    return (plural, ich, du, er)[0 if subject.plural else subject.person]


def _middle(clause: Clause) -> str:
    """Between the brackets: who is known, when, what, nicht, where. With nicht, what is denied comes before when."""
    accusative, dative = clause.accusative, clause.dative
    negation = "nicht" if clause.negated else ""
    if clause.negated and isinstance(accusative, Phrase) and accusative.indefinite:
        accusative, negation = replace(accusative, determiner="no"), ""
    known = [nominal(x, case) for x, case in _objects(dative, accusative) if _known(x, case)]
    others = [nominal(x, case) for x, case in _objects(dative, accusative) if not _known(x, case)]
    time = [adverb.german for adverb in (clause.when, clause.often) if adverb]
    middle = [*others, *time] if negation else [*time, *others]
    predicate = clause.predicate.german if clause.predicate else ""
    return _join(*known, *middle, negation, predicate, where(clause.where) if clause.where else "")


def _subject_and_middle(clause: Clause) -> str:
    """Behind the verb, a pronoun goes before a noun (ruft mich Anna an), but for sie, which might be the subject."""
    subject, middle = nominal(clause.subject), _middle(clause)
    x, case = clause.person_object()
    if isinstance(clause.subject, Pronoun) or not isinstance(x, Pronoun) or nominal(x, case) == nominal(x):
        return f"{subject} {middle}"
    return f"{nominal(x, case)} {subject}{middle.removeprefix(nominal(x, case))}"


def _objects(dative: Nominal | None, accusative: Nominal | None) -> list[tuple[Nominal, Case]]:
    objects: list[tuple[Nominal | None, Case]] = [(dative, "dative"), (accusative, "accusative")]
    return [(x, case) for x, case in objects if x is not None]


def _known(x: Nominal, case: Case) -> bool:
    """Pronouns, names, and those to whom something is given, if they are known."""
    return not isinstance(x, Phrase) or (case == "dative" and not x.vague)


def _join(*parts: str) -> str:
    return " ".join(" ".join(parts).split())
