"""The rows of a new vocabulary, made of those of an old one."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch
from copy_reverse import WORDS
from foreign_tokenizers import learn_pieces, list_pieces
from small_models import make_tokenizer, write_model

from headway.bundle import Bundle, read_bundle
from headway.config import build_settings
from headway.models.build import build
from headway.models.weights import get_weights
from headway.text.piece_list import PieceListTokenizer
from headway.text.subwords import SENTINELS
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizer, Tokenizers
from headway.training.choices import choose_vocabulary
from headway.training.start import shape_of, take_over
from headway.training.transfer import Origins, find_origins, plan_transfer

NEW = build_settings({"tokenizer": {"vocabulary": "new"}})


@pytest.fixture(scope="module")
def new() -> SentencePieceTokenizer:
    """Some words are those of `make_tokenizer`, some are made of two of them, some are spelled with other letters."""
    words = [*WORDS[:7], *(f"{one}{other}" for one, other in pairwise(WORDS)), "ɛkɔm", "ɔbaa"]
    return SentencePieceTokenizer.train([" ".join(words)] * 20, kind="bpe", vocab_size=420)


def means_of_parts(old: Tokenizer, new: Tokenizer, learned: torch.Tensor) -> torch.Tensor:
    """What the rows are to be, told by the names of the pieces alone."""
    ids = {piece: number for number, piece in enumerate(old.pieces(range(old.size)))}
    pieces = new.pieces(range(new.size))
    parts = [[ids[piece]] if piece in ids else cut for piece, cut in zip(pieces, old.cut(pieces), strict=True)]
    return torch.stack([learned[some].mean(dim=0) for some in parts])


@pytest.mark.parametrize("tie", ["all", "target", "none"])
def test_every_row_is_that_of_its_piece_or_the_mean_of_its_parts(tie: str, new: SentencePieceTokenizer, tmp_path: Path) -> None:
    start = read_bundle(write_model(tmp_path / "start", tie=tie, output_bias=True))
    tokenizers = Tokenizers(new if tie == "all" else make_tokenizer(340), new)
    architecture = shape_of(start, NEW, tokenizers)
    model = build(architecture, pad=new.pad, seed=3)
    take_over(model, start, tokenizers, plan_transfer(start, tokenizers))
    before, after = start.weights(), get_weights(model)
    assert before.keys() == after.keys() and architecture.target_vocab == new.size
    by_piece = {
        "source_embedding.weight": (start.tokenizers.source, tokenizers.source),
        "target_embedding.weight": (start.tokenizers.target, tokenizers.target),
        "output.weight": (start.tokenizers.target, tokenizers.target),
        "output.bias": (start.tokenizers.target, tokenizers.target),
    }
    for name, weight in after.items():
        if name in by_piece:
            old, now = by_piece[name]
            torch.testing.assert_close(weight, means_of_parts(old, now, before[name]), msg=name)
            theirs, ours = ({piece: n for n, piece in enumerate(t.pieces(range(t.size)))} for t in (old, now))
            own = theirs.keys() & ours.keys()  # marks and bytes among them: bit for bit
            assert 260 < len(own) < now.size
            assert torch.equal(weight[[ours[piece] for piece in own]], before[name][[theirs[piece] for piece in own]])
        else:
            assert torch.equal(weight, before[name]), name


def test_what_has_no_origin_is_the_mean_moved_by_what_was_drawn() -> None:
    learned, drawn = torch.tensor([[1.0, 2.0], [3.0, 6.0]]), torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    rows = Origins([[1], [], [0, 1]], own=1).rows(learned, drawn)
    torch.testing.assert_close(rows, torch.tensor([[3.0, 6.0], [2.3, 4.4], [2.0, 4.0]]))


def test_marks_come_from_the_marks_of_their_use_and_nothing_from_the_unknown(new: SentencePieceTokenizer) -> None:
    """A Marian vocabulary begins a translation with its pad, knows no bytes and no ɛ."""
    model = learn_pieces(False)
    names = [piece for piece in list_pieces(model) if piece not in ("<unk>", "<s>", "</s>")]
    ids = {piece: number for number, piece in enumerate(["</s>", "<unk>", *names, "<pad>"])}
    old = PieceListTokenizer(model, ids, marks=["<pad>", "</s>", "<unk>"])
    origins = find_origins(old, new).old
    assert [origins[mark] for mark in (new.pad, new.bos, new.eos, new.unk)] == [[old.pad], [old.pad], [old.eos], [old.unk]]
    pieces = new.pieces(range(new.size))
    assert origins[pieces.index("<0x41>")] == [] == origins[pieces.index("ɛ")]
    assert old.pieces(origins[pieces.index("a")]) == ["a"]
    with_marks = SentencePieceTokenizer.train(["ash elm"] * 20, kind="char", vocab_size=500, marks=SENTINELS)
    assert not any(find_origins(old, with_marks).old[mark] for mark in with_marks.sentinels)
    tagged = SentencePieceTokenizer.train(["ash elm"] * 20, kind="char", vocab_size=500, tags=["<a>"])
    assert not any(find_origins(old, tagged).old[tag] for tag in tagged.tags)  # which is more than its letters


def test_it_is_told_how_many_are_new(new: SentencePieceTokenizer) -> None:
    assert str(Origins([[1], [], [0, 1]] * 1000, own=1000)) == (
        "3,000 pieces, 1,000 of them the model's own, 1,000 begin from their parts, 1,000 anew"
    )
    same = find_origins(new, new)
    assert str(same) == f"{new.size:,} pieces, {new.size:,} of them the model's own, 0 begin from their parts"


@pytest.mark.parametrize(
    ("languages", "tie", "task", "chosen"),
    [
        (("en", "de"), "all", "translate", "own"),
        (("de", "en"), "all", "translate", "own"),
        (("de", "en"), "target", "translate", "new"),
        (("en", "twi"), "all", "translate", "new"),
        (("fr", "de"), "target", "translate", "new"),
        (("en,de", "en,de"), "all", "translate", "own"),
        (("en", "de,twi"), "all", "translate", "new"),
        (("en", "de-AT"), "target", "translate", "own"),
        (("", ""), "all", "denoise", "own"),
    ],
)
def test_other_languages_want_another_vocabulary(
    languages: tuple[str, str], tie: str, task: str, chosen: str, tmp_path: Path
) -> None:
    start = read_bundle(write_model(tmp_path / "start", tie=tie))
    settings = build_settings({"data": {"task": task, "from": languages[0], "to": languages[1]}})
    assert choose_vocabulary(settings, start) == chosen
    unknown = start.manifest.model_copy(update={"directions": []})
    assert choose_vocabulary(settings, Bundle(start.directory, unknown, start.tokenizers)) == "own"


def test_what_is_asked_for_is_chosen(tmp_path: Path) -> None:
    start = read_bundle(write_model(tmp_path / "start"))
    assert choose_vocabulary(NEW, start) == "new"
    own = build_settings({"tokenizer": {"vocabulary": "own"}, "data": {"from": "en", "to": "twi"}})
    assert choose_vocabulary(own, start) == "own"
