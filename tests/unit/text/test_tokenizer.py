import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.errors import BundleError, DataError, RequestError
from headway.text import subwords
from headway.text.normalize import normalize
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizers, choose_vocab_size

KINDS = ("bpe", "unigram")


def make_lines(count: int = 400, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 8))) for _ in range(200)]
    return [" ".join(draw.choices(words, k=8)) for _ in range(count)]


# Trained on what the trainer finds hard, so that none of it can have become a piece that breaks the round trip.
HARD = ["<s> </s> <unk> <pad> <0x0A>", "a\u2581b \ufdd0 \ufdd01", "tab\ttab", "é 😀", "two  spaces ", "\ufdd0\u2581"] * 20
TOKENIZERS = {kind: SentencePieceTokenizer.train(make_lines() + HARD, kind=kind, vocab_size=420) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=300, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])) | st.text("<s>/unk0xA \u2581\ufdd01\n\t\r\0é", max_size=30))
@example("  leading, trailing  ")
@example("\n")
@example("\r\n\t\0")
@example("\u2581")
@example("\ufdd0")
@example("\ufdd01")
@example("\ufdd0\u25810")
@example("<s>")
@example("<0x0A>")
@example("<unk> ⁇ \u2585")
@example("👩‍👩‍👧 \U0001f9ff \U000e0fff\U0010ffff")
@example("e\u0301 \u0301")
@example("\ufeff")
@example("")
def test_any_text_survives_the_round_trip(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.encode([text])
    assert tokenizer.decode(ids) == [unicodedata.normalize("NFC", text)]
    assert all(i > tokenizer.unk for i in ids[0])


@pytest.mark.parametrize("kind", KINDS)
def test_sampled_cuts_are_cuts_of_the_same_text(kind: str) -> None:
    texts = [*make_lines(50), "\u2581 <unk> é\0"]
    tokenizer = TOKENIZERS[kind]
    sampled = tokenizer.sample(texts, alpha=0.3, seed=1)
    assert tokenizer.decode(sampled) == texts
    assert sampled != tokenizer.encode(texts)


@pytest.mark.parametrize("kind", KINDS)
def test_sampling_depends_on_the_seed_and_on_nothing_before(kind: str) -> None:
    tokenizer, texts = TOKENIZERS[kind], make_lines(50)
    first = tokenizer.sample(texts, alpha=0.2, seed=7)
    other = tokenizer.sample(texts, alpha=0.2, seed=8)
    assert tokenizer.sample(texts, alpha=0.2, seed=7) == first
    assert other != first
    assert tokenizer.sample(texts, alpha=0.2, seed=2**32 - 1) == tokenizer.sample(texts, alpha=0.2, seed=2**32 - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_sampling_is_the_same_in_another_process(kind: str, tmp_path: Path) -> None:
    """A run that goes on must cut as it would have cut; SentencePiece 0.2.2 does not."""
    TOKENIZERS[kind].save(tmp_path / "shared.model")
    script = (
        "import sys; from pathlib import Path; from headway.text.tokenizer import SentencePieceTokenizer as T\n"
        "print(T.load(Path(sys.argv[1])).sample(sys.argv[2:], alpha=0.2, seed=7))"
    )
    texts = make_lines(20)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "shared.model"), *texts], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(TOKENIZERS[kind].sample(texts, alpha=0.2, seed=7))


ODD = st.text(st.characters(exclude_categories=["Cs"])) | st.text("<s>/unk0xA  \u2581\ufdd01\n\t\ré\u3000今ab", max_size=30)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=300, deadline=None)
@given(texts=st.lists(ODD, min_size=1, max_size=4))
@example(["", " ", "  ", " a", "a ", "a  b"])
@example(["\u2581 \ufdd0  \ufdd01"])
def test_many_texts_are_encoded_as_each_alone(kind: str, texts: list[str]) -> None:
    """A freshly trained BPE cuts each word once; the text as a whole must come out the same."""
    tokenizer = TOKENIZERS[kind]
    assert tokenizer.encode(texts * subwords._MANY)[: len(texts)] == [tokenizer.encode([text])[0] for text in texts]


