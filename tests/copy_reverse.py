"""A task that needs no corpus: repeat a row of words, or say it backwards, as its first word asks.

Small enough to be learned in a minute, and nothing of it can be learned without attention to positions.
"""

import random

WORDS = ("ash", "birch", "cedar", "elm", "fir", "hazel", "ivy", "larch", "maple", "oak", "pine", "rowan", "spruce", "yew")


def make_pairs(count: int, *, seed: int = 1, longest: int = 8) -> list[tuple[str, str]]:
    """Distinct pairs of source and target."""
    draw = random.Random(seed)
    pairs: dict[str, str] = {}
    while len(pairs) < count:
        words = draw.choices(WORDS, k=draw.randint(2, longest))
        if draw.random() < 0.5:
            pairs[f"copy {' '.join(words)}"] = " ".join(words)
        else:
            pairs[f"reverse {' '.join(words)}"] = " ".join(reversed(words))
    return list(pairs.items())
