import pytest

from headway.errors import RequestError
from headway.text.tags import find_tags, put_before
from headway.text.tokenizer import SentencePieceTokenizer

LINES = ["<2de> a dog runs fast", "<2en> ein Hund rennt schnell"] * 30
TEXTS = ["a dog runs", "dog <2de> runs", "dog<2de>runs", " <2de> dog", "<2de>", "<2de>dog", "<2fr> dog", "two  spaces \u2581"]


@pytest.fixture(scope="module", params=["bpe", "unigram", "char"])
def tokenizer(request: pytest.FixtureRequest) -> SentencePieceTokenizer:
    return SentencePieceTokenizer.train(LINES, kind=request.param, vocab_size=300, tags=["<2de>", "<2en>"])


def test_a_tag_is_one_piece_before_those_of_the_text(tokenizer: SentencePieceTokenizer) -> None:
    first, second = tokenizer.tags
    assert tokenizer.pieces([first, second]) == ["<2de>", "<2en>"]
    for texts in (TEXTS, TEXTS * 20):  # from some number on, bpe cuts word by word
        plain = tokenizer.encode(texts)
        assert tokenizer.encode([f"<2de> {text}" for text in texts]) == [[first, *ids] for ids in plain]
        assert tokenizer.encode([f"<2en> <2de> {text}" for text in texts]) == [[second, first, *ids] for ids in plain]


def test_sampling_cuts_the_text_and_not_the_tag(tokenizer: SentencePieceTokenizer) -> None:
    texts = ["a dog runs fast", "ein Hund rennt schnell"] * 10
    tagged = tokenizer.sample([f"<2de> {text}" for text in texts], alpha=0.5, seed=3)
    assert tagged == [[tokenizer.tags[0], *ids] for ids in tokenizer.sample(texts, alpha=0.5, seed=3)]


def test_no_tag_comes_out_as_text_and_no_text_gets_lost(tokenizer: SentencePieceTokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode(TEXTS)) == TEXTS
    assert tokenizer.decode(tokenizer.encode([f"<2de> {text}" for text in TEXTS])) == TEXTS
    assert not any(tag in ids for ids in tokenizer.encode(TEXTS) for tag in tokenizer.tags)


@pytest.mark.parametrize(
    ("prefix", "tags"),
    [
        ("<2de> ", ["<2de>"]),
        ("<2de> <news-1> ", ["<2de>", "<news-1>"]),
        ("reverse: ", []),
        ("<2de> reverse: ", ["<2de>"]),
        ("<a b> ", []),
        ("", []),
    ],
)
def test_tags_are_words_in_brackets(prefix: str, tags: list[str]) -> None:
    assert find_tags(prefix) == tags


@pytest.mark.parametrize("unended", ["<news>", "<2de> <news>"])
def test_a_tag_ends_with_a_space(unended: str) -> None:
    with pytest.raises(RequestError, match="a tag without a space after it"):
        find_tags(unended)


@pytest.mark.parametrize("taken", ["<s> ", "<2de> <unk> ", "<mask> ", "<0x41> ", "<extra_id_7> "])
def test_marks_are_no_tags(taken: str) -> None:
    with pytest.raises(RequestError, match="means something else"):
        find_tags(taken)


def test_what_begins_like_a_tag_stays_text(tokenizer: SentencePieceTokenizer) -> None:
    assert put_before("<2de> ", "a dog") == "<2de> a dog"
    assert put_before("do: ", "<2en> a dog") == "do: <2en> a dog"
    assert put_before("<2de> ", "  ") == "  "
    (ids,) = tokenizer.encode([put_before("<2de> ", "<2en> a dog")])
    assert ids[0] == tokenizer.tags[0] and tokenizer.decode([ids]) == [" <2en> a dog"]
