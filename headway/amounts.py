"""Numbers with what they count, as people say it."""


def amount(number: float, noun: str) -> str:
    """1 line, 1,000 lines, 2 processes, 0.5 minutes."""
    told = f"{number:,g}" if isinstance(number, float) else f"{number:,}"
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{told} {noun if number == 1 else plural}"


def are(number: float) -> str:
    """The verb that goes with it."""
    return "is" if number == 1 else "are"
