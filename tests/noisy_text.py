"""Made-up sentences, and translations of them that are more or less wrong."""

import random


def make_sentences(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abdefgiklmnorstu", k=draw.randint(1, 8))) for _ in range(300)]
    weights = [1 / (place + 2) for place in range(len(words))]
    return [" ".join(draw.choices(words, weights, k=draw.randint(3, 20))).capitalize() + "." for _ in range(count)]


def add_noise(sentences: list[str], rate: float, seed: int) -> list[str]:
    """Words lost, doubled, replaced and moved, each at this rate."""
    draw = random.Random(seed)
    noisy = []
    for sentence in sentences:
        words: list[str] = []
        for word in sentence.split():
            kind = draw.random() / rate
            words += [] if kind < 1 else [word, word] if kind < 2 else ["wrong"] if kind < 3 else [word]
        if words and draw.random() < 3 * rate:
            words.insert(draw.randrange(len(words)), words.pop(draw.randrange(len(words))))
        noisy.append(" ".join(words))
    return noisy
