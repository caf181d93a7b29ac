"""What models learn from, through `collate` and `sizes`: what is read, what is asked, and that sizes tell the truth."""

from collections.abc import Callable

import numpy as np
import pytest
from small_models import make_tokenizer

from headway.data.batching import IGNORED
from headway.data.objectives import (
    Denoising,
    Encoded,
    MaskedTokens,
    NextToken,
    Objective,
    PictureClasses,
    SpanCorruption,
    TextClasses,
    Translation,
    count_spans,
    draw_spans,
)
from headway.errors import RequestError
from headway.text.subwords import MASK, SENTINELS, SentencePieceTokenizer

LINES = [f"the word number {number} of many words that stand here for nothing" for number in range(60)]
TOKENIZER = SentencePieceTokenizer.train(LINES, kind="bpe", vocab_size=420, marks=[MASK, *SENTINELS[:20]])
TEXTS = TOKENIZER.encode([*LINES, "a", "the word"])
EXAMPLES = Encoded(TEXTS, TEXTS)
ROWS = np.arange(len(TEXTS))


def draw(row: int) -> np.random.Generator:
    return np.random.default_rng((1, row))


OBJECTIVES: dict[str, Callable[[], Objective]] = {
    "translate": lambda: Translation(TOKENIZER),
    "denoise": lambda: Denoising(TOKENIZER, hidden=0.35, span=3.0),
    "span": lambda: SpanCorruption(TOKENIZER, hidden=0.15, span=3.0),
    "mlm": lambda: MaskedTokens(TOKENIZER, hidden=0.15, whole_words=False, longest=30),
    "words": lambda: MaskedTokens(TOKENIZER, hidden=0.15, whole_words=True, longest=30),
    "lm": lambda: NextToken(TOKENIZER),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_sizes_are_known_before_anything_is_drawn(name: str) -> None:
    objective = OBJECTIVES[name]()
    sizes = objective.sizes(EXAMPLES)
    for row in ROWS:
        batch = objective.collate(EXAMPLES, np.array([row]), draw)
        assert batch.judged == sizes.judged[row] == (batch.target != IGNORED).sum()
        if name in ("translate", "span"):
            assert [one.shape[1] for one in batch.inputs] == [sizes.read[row], sizes.written[row]]
        else:
            assert batch.inputs[-1].shape[1] == sizes.written[row]
        if name == "denoise":
            assert batch.inputs[0].shape[1] <= sizes.read[row]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_what_is_drawn_depends_on_the_example_alone(name: str) -> None:
    """Not on the batch, and so not on the number of processes."""
    objective = OBJECTIVES[name]()
    together = objective.collate(EXAMPLES, ROWS[5:9], draw)
    alone = objective.collate(EXAMPLES, ROWS[7:8], draw)
    for whole, part in zip([*together.inputs, together.target], [*alone.inputs, alone.target], strict=True):
        assert whole[2, : part.shape[1]].tolist() == part[0].tolist()


def test_denoising_hides_spans_behind_one_mark_each_and_asks_for_the_whole_text() -> None:
    batch = OBJECTIVES["denoise"]().collate(EXAMPLES, ROWS, draw)
    for text, source, target in zip(TEXTS, batch.inputs[0].tolist(), batch.target.tolist(), strict=True):
        assert [token for token in target if token != IGNORED] == [*text, TOKENIZER.eos]
        kept = source[: source.index(TOKENIZER.eos)]
        hidden, spans = count_spans(len(text), 0.35, 3.0)
        assert kept.count(TOKENIZER.mask) == spans
        assert len(kept) == len(text) - hidden + spans
        rest = iter(text)
        assert all(token in rest for token in kept if token != TOKENIZER.mask)  # in their order


def test_span_corruption_can_be_undone() -> None:
    batch = OBJECTIVES["span"]().collate(EXAMPLES, ROWS, draw)
    marks = set(TOKENIZER.sentinels)
    for text, source, target in zip(TEXTS, batch.inputs[0].tolist(), batch.target.tolist(), strict=True):
        answer = [token for token in target if token not in (IGNORED, TOKENIZER.eos)]
        hidden: dict[int, list[int]] = {}
        for token in answer:
            if token in marks:
                assert token == TOKENIZER.sentinels[len(hidden)]
                hidden[token] = last = []
            else:
                last.append(token)
        mended = [piece for token in source[: source.index(TOKENIZER.eos)] for piece in hidden.get(token, [token])]
        assert mended == text
        assert all(hidden.values())


def test_masked_tokens_are_hidden_replaced_or_left_in_berts_shares() -> None:
    objective = OBJECTIVES["mlm"]()
    fates = {"hidden": 0, "left": 0, "replaced": 0}
    for step in range(60):
        batch = objective.collate(EXAMPLES, ROWS, lambda row, step=step: np.random.default_rng((step, row)))
        (tokens,) = batch.inputs
        asked = batch.target != IGNORED
        for before, now in zip(batch.target[asked].tolist(), tokens[asked].tolist(), strict=True):
            fates["hidden" if now == TOKENIZER.mask else "left" if now == before else "replaced"] += 1
        marks = [TOKENIZER.pad, TOKENIZER.bos, TOKENIZER.eos, *TOKENIZER.sentinels]
        assert not np.isin(tokens[asked], marks).any()
    shares = {name: count / sum(fates.values()) for name, count in fates.items()}
    assert shares == pytest.approx({"hidden": 0.8, "left": 0.1, "replaced": 0.1}, abs=0.02)


def test_what_is_not_asked_stays_as_it_was() -> None:
    batch = OBJECTIVES["mlm"]().collate(EXAMPLES, ROWS, draw)
    (tokens,) = batch.inputs
    for text, row, target in zip(TEXTS, tokens.tolist(), batch.target.tolist(), strict=True):
        cut = text[:28]
        assert row[0] == TOKENIZER.bos and row[len(cut) + 1] == TOKENIZER.eos
        assert target[0] == target[len(cut) + 1] == IGNORED
        whole = [asked if asked != IGNORED else read for read, asked in zip(row, target, strict=True)]
        assert whole[1 : len(cut) + 1] == cut


def test_whole_words_are_hidden_together() -> None:
    """All words but the last one that is hidden, for which room may be short."""
    objective = MaskedTokens(TOKENIZER, hidden=0.5, whole_words=True, longest=100)
    batch = objective.collate(EXAMPLES, ROWS, draw)
    begins = [name.startswith("▁") for name in TOKENIZER.pieces(range(TOKENIZER.size))]
    for text, target in zip(TEXTS, batch.target.tolist(), strict=True):
        words: list[list[bool]] = []
        for place, token in enumerate(text):
            if begins[token] or not words:
                words.append([])
            words[-1].append(target[place + 1] != IGNORED)
        assert sum(0 < sum(word) < len(word) for word in words) <= 1


def test_a_passage_is_shifted_by_one() -> None:
    passages = [[9, 5, 6, 7], [7, 8]]
    batch = NextToken(TOKENIZER).collate(Encoded([[], []], passages), np.arange(2), draw)
    assert batch.inputs[0].tolist() == [[9, 5, 6], [7, 0, 0]]
    assert batch.target.tolist() == [[5, 6, 7], [8, IGNORED, IGNORED]]
    assert batch.judged == 4


def test_classes_stand_alone_and_long_texts_are_cut() -> None:
    batch = TextClasses(TOKENIZER, longest=6).collate(Encoded([[30, 31], [40] * 9], [[1], [0]]), np.arange(2), draw)
    assert batch.inputs[0].tolist() == [[1, 30, 31, 2, 0, 0], [1, 40, 40, 40, 40, 2]]
    assert batch.target.tolist() == [[1], [0]] and batch.judged == 2


def test_pictures_are_scaled_and_moved() -> None:
    picture = np.zeros((1, 4, 4), np.uint8)
    picture[0, 1, 1] = 255
    examples = Encoded([picture.reshape(-1).tolist()], [[3]])
    shape = {"channels": 1, "size": 4, "patches": 4, "mean": [0.5], "deviation": [0.5]}
    still = PictureClasses(**shape).collate(examples, np.arange(1), draw)
    assert still.inputs[0].shape == (1, 1, 4, 4) and still.inputs[0].dtype == np.float32
    assert still.inputs[0][0, 0, 1].tolist() == [-1, 1, -1, -1] and still.target.tolist() == [[3]]
    places = set()
    for step in range(50):
        moved = PictureClasses(**shape, shift=1).collate(examples, np.arange(1), lambda row, s=step: np.random.default_rng(s))
        places |= {tuple(place) for place in np.argwhere(moved.inputs[0][0, 0] == 1).tolist()}
    assert places == {(row, column) for row in range(3) for column in range(3)}


@pytest.mark.parametrize("length", [1, 2, 3, 7, 50, 400])
@pytest.mark.parametrize("share", [0.1, 0.35, 0.9])
def test_spans_fill_what_they_should(length: int, share: float) -> None:
    hidden, spans = count_spans(length, share, 3.0)
    assert 1 <= spans <= hidden <= length
    for seed in range(20):
        gaps, lengths = draw_spans(length, hidden, spans, np.random.default_rng(seed))
        assert len(gaps) == spans + 1 and len(lengths) == spans
        assert sum(gaps) == length - hidden and sum(lengths) == hidden
        assert min(lengths) >= 1 and min(gaps) >= 0 and all(gap >= 1 for gap in gaps[1:-1])


def test_a_vocabulary_without_marks_is_refused() -> None:
    plain = make_tokenizer(320)
    with pytest.raises(RequestError, match="no mark for what is hidden"):
        MaskedTokens(plain, hidden=0.15, whole_words=False, longest=9)
    with pytest.raises(RequestError, match="no marks for hidden spans"):
        SpanCorruption(plain, hidden=0.15, span=3.0)
