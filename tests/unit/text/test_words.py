import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.text.tokenizer import SentencePieceTokenizer
from headway.text.words import align_words, number_words


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["▁the", "▁do", "g", "s", "▁"], [0, 1, 1, 1, None]),
        (["▁", "a", "b", "▁", "▁", "c"], [None, 0, 0, None, None, 1]),
        (["a", "b▁", "c"], [0, 0, 1]),
        (["a▁b", "c"], [0, 1]),
        (["▁a", "<0xE6>", "<0x9D>", "<0xB1>", "▁b"], [0, 0, 0, 0, 1]),
        (["▁a", "<0x20>", "b", "<0x09>", "<0x0A>", "c"], [0, None, 1, None, None, 2]),
        (["▁a", "<0xE3>", "<0x80>", "<0x80>", "b", "<0xC2>", "<0xA0>", "c"], [0, None, None, None, 1, None, None, 2]),
        (["▁a", "<0xE3>", "<0x80>", "b", "<0xFF>"], [0, 0, 0, 0, 0]),
        (["<s>", "▁a", "</s>", "<pad>"], [None, 0, None, None]),
        ([], []),
    ],
)
def test_pieces_belong_to_words(pieces: list[str], words: list[int | None]) -> None:
    assert number_words(pieces) == words


def make_lines() -> list[str]:
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefgh", k=draw.randint(1, 8))) for _ in range(50)]
    return [" ".join(draw.choices(words, k=8)) for _ in range(100)]


TOKENIZERS = {kind: SentencePieceTokenizer.train(make_lines(), kind=kind, vocab_size=320) for kind in ("bpe", "unigram")}


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=200, deadline=None)
@given(text=st.text("abch é東😀\t\n\u00a0\u3000▁<s>", max_size=30) | st.sampled_from(make_lines()))
@example("")
@example("  a  b ")
@example("<s> </s> <0x20>")
def test_words_are_those_of_split(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    (ids,) = tokenizer.encode([text])
    numbers = number_words(tokenizer.pieces(ids))
    assert len(numbers) == len(ids)
    words = [
        tokenizer.decode([[i for i, n in zip(ids, numbers, strict=True) if n == word]])[0] for word in range(len(text.split()))
    ]
    assert [word.strip() for word in words] == text.split()
    assert {number for number in numbers if number is not None} == set(range(len(words)))


def test_each_target_word_is_linked_to_what_it_looks_at_most() -> None:
    attention = np.array(
        [
            [0.3, 0.3, 0.4, 0.0],  # two pieces of one word weigh more than a heavier one
            [0.9, 0.0, 0.1, 0.0],
            [0.0, 0.0, 0.9, 0.1],  # the mean over a target word's pieces: 0.45 against 0.5
            [0.0, 0.0, 0.3, 0.7],  # the end mark has most, and the best word is taken all the same
            [0.2, 0.0, 0.2, 0.6],  # the first of equals
            [1.0, 0.0, 0.0, 0.0],  # the end mark's own row
        ],
        dtype=np.float32,
    )
    links = align_words(attention, [0, 0, 1, None], [0, 1, 1, 2, 3, None])
    assert links == [(0, 0), (0, 3), (1, 1), (1, 2)]


def test_the_mean_of_a_target_word_decides() -> None:
    assert align_words(np.array([[0.6, 0.4], [0.6, 0.4], [0.0, 1.0]]), [0, 1], [0, 0, 0]) == [(1, 0)]


def test_nothing_to_link() -> None:
    assert align_words(np.zeros((0, 2)), [0, None], []) == []
    assert align_words(np.zeros((2, 0)), [], [0, 1]) == []
    assert align_words(np.ones((1, 1)), [None], [0]) == []
    assert align_words(np.array([[0.0, 1.0]]), [0, None], [0]) == []


def test_weights_of_another_sentence_are_refused() -> None:
    with pytest.raises(ValueError, match="3 target and 2 source pieces"):
        align_words(np.ones((2, 3)), [0, 1], [0, 1, 2])
