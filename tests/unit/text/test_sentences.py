import time
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.text.sentences import Count, join, share_of_sentences, split_sentences
from headway.text.sentences import segment as segment_all
from headway.text.tokenizer import SentencePieceTokenizer


def segment(text: str, *, sentences: bool, longest: int, count: Count) -> list[str]:
    return segment_all([text], sentences=sentences, longest=longest, count=count)[0]


def split_long(text: str, *, longest: int, count: Count) -> list[str]:
    return segment(text, sentences=False, longest=longest, count=count)


# A bar stands where one sentence ends and the next begins.
HARD = [
    "Mr. Smith met Dr. Jones at 3.14 p.m. in St. Louis. |They spoke.",
    "He lives in the U.S. now. |She left the U.S. |He stayed. |The U.S. Army came.",
    "J. S. Bach and J. R. R. Tolkien never met the architect I. M. Pei. |Vitamin C. |It helps.",
    "See e.g. Smith et al. (2010) and Fig. 3. |It works, i.e. It does.",
    "Apples, pears, etc. are fruit. |We bought apples, etc. |Then we left.",
    "Is it No. 5? |No. |It is not.",
    '"Why?" he asked. |"Because." |"Oh!" |She left.',
    "I am 25. |He is 30. |It cost 5. |He paid.",
    "Visit https://example.com/a.B?c=D or mail a.b@c.org. |Then open file.txt and README.md. |Done!",
    "He paid $3.50... |Then what? |$4 more. |Well... maybe so. |... Then it ended.",
    "Version 2.0 is out. |2.1 follows.",
    "1. Open the file. |2. Close it.",
    "He left (why?) John knows. |(It was late.) |So did I. |Wait!!! |What?! |Oh (etc.). |Fine.",
    "He works at Acme Inc. |The firm is old. |Acme Inc. Chief left.",
    "Ph.D. students met at 5 p.m. Eastern. |They left at 6 p.m. |She stayed.",
    "Berlin, 4. Juli. |Am 3. Mai 1808 kam z. B. Der Dichter an. |Er blieb bis zum 5. Juni.",
    "Der 2. Weltkrieg, d. h. Krieg im 20. Jahrhundert, endete 1945. |Danach war Frieden.",
    "Er kam bzw. Sie kam mit Prof. Dr. Müller usw. |Dann ging er.",
    "Das kostet ca. Fünf Euro, s. Nr. 7. |„Wirklich?“ |»Ja!« |Gut.",
    "Er ist 18. |Sie ist 20. |Vgl. Abs. 2 und Art. 5 GG. |So ist es.",
    "M. Le Pen est là. |« Bonjour ! » |Il part. |Ça va ? |Oui !",
    "— Oui. |— Non. |— Peut-être…",
    "Mme Curie et Mlle Dubois, p. 12. |C'est tout.",
    "El Sr. García vive en EE. UU. |¿Dónde está la Sra. López? |¡Aquí!",
    "А. С. Пушкин родился в г. Москва. |Он поэт.",
    "Τι κάνεις; |Καλά; ναι. |Εσύ;",
    "He came; She left.",
    "我来了。|你呢？|他说：“好。”|然后走了！|价格是３．１４元。 |再见",
    "你好!|我很好?|真的……是吗",
    "「行くよ。」と彼は言った。|うん。|２０２０年だ！|iPhoneだ？",
    "यह अच्छा है। |वह आया।|डॉ. राम गए।",
    "یہ اچھا ہے۔ |وہ آیا۔ |کیا؟ |ہاں۔",
    "هل أنت هنا؟ |نعم. |د. أحمد هنا.",
    "그는 갔다. |나는 왔다. |정말? |응.",
    "ეს კარგია. |ის მოვიდა.",
    "እሱ መጣ። |እሷ ሄደች።",
    "ខ្ញុំមក។ |គាត់ទៅ។",
    "One line.\n|another\nstill the same\n \n|A paragraph by Dr.\nSmith, no Dr.\r\n\r\n|* * *\n\n|end",
    "\n\n  Leading, and  inside.  |Trailing. \n",
    "",
    " \n\n ",
]


@pytest.mark.parametrize("marked", HARD)
def test_sentences_end_where_a_reader_would_say_so(marked: str) -> None:
    assert split_sentences(marked.replace("|", "")) == marked.split("|")


TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(
    st.sampled_from([*'aZé天。！.?!…,;"»)(\n \u3000\u0301।1', "z. B. ", "Mr.", "word", "Ende. ", "\U0001d160", "\u0958", "▁"]),
    max_size=40,
).map("".join)


def count_bytes(texts: Sequence[str]) -> list[int]:
    return [len(text.encode()) + 1 for text in texts]


def count_characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, sentences=st.booleans(), longest=st.integers(1, 30))
def test_parts_are_the_text_and_fit_and_come_together_again(text: str, sentences: bool, longest: int) -> None:
    assert "".join(split_sentences(text)) == text
    parts = segment(text, sentences=sentences, longest=longest, count=count_characters)
    assert "".join(parts) == text and parts
    assert all(count <= longest for count in count_characters(parts))
    assert join(parts, [part.strip() for part in parts]) == text


TOKENIZER = SentencePieceTokenizer.train(["the cat sat on the mat"] * 20, kind="bpe", vocab_size=300)


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(TEXTS, max_size=4), longest=st.integers(1, 20))
@example(["▁▁▁", "\U0001d160", "\u0958\u0958", "\ufb2c", "\ud800\ud800"], 10)
def test_parts_fit_as_the_tokenizer_counts(texts: list[str], longest: int) -> None:
    """Also where bytes alone have told that a text fits: the tokenizer normalises and escapes before it counts."""

    def count(parts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in TOKENIZER.encode(parts)]

    for text, parts in zip(texts, segment_all(texts, sentences=True, longest=longest, count=count), strict=True):
        assert "".join(parts) == text
        assert all(pieces <= longest or len(part) == 1 for part, pieces in zip(parts, count(parts), strict=True))


