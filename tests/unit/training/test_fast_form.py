"""Which compute type a model is given: one that surely loses little."""

from headway.training.fast_form import MOST_LOST, _compare

REFERENCES = [f"the {word} tree grows by the river" for word in ("oak", "elm", "fir", "ash") * 25]


def test_the_same_translations_lose_nothing() -> None:
    assert _compare(REFERENCES, REFERENCES, REFERENCES) == (0.0, 0.0)


def test_a_worse_one_here_and_there_is_too_much() -> None:
    worse = [text.replace("river", "road") if number % 10 == 0 else text for number, text in enumerate(REFERENCES)]
    loses, at_most = _compare(REFERENCES, worse, REFERENCES)
    assert MOST_LOST < loses < at_most


def test_what_evens_out_by_chance_is_not_trusted() -> None:
    """As many better as worse: nothing is lost on average, but nobody can be sure of it."""
    changed = [text.replace("river", "road") for text in REFERENCES]
    exact = [one if number % 2 else other for number, (one, other) in enumerate(zip(REFERENCES, changed, strict=True))]
    other = [other if number % 2 else one for number, (one, other) in enumerate(zip(REFERENCES, changed, strict=True))]
    loses, at_most = _compare(exact, other, REFERENCES)
    assert abs(loses) < 1 and at_most > MOST_LOST