def test_words_are_forgotten_before_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subwords, "_WORDS", 50)
    tokenizer = SentencePieceTokenizer.train(make_lines(), kind="bpe", vocab_size=400)
    for seed in range(20):
        texts = make_lines(subwords._MANY, seed)
        assert tokenizer.encode(texts) == [tokenizer.encode([text])[0] for text in texts]
    assert len(tokenizer._cuts) <= 50 + 200  # make_lines draws from 200 words


def test_special_ids_are_not_decoded_and_pieces_show_the_space() -> None:
    tokenizer = TOKENIZERS["bpe"]
    (ids,) = tokenizer.encode(["ab cd"])
    assert tokenizer.decode([[tokenizer.bos, *ids, tokenizer.unk, tokenizer.eos, tokenizer.pad], []]) == ["ab cd", ""]
    assert "".join(tokenizer.pieces(ids)) == "▁ab▁cd"
    assert tokenizer.encode([]) == [] and tokenizer.decode([]) == []


def test_only_nfc_changes_text() -> None:
    assert normalize("E\u0301 ﬁ Ａ\u00a0 x") == "É ﬁ Ａ\u00a0 x"
    assert normalize("a\ud800b") == "a\ufffdb"


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_deterministic(kind: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        SentencePieceTokenizer.train(make_lines(), kind=kind, vocab_size=400).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_small_corpus_is_learned_from_as_it_is() -> None:
    lines = ["two  spaces", "", "e\u0301 \u2581", "x" * 2_500]
    assert subwords._sample(lines, 10**6) == ["two  spaces", "é \ufdd01", "x" * 1_000, "x" * 1_000, "x" * 500]


def test_of_a_huge_corpus_the_same_lines_are_drawn_from_all_of_it() -> None:
    lines = [f"{i:>60}" for i in range(20_000)]
    sample = subwords._sample(lines, 60_000)
    assert sample == subwords._sample(lines, 60_000) and 450 <= len(sample) <= 1_000
    places = [int(line) for line in sample]
    assert places == sorted(set(places))  # in their order, none twice
    tenths = [sum(place * 10 // 20_000 == tenth for place in places) for tenth in range(10)]
    assert min(tenths) > 0.5 * len(sample) / 10
    assert {place % 2 for place in places} == {0, 1}  # sources and targets, which take turns


def test_many_new_words_are_many_characters_to_the_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subwords, "MAX_NEW_CHARACTERS", 5_000)
    known, new = ["the same words again and again in each line"] * 1_000, make_lines(1_000)
    no_spaces = [line.replace(" ", "") for line in new]
    assert len(subwords._sample(known, 10**6)) == len(subwords._sample(new, 10**6)) == 1_000
    kept = subwords._sample(no_spaces, 10**6)
    assert 0.4 * 5_000 < sum(map(len, set(kept))) <= 5_000


def test_short_lines_count_for_what_they_take_besides() -> None:
    assert len(subwords._sample(["ab"] * 1_000, 25_000)) <= 500


@pytest.mark.parametrize("kind", KINDS)
def test_the_sample_is_what_is_learned_from(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = make_lines()
    monkeypatch.setitem(subwords.MAX_CHARACTERS, kind, 5_000)
    few = SentencePieceTokenizer.train(lines, kind=kind, vocab_size=400)
    again = SentencePieceTokenizer.train(subwords._sample(lines, 5_000), kind=kind, vocab_size=400)
    monkeypatch.undo()
    whole = SentencePieceTokenizer.train(lines, kind=kind, vocab_size=400)
    assert pieces(few) == pieces(again) != pieces(whole)


def pieces(tokenizer: SentencePieceTokenizer) -> list[str]:
    return tokenizer.pieces(range(tokenizer.size))


@pytest.mark.parametrize("kind", KINDS)
def test_bare_pieces_are_cut_where_they_stood(kind: str) -> None:
    """A space where "▁" says so, and no other; any piece of its own is one part, and the parts make up the piece."""
    tokenizer = TOKENIZERS[kind]
    own = [piece for piece in pieces(tokenizer)[tokenizer.unk + 1 :] if not piece.startswith("<0x")]
    assert [tokenizer.pieces(parts) for parts in tokenizer.cut(own)] == [[piece] for piece in own]
    others = ["\u2581unheard", "unheard", "\u2581", "é\u2581x"]
    assert ["".join(tokenizer.pieces(parts)) for parts in tokenizer.cut(others)] == others
    assert tokenizer.pieces(tokenizer.cut(["日"])[0]) == ["<0xE6>", "<0x97>", "<0xA5>"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_larger_than_the_corpus_allows_is_shrunk(kind: str) -> None:
    tokenizer = SentencePieceTokenizer.train(["a small corpus", "of two lines"], kind=kind, vocab_size=8000)
    assert 260 < tokenizer.size < 400
    assert tokenizer.decode(tokenizer.encode(["corpus ✓"])) == ["corpus ✓"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_too_small_names_the_least_that_works(kind: str) -> None:
    with pytest.raises(RequestError, match=r"of 270 pieces is too small.* take 287") as raised:
        SentencePieceTokenizer.train(make_lines(), kind=kind, vocab_size=270)
    assert "--vocab-size 287" in raised.value.remedy
    assert SentencePieceTokenizer.train(make_lines(), kind=kind, vocab_size=287).size == 287


@pytest.mark.parametrize("kind", KINDS)
def test_endless_lines_and_odd_characters_train(kind: str) -> None:
    endless = ["".join(random.Random(seed).choices(letters, k=70_000)) for seed, letters in enumerate(("abcd", "今天气很好"))]
    lines = [*endless, *["zero\0zero \u2585 \u2581", ""] * 20, "\ufdd0\u2581😀" * 2_000]
    tokenizer = SentencePieceTokenizer.train(lines, kind=kind, vocab_size=300)
    assert {"z", "今", "a", "😀"} <= set(tokenizer.pieces(range(tokenizer.size)))
    assert tokenizer.decode(tokenizer.encode(lines)) == lines


def test_training_without_text_is_a_data_error() -> None:
    with pytest.raises(DataError, match="no text"):
        SentencePieceTokenizer.train(["", ""], kind="bpe", vocab_size=300)


def test_an_error_in_the_lines_comes_out_as_it_is() -> None:
    def lines():  # type: ignore[no-untyped-def]
        yield from make_lines(10)
        raise DataError("line 11 is bad")

    with pytest.raises(DataError, match="line 11 is bad"):
        SentencePieceTokenizer.train(lines(), kind="bpe", vocab_size=300)


def test_training_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    SentencePieceTokenizer.train(make_lines(20), kind="unigram", vocab_size=8000)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("content", [b"", b"no model", None])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "shared.model"
    TOKENIZERS["bpe"].save(path)
    path.write_bytes(path.read_bytes()[:-100] if content is None else content)
    with pytest.raises(BundleError, match=r"shared\.model is truncated"):
        SentencePieceTokenizer.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no tokenizers in"):
        Tokenizers.load(tmp_path)


def test_tokenizers_are_saved_and_loaded(tmp_path: Path) -> None:
    bpe, unigram = TOKENIZERS["bpe"], TOKENIZERS["unigram"]
    Tokenizers(bpe, bpe).save(tmp_path / "one")
    Tokenizers(bpe, unigram).save(tmp_path / "two")
    one, two = Tokenizers.load(tmp_path / "one"), Tokenizers.load(tmp_path / "two")
    assert one.shared and [path.name for path in (tmp_path / "one").iterdir()] == ["shared.model"]
    assert not two.shared and len(list((tmp_path / "two").iterdir())) == 2
    texts = make_lines(5)
    assert two.source.encode(texts) == one.target.encode(texts) == bpe.encode(texts)
    assert two.target.encode(texts) == unigram.encode(texts)


@pytest.mark.parametrize(("characters", "size"), [(0, 1000), (62_500, 1000), (4_000_000, 8000), (10**12, 32_000)])
def test_the_vocabulary_grows_with_the_root_of_the_corpus(characters: int, size: int) -> None:
    assert choose_vocab_size(characters) == size
