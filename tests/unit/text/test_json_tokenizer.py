"""tokenizer.json behind our protocol."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from foreign_tokenizers import TEXTS, write_bert, write_gpt2

from headway.errors import BundleError, RequestError
from headway.imports.tokenizers import read_tokenizers
from headway.text.json_tokenizer import JsonTokenizer


def make(directory: Path, kind: str) -> JsonTokenizer:
    config = {"bert": write_bert, "gpt2": write_gpt2}[kind](directory)
    tokenizer = read_tokenizers(directory, config).source
    assert isinstance(tokenizer, JsonTokenizer)
    return tokenizer


def test_bytes_say_every_text_again(tmp_path: Path):
    tokenizer = make(tmp_path, "gpt2")
    plain = [text for text in TEXTS if "<|endoftext|>" not in text]
    assert tokenizer.decode(tokenizer.encode(plain)) == plain


def test_marks_are_left_out(tmp_path: Path):
    tokenizer = make(tmp_path, "bert")
    (ids,) = tokenizer.encode(["the dog."])
    assert tokenizer.mask is not None
    assert tokenizer.decode([[tokenizer.bos, *ids, tokenizer.mask, tokenizer.eos, tokenizer.pad]]) == ["the dog."]
    assert tokenizer.encode(["[MASK]"]) == [[tokenizer.mask]]


def test_pieces_can_be_read(tmp_path: Path):
    tokenizer = make(tmp_path, "gpt2")
    (ids,) = tokenizer.encode(["über den Hund"])
    assert "".join(tokenizer.pieces(ids)) == "über▁den▁Hund"
    assert tokenizer.pieces([tokenizer.eos, 100_000]) == ["<|endoftext|>", "<100000>"]
    half = tokenizer.encode(["日"])[0][:1]
    assert "\ufffd" not in tokenizer.pieces(half)[0]


def test_bare_pieces_are_cut_where_they_stood(tmp_path: Path):
    tokenizer, others = make(tmp_path, "gpt2"), ["\u2581dogs", "dogs", "\u2581"]
    assert ["".join(tokenizer.pieces(parts)) for parts in tokenizer.cut(others)] == others


def test_what_the_file_says_of_padding_and_cutting_does_not_count(tmp_path: Path):
    tokenizer = make(tmp_path, "bert")
    content = json.loads(tokenizer.content)
    content["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    content["padding"] = {"strategy": "BatchLongest", "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    content["padding"]["pad_to_multiple_of"] = None
    assert JsonTokenizer(json.dumps(content), tokenizer.marks).encode(TEXTS) == tokenizer.encode(TEXTS)


def test_no_other_cuts(tmp_path: Path):
    with pytest.raises(RequestError, match="cannot cut text in other ways"):
        make(tmp_path, "gpt2").sample(["a"], alpha=0.1, seed=1)


def test_a_lone_surrogate_is_no_crash(tmp_path: Path):
    tokenizer = make(tmp_path, "gpt2")
    assert tokenizer.encode(["a\ud800"]) == tokenizer.encode(["a\ufffd"])


@pytest.mark.parametrize(("name", "half"), [("tokenizer.json", '{"version": '), ("marks.json", "{}"), ("marks.json", "[1]")])
def test_a_damaged_file(tmp_path: Path, name: str, half: str):
    make(tmp_path / "theirs", "bert").save(tmp_path / "one.tokenizers")
    (tmp_path / "one.tokenizers" / name).write_text(half)
    with pytest.raises(BundleError, match=r"one\.tokenizers cannot be read"):
        JsonTokenizer.load(tmp_path / "one.tokenizers")
    (tmp_path / "one.tokenizers" / name).unlink()
    with pytest.raises(BundleError, match=r"one\.tokenizers cannot be read"):
        JsonTokenizer.load(tmp_path / "one.tokenizers")


def test_the_library_comes_in_only_when_needed():
    program = "import sys, headway.text.tokenizer\nprint('tokenizers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
