"""`headway translate`: as many lines out as in, in order, whatever is in them."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headway as api


@pytest.fixture(scope="session")
def translator(run: Path) -> api.Translator:
    return api.load(run / "best")


def test_one_line_out_for_each_line_in_empty_for_empty(tmp_path: Path, run: Path, headway):
    text = tmp_path / "text.en"
    text.write_bytes("copy oak\n\n  \nreverse elm\u2028ash\r\n\x0c\ncopy fir".encode())
    result = headway("translate", run / "best", text)
    assert result.code == 0, result.err
    lines = result.out.split("\n")
    assert len(lines) == 7 and lines[-1] == ""
    assert [bool(line) for line in lines[:6]] == [True, False, False, True, False, True]


def test_standard_input_to_standard_output(run: Path):
    command = [sys.executable, "-m", "headway", "translate", str(run / "best"), "--beam", "1"]
    done = subprocess.run(command, input=b"copy oak\n\ncopy elm\n", capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == 3


def test_a_reader_who_has_seen_enough(tmp_path: Path, run: Path):
    text = tmp_path / "text"
    text.write_text("copy oak\n" * 3)
    command = f"{sys.executable} -m headway translate {run / 'best'} {text} --beam 1 | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_json_has_what_was_promised(tmp_path: Path, run: Path, headway):
    text = tmp_path / "text.en"
    text.write_text("copy oak elm\n\n")
    result = headway("translate", run / "best", text, "--json", "--nbest", 3)
    first, second = map(json.loads, result.out.splitlines())
    assert first["source"] == "copy oak elm"
    assert {"text": first["text"], "score": first["score"]} == first["alternatives"][0]
    assert len(first["alternatives"]) == 3
    scores = [other["score"] for other in first["alternatives"]]
    assert scores == sorted(scores, reverse=True)
    assert second == {"source": "", "text": "", "score": 0.0}


def test_a_file_to_write_and_several_to_read(tmp_path: Path, run: Path, headway):
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"copy {name}\n")
    result = headway("translate", run / "best", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "out")
    assert result.code == 0 and result.out == ""
    assert (tmp_path / "out").read_text().count("\n") == 2


def test_a_sentence_longer_than_any_in_training(translator: api.Translator):
    longest, short = " ".join(["copy"] + ["oak"] * 700), "copy oak"
    found = translator.translate([longest, short], beam=2)
    assert found[0].text
    assert translator.translate([short], beam=2)[0].text == found[1].text


def test_a_translation_has_at_most_fifty_pieces_more_than_its_source(run: Path, monkeypatch: pytest.MonkeyPatch):
    """Section 6.1, with a model that may not end by itself."""
    translator, text, found = api.load(run / "best"), "copy oak ash elm", []
    engine = translator.engine
    engine.never.append(engine.eos)
    search = engine.translate

    def watched(*arguments, **more):
        found.extend(search(*arguments, **more))
        return found

    monkeypatch.setattr(engine, "translate", watched)
    translator.translate([text])
    (pieces,) = translator.tokenizers.source.encode([text])
    assert len(found[0][0].tokens) == len(pieces) + 50


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=15), max_size=4))
def test_any_text_at_all(translator: api.Translator, texts: list[str]):
    found = translator.translate(texts, beam=1)
    assert [translation.source for translation in found] == texts
    assert all((translation.text == "") for translation, text in zip(found, texts, strict=True) if not text.strip())


def test_one_string_is_not_taken_for_its_letters(translator: api.Translator):
    for verb in (translator.translate, translator.encode):
        with pytest.raises(TypeError, match="list of strings"):
            verb("copy oak")


def test_more_than_one_translation_needs_json(run: Path, headway):
    result = headway("translate", run / "best", "--nbest", 2)
    assert (result.code, "--json" in result.err) == (2, True)


def test_files_that_are_not_there_or_not_text(tmp_path: Path, run: Path, headway):
    result = headway("translate", run / "best", tmp_path / "none")
    assert result.code == 3 and "none" in result.err
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    result = headway("translate", run / "best", tmp_path / "latin")
    assert result.code == 3 and "line 1" in result.err and "0xe9" in result.err


def test_standard_input_that_is_not_utf8(run: Path, headway, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"gut\n\xff\n")))
    result = headway("translate", run / "best")
    assert result.code == 3 and "standard input" in result.err and "line 2" in result.err