def test_many_texts_are_cut_as_each_alone() -> None:
    texts = ["One. Two.", "", "a long sentence, with a clause; and some more words of it", "天" * 50, "One. Two.", "x"]
    together = segment_all(texts, sentences=True, longest=20, count=count_bytes)
    assert together == [segment(text, sentences=True, longest=20, count=count_bytes) for text in texts]
    assert together[0] == ["One. ", "Two."]
    assert segment("One. Two.", sentences=False, longest=20, count=count_bytes) == ["One. Two."]


def test_short_texts_are_not_even_counted() -> None:
    def count(texts: Sequence[str]) -> list[int]:
        raise AssertionError("counted")

    assert segment_all(["a" * 19, "ä" * 7], sentences=True, longest=20, count=count) == [["a" * 19], ["ä" * 7]]


@pytest.mark.parametrize(
    ("marked", "longest"),
    [
        ("In the cold winter, |we did not go out at all", 40),
        ("It was so cold. |So, we did not go out", 30),
        ("It was late; |we all went home", 25),
        ("雨が止んだので、|私たちは川へ行った", 12),
        ("no mark is in |this one here", 20),
        ("comma, is far too near to the |beginning of it to be of use", 40),
        ("a mark 1,000 of |numbers is none", 22),
        ("word |incomprehensibilities", 21),
        ("abcdefghij|klmnopqrst", 19),
    ],
)
def test_a_long_text_is_cut_where_it_hurts_least(marked: str, longest: int) -> None:
    assert split_long(marked.replace("|", ""), longest=longest, count=count_characters) == marked.split("|")


def test_parts_are_of_like_length() -> None:
    parts = split_long("some words in a row " * 60, longest=100, count=count_characters)
    assert 12 <= len(parts) <= 16 and min(map(len, parts)) > 0.6 * max(map(len, parts))
    assert [len(part) for part in split_long("x" * 101, longest=100, count=count_characters)] in ([50, 51], [51, 50])


@pytest.mark.parametrize(
    "character", ["e\u0301", "க\u0bbf", "\U0001f44d\U0001f3fd", "\u1112\u1161\u11ab", "\U0001f469\u200d\U0001f467"]
)
def test_characters_stay_whole(character: str) -> None:
    parts = split_long(character * 53, longest=20, count=count_characters)
    assert len(parts) > 4 and all(part == character * (len(part) // len(character)) for part in parts)


def test_marks_without_end_are_cut_all_the_same() -> None:
    parts = split_long("e" + "\u0301" * 100, longest=20, count=count_characters)
    assert max(map(len, parts)) <= 20


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="longest is 0"):
        split_long("text", longest=0, count=count_characters)


@pytest.mark.parametrize("unit", ["word and ", "x", "天", ". ", "A. ", "(A!) ", "\u0301", " ", "\n ", '."', ", "])
def test_a_hundred_thousand_characters_take_no_time_and_few_counts(unit: str) -> None:
    text, calls = (unit * 100_000)[:100_000], []

    def count(texts: Sequence[str]) -> list[int]:
        calls.append(len(texts))
        return count_characters(texts)

    start = time.process_time()
    parts = segment(text, sentences=True, longest=100, count=count)
    assert time.process_time() - start < 20  # a hundredth of it on a quiet machine; a quadratic one would take minutes
    assert "".join(parts) == text and len(calls) <= 4


def test_short_lines_need_no_counting() -> None:
    def count(texts: Sequence[str]) -> list[int]:
        raise AssertionError(f"counted: {texts}")

    lines = [f"The quick brown fox jumps over the lazy dog, number {number}." for number in range(100)]
    assert segment_all(lines, sentences=True, longest=256, count=count) == [[line] for line in lines]


@pytest.mark.parametrize(
    ("sources", "translations", "joined"),
    [
        (["One. ", "Two.\n\n", "Three."], ["Eins.", " Zwei. ", "Drei."], "Eins. Zwei.\n\nDrei."),
        (["  One.\t", "Two. "], ["Eins.", "Zwei."], "  Eins.\tZwei. "),
        (["我来了。", "你呢？", "好"], ["I am here.", "And you?", "Good"], "I am here. And you? Good"),
        (["他说“好。”", "他走"], ["He said “yes.”", "He left"], "He said “yes.” He left"),
        (["你好!", "我"], ["Hi!", "I"], "Hi! I"),
        (["雨が止み、", "行った"], ["the rain stopped,", "and we went"], "the rain stopped, and we went"),
        (["我来了。", "你呢？"], ["来ました。", "あなたは？"], "来ました。あなたは？"),
        (["वह है।", "वह आया।"], ["He is.", "He came."], "He is. He came."),
        (["abcdef", "ghijkl"], ["uvw", "xyz"], "uvwxyz"),
        (["一。", "二。", "三。"], ["One.", "", "Three."], "One. Three."),
        (["一。", "二。"], ["", "Two."], "Two."),
        (["一。", "二。"], ["One.", "二。"], "One.二。"),
        (["One. ", "  ", ""], ["Eins.", "nonsense", "nonsense"], "Eins.   "),
        ([], [], ""),
    ],
)
def test_translations_are_joined_as_the_sources_were(sources: list[str], translations: list[str], joined: str) -> None:
    assert join(sources, translations) == joined


def test_the_share_of_sentences() -> None:
    assert share_of_sentences(["One.", "One. Two.", "no end", "Mr. Smith"]) == 0.75
    assert share_of_sentences([]) == 1.0
