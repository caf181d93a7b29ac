"""What BERT puts where a mask stands."""

from pathlib import Path

import pytest
import torch
from foreign_tokenizers import write_bert
from small_models import make_relatives_tokenizer, write_relative

from headway.bundle import read_bundle, write_bundle
from headway.errors import BundleError, RequestError
from headway.family.filler import Filler
from headway.imports.tokenizers import read_tokenizers
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizers


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_relative(tmp_path_factory.mktemp("models") / "bert", "bert")


@pytest.fixture
def filler(directory: Path) -> Filler:
    return Filler.load(directory)


def prefer(filler: Filler, *ids: int) -> None:
    """Make the model certain of these, the first most."""
    assert filler.model.output.bias is not None
    with torch.no_grad():
        for place, token in enumerate(ids):
            filler.model.output.bias[token] = 1e4 - 10 * place


def test_candidates_are_the_models_probabilities(filler: Filler) -> None:
    t = filler.tokenizer
    (before,), (after,) = t.encode(["copy"]), t.encode(["elm"])
    with torch.no_grad():
        logits = filler.model(torch.tensor([[t.bos, *before, t.mask, *after, t.eos]]))[0, 1 + len(before)]
    wanted = logits.softmax(dim=-1)
    marks = {t.pad, t.bos, t.eos, t.unk, t.mask}
    order = [token for token in wanted.argsort(descending=True).tolist() if token not in marks]
    (found,) = filler.fill("copy [MASK] elm", top=4)
    assert [one.probability for one in found] == pytest.approx(wanted[order[:4]].tolist(), abs=1e-6)
    assert [one.piece for one in found] == [text.strip() for text in t.decode([[token] for token in order[:4]])]
    assert len(filler.fill("[MASK]", top=10_000)[0]) == t.size - len(marks)


def test_each_mask_is_filled_while_the_others_stand(filler: Filler) -> None:
    first, second = filler.fill("copy [MASK] elm [MASK].", top=2)
    assert len(first) == len(second) == 2
    (elm,) = filler.tokenizer.encode(["elm"])[0]
    prefer(filler, elm)
    first, second = filler.fill("copy [MASK] rowan [MASK].", top=1)
    assert first[0].text == "copy elm rowan [MASK]." and second[0].text == "copy [MASK] rowan elm."
    assert first[0].probability == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "whole", "rest"),
    [
        ("a [MASK] b", "a elm b", "a- b"),
        ("[MASK] b", "elm b", "- b"),
        ("[MASK]", "elm", "-"),
        ("  A  [MASK].", "  A elm.", "  A-."),
        ("(a[MASK])", "(a elm)", "(a-)"),
    ],
)
def test_a_word_has_a_space_before_it_and_what_goes_on_with_one_has_none(
    filler: Filler, text: str, whole: str, rest: str
) -> None:
    (word,) = filler.tokenizer.encode(["elm"])[0]
    (*_, hyphen) = filler.tokenizer.encode(["a-"])[0]
    prefer(filler, word, hyphen)
    ((first, second),) = filler.fill(text, top=2)
    assert (first.piece, first.text) == ("elm", whole)
    assert (second.piece, second.text) == ("-", rest)


@pytest.mark.parametrize(
    ("text", "plain", "hidden"),
    [
        ("copy [MASK].", "copy elm.", "▁elm"),
        ("copy [MASK] .", "copy elm .", "▁elm"),
        ("copy [MASK], oak", "copy elm, oak", "▁elm"),
        ("[MASK]: oak", "elm: oak", "▁elm"),
        ("copy oa[MASK]", "copy oak", "k"),
        ("o[MASK]k é", "oak é", "a"),
        ("(copy [MASK][MASK]k)", "(copy elmak)", "▁elm a"),
        ("copy [MASK] [MASK].oak", "copy elm ash.oak", "▁elm ▁ash"),
        ("copy [MASK].\noak", "copy elm.\noak", "▁elm"),
    ],
)
def test_a_text_is_cut_as_it_would_be_with_words_in_place_of_masks(filler: Filler, text: str, plain: str, hidden: str) -> None:
    t = filler.tokenizer
    (ids,) = t.encode([plain])
    wanted = [t.mask if piece in hidden.split() else number for number, piece in zip(ids, t.pieces(ids), strict=True)]
    assert wanted.count(t.mask) == text.count("[MASK]")
    read: list[list[int]] = []
    filler.model.register_forward_pre_hook(lambda _, inputs: read.extend(inputs[0].tolist()))
    filler.fill(text)
    assert read == [[t.bos, *wanted, t.eos]]


def test_word_pieces_know_no_space(tmp_path: Path, directory: Path) -> None:
    tokenizers = read_tokenizers(tmp_path, write_bert(tmp_path))
    bundle = read_bundle(directory)
    write_bundle(tmp_path / "model", bundle.manifest, bundle.weights(), tokenizers)
    reading = Filler.load(tmp_path / "model").inspect("the [MASK].")
    assert len(reading.pieces) == 5 and reading.pieces[3] == "."


def test_requests_that_cannot_be_met(filler: Filler) -> None:
    with pytest.raises(RequestError, match=r"no \[MASK\] in 'copy mask'"):
        filler.fill("copy mask")
    with pytest.raises(RequestError, match=r"has \d+ pieces with its marks, and the model reads 40 at most"):
        filler.fill("oak " * 60 + "[MASK]")
    with pytest.raises(RequestError, match="candidates"):
        filler.fill("[MASK]", top=0)


def test_a_tokenizer_without_a_mask(tmp_path: Path) -> None:
    bundle = read_bundle(write_relative(tmp_path / "bert", "bert"))
    plain = SentencePieceTokenizer.train(["oak elm"] * 9, kind="bpe", vocab_size=make_relatives_tokenizer().size)
    write_bundle(tmp_path / "bert", bundle.manifest, bundle.weights(), Tokenizers(plain, plain))
    with pytest.raises(BundleError, match="no mark"):
        Filler.load(tmp_path / "bert")


def test_what_it_looks_at(filler: Filler) -> None:
    reading = filler.inspect("copy [MASK] elm")
    assert reading.pieces[0] == "‹begin›" and reading.pieces[-1] == "‹end›" and not reading.forwards
    assert reading.weights.shape == (2, 2, len(reading.pieces), len(reading.pieces))
    assert reading.weights.sum(axis=-1) == pytest.approx(1, abs=1e-5)
    assert reading.weights[:, :, 0, -1].min() > 0
    assert reading.answer == filler.fill("copy [MASK] elm", top=1)[0][0].piece
    assert filler.inspect("copy oak elm").answer == ""
    for text, word in (("", "no text"), ("oak " * 60, "too long")):
        with pytest.raises(RequestError, match=word):
            filler.inspect(text)
