"""How English says a clause."""

from headway.data.grammar.syntax import Case, Clause, Name, Nominal, Pronoun, Where
from headway.data.grammar.words import BE, TENS, UNITS


def nominal(x: Nominal, *, subject: bool = False) -> str:
    if isinstance(x, Name):
        return x.name
    if isinstance(x, Pronoun):
        return x.english if subject else x.english_object
    determiner = "these" if x.determiner == "this" and x.plural else x.determiner
    words = [determiner, number(x.number) if x.number else "", x.adjective.english if x.adjective else ""]
    words = [word for word in words if word] + [x.noun.english_plural if x.plural else x.noun.english]
    if words[0] == "a" and words[1][0] in "aeiou":
        words[0] = "an"
    return " ".join(words)


def number(n: int) -> str:
    """Up to 99."""
    if n < 20:
        return list(UNITS)[n - 1]
    tens = list(TENS)[n // 10 - 2]
    return f"{tens}-{number(n % 10)}" if n % 10 else tens


def statement(clause: Clause, aside: str = "") -> str:
    """The subject, with what is said of it aside, the verb, the rest."""
    auxiliary, verb = _verb(clause)
    often = clause.often.english if clause.often else ""
    before, after = ("", often) if clause.verb.base == "be" else (often, "")
    return _join(nominal(clause.subject, subject=True) + aside, auxiliary, before, verb, after, _rest(clause))


def question(clause: Clause, asked: str = "") -> str:
    """With the subject after the auxiliary; `asked` is the question word and what it stands before: why, which hat."""
    auxiliary, verb = _verb(clause, asking=True)
    negation = ""
    if auxiliary.endswith(" not"):
        auxiliary, negation = auxiliary.removesuffix(" not"), "not"
    elif auxiliary == "cannot":
        auxiliary, negation = "can", "not"
    return _join(asked, auxiliary, nominal(clause.subject, subject=True), negation, verb, _rest(clause))


def infinitive(clause: Clause) -> str:
    return _join("to", clause.verb.base, clause.verb.after, _rest(clause))


def relative(clause: Clause, case: Case) -> str:
    """What follows who or that, which stands for the subject or for an object."""
    if case == "nominative":
        return statement(clause).removeprefix(nominal(clause.subject, subject=True)).strip()
    return statement(clause.without(case))


def where(x: Where) -> str:
    return f"{x.english} {nominal(x.phrase)}"


def _verb(clause: Clause, asking: bool = False) -> tuple[str, str]:
    """The auxiliary with its negation, and the verb. There is no auxiliary where the verb itself is finite."""
    verb, subject = clause.verb, clause.subject
    third = subject.person == 3 and not subject.plural
    if clause.modal:
        return _modal(clause, asking, third)
    negation = " not" if clause.negated else ""
    if clause.tense == "progressive":
        return _be(clause, past=False) + negation, f"{verb.progressive} {verb.after}"
    if verb.base == BE.base:
        return _be(clause, past=clause.tense == "past") + negation, ""
    if asking or clause.negated:
        auxiliary = "did" if clause.tense == "past" else "does" if third else "do"
        return auxiliary + negation, f"{verb.base} {verb.after}"
    finite = verb.past if clause.tense == "past" else verb.third if third else verb.base
    return "", f"{finite} {verb.after}"


def _modal(clause: Clause, asking: bool, third: bool) -> tuple[str, str]:
    modal, base = clause.modal, f"{clause.verb.base} {clause.verb.after}"
    assert modal
    do = "does" if third else "do"
    if modal.english == "be allowed to":
        return _be(clause, past=False) + (" not" if clause.negated else ""), f"allowed to {base}"
    if (asking or clause.negated) and modal.negated.startswith("do not "):
        return f"{do} not" if clause.negated else do, f"{modal.negated.removeprefix('do not ')} {base}"
    if modal.english == "would like to":
        return "would not" if clause.negated else "would", f"like to {base}"
    if clause.negated:
        return modal.negated, base
    return modal.third if third else modal.english, base


def _be(clause: Clause, *, past: bool) -> str:
    subject = clause.subject
    if subject.plural or subject.person == 2:
        return "were" if past else "are"
    if past:
        return "was"
    return "am" if subject.person == 1 else "is"


def _rest(clause: Clause) -> str:
    particle, accusative = clause.verb.particle, clause.accusative
    objects = [nominal(clause.dative)] if clause.dative else []
    if isinstance(accusative, Pronoun):
        objects += [nominal(accusative), particle]
    else:
        objects += [particle, nominal(accusative)] if accusative else [particle]
    predicate = clause.predicate.english if clause.predicate else ""
    place = where(clause.where) if clause.where else ""
    return _join(*objects, predicate, place, clause.when.english if clause.when else "")


def _join(*parts: str) -> str:
    return " ".join(" ".join(parts).split())
