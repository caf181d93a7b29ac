"""A SentencePiece model that cuts, and a list that numbers."""

from pathlib import Path

import pytest
from foreign_tokenizers import TEXTS, learn_pieces, list_pieces

from headway.errors import BundleError
from headway.text.piece_list import PieceListTokenizer

MARKS = ["<pad>", "</s>", "<unk>"]


def make(
    *, languages: bool = False, sentinels: int = 0, kind: str = "unigram", drop: tuple[str, ...] = ()
) -> PieceListTokenizer:
    model = learn_pieces(False, kind=kind)
    pieces = [piece for piece in list_pieces(model) if piece not in MARKS and piece not in drop]
    pieces = ["</s>", "<unk>", ">>deu<<", *pieces, *(f"<extra_id_{n}>" for n in reversed(range(sentinels))), "<pad>"]
    ids = {piece: 2 * number for number, piece in enumerate(pieces)}  # a list may have holes
    return PieceListTokenizer(model, ids, marks=MARKS, languages=languages)


def test_ids_are_those_of_the_list():
    tokenizer = make()
    (ids,) = tokenizer.encode(["The dog."])
    assert tokenizer.pieces(ids) == tokenizer._processor.encode("The dog.", out_type=str)
    assert all(number % 2 == 0 for number in ids)
    assert tokenizer.size == tokenizer.pad + 1
    assert tokenizer.decode([[*ids, tokenizer.eos, tokenizer.pad]]) == ["The dog."]


def test_a_piece_that_is_not_in_the_list_is_unknown():
    (known,) = make().encode(["dog"])
    name = make().pieces(known)[-1]
    tokenizer = make(drop=(name,))
    assert tokenizer.encode(["dog"])[0][-1] == tokenizer.unk


def test_bare_pieces_are_cut_where_they_stood():
    tokenizer = make()
    others = ["\u2581foxes", "foxes", "\u2581"]
    assert ["".join(tokenizer.pieces(parts)) for parts in tokenizer.cut(others)] == others
    assert tokenizer.cut(["日"]) == [[tokenizer.unk]]


def test_a_language_is_one_piece_at_the_beginning_only():
    tokenizer = make(languages=True)
    first = tokenizer.ids[">>deu<<"]
    assert tokenizer.encode([">>deu<< The dog."])[0] == [first, *tokenizer.encode(["The dog."])[0]]
    assert tokenizer.encode([">>xyz<< The dog."])[0] == [tokenizer.unk, *tokenizer.encode(["The dog."])[0]]
    assert first not in tokenizer.encode(["The >>deu<< dog."])[0]
    assert first not in make().encode([">>deu<< The dog."])[0]


def test_marks_in_a_text_are_marks():
    tokenizer = make(sentinels=12)
    dog, eos = tokenizer.encode(["dog"])[0], tokenizer.eos
    assert tokenizer.encode(["dog</s>dog <extra_id_11>"])[0] == [*dog, eos, *dog, tokenizer.sentinels[11]]
    assert tokenizer.sentinels == sorted(tokenizer.sentinels, reverse=True)
    assert tokenizer.decode([[*dog, eos, tokenizer.sentinels[3], *dog]]) == ["dog dog"]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_other_cuts_say_the_same_and_can_be_drawn_again(kind: str):
    tokenizer, text = make(kind=kind), "The quick brown fox jumps over the lazy dog."
    drawn = [tokenizer.sample([text, ""], alpha=0.3, seed=seed)[0] for seed in (1, 2, 3, 1)]
    assert drawn[0] == drawn[3]
    assert len({tuple(ids) for ids in drawn}) > 1
    assert tokenizer.decode(drawn) == [text] * 4


def test_pieces_of_the_other_language_are_words_too():
    tokenizer = make()
    ids = tokenizer.ids | {"▁Straße": tokenizer.size, "n": tokenizer.size + 1}
    both = PieceListTokenizer(tokenizer.model, ids, marks=MARKS)
    assert both.decode([[*both.encode(["dog"])[0], both.ids["▁Straße"], both.ids["n"]]]) == ["dog Straßen"]


def test_a_row_without_a_piece_has_a_name_and_says_nothing():
    tokenizer = make()
    assert tokenizer.pieces([1, tokenizer.size + 5]) == ["<1>", f"<{tokenizer.size + 5}>"]
    assert tokenizer.decode([[1, tokenizer.size + 5]]) == [""]


def test_a_lone_surrogate_is_no_crash():
    assert make().encode(["a\ud800"]) == make().encode(["a\ufffd"])


def test_saved_and_loaded(tmp_path: Path):
    tokenizer = make(languages=True, sentinels=2)
    tokenizer.save(tmp_path / f"shared{tokenizer.SUFFIX}")
    again = PieceListTokenizer.load(tmp_path / "shared.pieces")
    assert again.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert (again.ids, again.sentinels, again.languages) == (tokenizer.ids, tokenizer.sentinels, True)


@pytest.mark.parametrize("name", ["pieces.json", "pieces.model"])
def test_a_damaged_file(tmp_path: Path, name: str):
    make().save(tmp_path / "one.pieces")
    damaged = tmp_path / "one.pieces" / name
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(BundleError, match=r"one\.pieces cannot be read"):
        PieceListTokenizer.load(tmp_path / "one.pieces")
    damaged.unlink()
    with pytest.raises(BundleError, match=r"one\.pieces cannot be read"):
        PieceListTokenizer.load(tmp_path / "one.pieces")
