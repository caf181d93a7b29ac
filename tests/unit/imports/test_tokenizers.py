"""The same ids as transformers gives, from the same files, and after the way back."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from foreign_tokenizers import TEXTS, write_bert, write_gpt2, write_marian, write_t5
from transformers import AutoTokenizer

from headway.errors import HeadwayError
from headway.imports.tokenizers import read_tokenizers, write_tokenizer
from headway.text.json_tokenizer import JsonTokenizer
from headway.text.piece_list import PieceListTokenizer
from headway.text.tokenizer import Tokenizer, Tokenizers

Write = Callable[[Path], dict[str, Any]]
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")


def keep_only_json(write: Write) -> Write:
    """The directory as transformers saves it again: with tokenizer.json, and without what that was made from."""

    def rewrite(directory: Path) -> dict[str, Any]:
        config = write(directory)
        AutoTokenizer.from_pretrained(directory).save_pretrained(directory)
        assert (directory / "tokenizer.json").exists()
        for name in ("spiece.model", "vocab.txt", "vocab.json", "merges.txt"):
            (directory / name).unlink(missing_ok=True)
        return config

    return rewrite


def disagree(write: Write, **settings: Any) -> Write:
    """tokenizer.json was made by other settings than tokenizer_config.json has."""

    def rewrite(directory: Path) -> dict[str, Any]:
        config = write(directory)
        path = directory / "tokenizer_config.json"
        told = {name: value for name, value in json.loads(path.read_text()).items() if name not in settings}
        path.write_text(json.dumps(told | {name: value for name, value in settings.items() if value is not None}))
        return config

    return rewrite


DIRECTORIES: dict[str, Write] = {
    "marian": write_marian,
    "marian-separate": lambda path: write_marian(path, separate=True),
    "t5": write_t5,
    "t5-few-sentinels": lambda path: write_t5(path, sentinels=7),
    "t5-json": keep_only_json(write_t5),
    "bert": write_bert,
    "bert-cased": lambda path: write_bert(path, do_lower_case=False),
    "bert-accents": lambda path: write_bert(path, strip_accents=False, tokenize_chinese_chars=False),
    "bert-json": keep_only_json(lambda path: write_bert(path, do_lower_case=False)),
    "bert-json-disagrees": disagree(
        keep_only_json(write_bert), do_lower_case=False, strip_accents=True, tokenize_chinese_chars=False
    ),
    "bert-json-by-default": disagree(keep_only_json(lambda path: write_bert(path, do_lower_case=False)), do_lower_case=None),
    "bert-json-as-it-stands": disagree(
        keep_only_json(write_bert), do_lower_case=False, tokenizer_class="PreTrainedTokenizerFast"
    ),
    "gpt2": write_gpt2,
    "gpt2-space": lambda path: write_gpt2(path, add_prefix_space=True, pad_token="<|pad|>"),
    "gpt2-json": keep_only_json(write_gpt2),
    "gpt2-json-disagrees": disagree(keep_only_json(write_gpt2), add_prefix_space=True, split_special_tokens=True),
}


@pytest.fixture(scope="module", params=DIRECTORIES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    directory = tmp_path_factory.mktemp("tokenizers") / "theirs"
    return directory, DIRECTORIES[request.param](directory)


def test_ids_and_texts_are_those_of_transformers(place: tuple[Path, dict[str, Any]]):
    directory, config = place
    ours, theirs = read_tokenizers(directory, config), AutoTokenizer.from_pretrained(directory)
    assert_same(ours, theirs)


def test_saved_and_loaded_they_are_the_same(place: tuple[Path, dict[str, Any]], tmp_path: Path):
    ours = read_tokenizers(*place)
    ours.save(tmp_path / "ours")
    again = Tokenizers.load(tmp_path / "ours")
    assert again.shared == ours.shared
    for before, after in ((ours.source, again.source), (ours.target, again.target)):
        assert facts(after) == facts(before)
        assert after.encode(TEXTS) == before.encode(TEXTS)


def test_the_way_back_gives_what_transformers_reads(place: tuple[Path, dict[str, Any]], tmp_path: Path):
    directory, config = place
    ours = read_tokenizers(directory, config)
    back = tmp_path / "back"
    back.mkdir()
    write_tokenizer(ours, back, config)
    assert_same(ours, AutoTokenizer.from_pretrained(back))
    again = read_tokenizers(back, config)
    assert [facts(again.source), facts(again.target)] == [facts(ours.source), facts(ours.target)]
    assert again.target.encode(TEXTS) == ours.target.encode(TEXTS)


def test_marks_are_where_the_model_has_them(tmp_path: Path):
    marian = read_tokenizers(tmp_path / "marian", write_marian(tmp_path / "marian")).target
    assert marian.pieces([marian.pad, marian.bos, marian.eos, marian.unk]) == ["<pad>", "<pad>", "</s>", "<unk>"]
    bert = read_tokenizers(tmp_path / "bert", write_bert(tmp_path / "bert")).source
    assert bert.pieces([bert.pad, bert.bos, bert.eos, bert.unk, bert.mask]) == ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    gpt = read_tokenizers(tmp_path / "gpt2", write_gpt2(tmp_path / "gpt2")).source
    assert gpt.pieces([gpt.pad, gpt.bos, gpt.eos]) == ["<|endoftext|>"] * 3
    assert gpt.mask is None
    t5 = read_tokenizers(tmp_path / "t5", write_t5(tmp_path / "t5")).source
    assert t5.pieces([t5.pad, t5.bos, t5.eos, t5.unk]) == ["<pad>", "<pad>", "</s>", "<unk>"]
    assert t5.pieces(t5.sentinels[:2]) == ["<extra_id_0>", "<extra_id_1>"]
    assert t5.sentinels == list(range(t5.size - 1, t5.size - 101, -1))


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (write_marian, "vocab.json"),
        (write_marian, "source.spm"),
        (write_marian, "target.spm"),
        (lambda path: write_marian(path, separate=True), "target_vocab.json"),
        (write_t5, "spiece.model"),
        (write_bert, "vocab.txt"),
        (write_gpt2, "vocab.json"),
        (write_gpt2, "merges.txt"),
        (keep_only_json(write_gpt2), "tokenizer.json"),
    ],
)
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, write: Write, name: str):
    config = write(tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2] if name != "vocab.txt" else b"just\nwords\n")
    if name != "merges.txt":  # half of the merges are merges too
        with pytest.raises(HeadwayError, match=rf"{name} cannot be read"):
            read_tokenizers(tmp_path, config)
    (tmp_path / name).unlink()
    with pytest.raises(HeadwayError, match=rf"has no (merges\.txt|{name})"):
        read_tokenizers(tmp_path, config)


def test_more_pieces_than_the_model_has_rows(tmp_path: Path):
    config = write_marian(tmp_path)
    with pytest.raises(HeadwayError, match=r"pieces for the source, the model's config.json only 20"):
        read_tokenizers(tmp_path, config | {"vocab_size": 20})


def test_another_beginning_than_pad(tmp_path: Path):
    with pytest.raises(HeadwayError, match="begins its translations with token 5, its tokenizer has 0"):
        read_tokenizers(tmp_path, write_t5(tmp_path) | {"decoder_start_token_id": 5})


def test_two_ends(tmp_path: Path):
    config = write_marian(tmp_path, separate=True)
    path = tmp_path / "target_vocab.json"
    ids = json.loads(path.read_text())
    path.write_text(json.dumps(ids | {"</s>": ids["<unk>"], "<unk>": ids["</s>"]}))
    with pytest.raises(HeadwayError, match="source ends with token 0, a target with token 1"):
        read_tokenizers(tmp_path, config)


def test_a_vocabulary_without_a_mark(tmp_path: Path):
    config = write_marian(tmp_path)
    (tmp_path / "vocab.json").write_text(json.dumps({"</s>": 0, "<unk>": 1, "a": 2}))
    with pytest.raises(HeadwayError, match="has no <pad>"):
        read_tokenizers(tmp_path, config)


def test_an_unknown_kind_of_model(tmp_path: Path):
    with pytest.raises(HeadwayError, match="'llama'"):
        read_tokenizers(tmp_path, {"model_type": "llama"})


def test_a_tokenizer_of_another_kind_of_model_does_not_go_back(tmp_path: Path):
    tokenizers = read_tokenizers(tmp_path, write_bert(tmp_path))
    with pytest.raises(HeadwayError, match="no tokenizer of a model of the type 'vit'"):
        write_tokenizer(tokenizers, tmp_path, {"model_type": "vit"})


def assert_same(ours: Tokenizers, theirs: Any) -> None:
    """transformers leaves the spaces at the end of what T5 says; they say nothing."""
    assert_equal(ours.source.encode(TEXTS), theirs(TEXTS, add_special_tokens=False, verbose=False).input_ids)
    if ours.source.size == ours.target.size and ours.source.pieces(range(9)) == ours.target.pieces(range(9)):  # one list
        ids = theirs(TEXTS, add_special_tokens=False, verbose=False).input_ids
        texts = [theirs.decode(some, skip_special_tokens=True) for some in ids]
        assert_equal([text.strip() for text in ours.target.decode(ids)], [text.strip() for text in texts])
    ids = theirs(text_target=TEXTS, add_special_tokens=False, verbose=False).input_ids
    assert_equal(ours.target.encode(TEXTS), ids)
    texts = [theirs.decode(some, skip_special_tokens=True) for some in ids]
    stripped = isinstance(ours.target, PieceListTokenizer)
    assert_equal(ours.target.decode(ids), [text.strip() for text in texts] if stripped else texts)


def assert_equal(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    different = [(text, one, other) for text, one, other in zip(TEXTS, found, wanted, strict=True) if one != other]
    assert different == []


def facts(tokenizer: Tokenizer) -> tuple[Any, ...]:
    assert isinstance(tokenizer, PieceListTokenizer | JsonTokenizer)
    t = tokenizer
    return t.size, t.pad, t.bos, t.eos, t.unk, t.mask, list(t.sentinels), t.pieces(range(t.size))
