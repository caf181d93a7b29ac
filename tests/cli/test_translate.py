"""`headway translate`: as many lines out as in, in order, whatever is in them."""

import gzip
import io
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headway as api
from headway.cli.translate import complete_ray


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
    assert lines[1] == lines[2] == lines[4] == ""


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
    assert len(found[0].sentences) > 1 and "".join(part.source for part in found[0].sentences) == longest
    assert translator.translate([short], beam=2)[0].text == found[1].text


def test_a_translation_has_at_most_fifty_pieces_more_than_its_source(run: Path):
    """Section 6.1, with a model that may not end by itself."""
    translator, text = api.load(run / "best", engine="torch"), "copy oak"
    translator.engines.torch.never.append(translator.tokenizers.target.eos)
    (found,) = translator.translate([text], tokens=True)
    (pieces,) = translator.tokenizers.source.encode([text])
    assert found.tokens and len(found.tokens[:-1]) == len(pieces) + 50


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


@pytest.mark.parametrize("name", [[], ["-"]])
def test_standard_input_that_is_not_utf8(run: Path, headway, monkeypatch, name: list[str]):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"gut\n\xff\n")))
    result = headway("translate", run / "best", *name)
    assert result.code == 3 and "standard input" in result.err and "line 2" in result.err


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """50 lines, some of them blank, the last one without an end."""
    chosen = random.Random(1)
    words = ["copy", "reverse", "oak", "elm", "ash", "fir", ""]
    path = tmp_path / "lines.en"
    path.write_text("\n".join(" ".join(chosen.choices(words, k=chosen.randrange(6))) for _ in range(49)) + "\ncopy elm")
    return path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.jobs.blocks.BLOCK", 8)


def start(model: Path, *arguments: object, block: int = 8) -> subprocess.Popen[bytes]:
    """`headway translate` in a process of its own, with small blocks and a journal that is always up to date."""
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a shell's background jobs ignore
        f"import headway.jobs.blocks as blocks, headway.jobs.journal as journal; blocks.BLOCK, journal.EVERY = {block}, 0\n"
        "from headway.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "translate", *map(str, [model, *arguments])]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.usefixtures("small_blocks")
def test_files_pipes_shards_and_packed_files_give_the_same_bytes(tmp_path: Path, run: Path, lines: Path, headway):
    whole = headway("translate", run / "best", lines).out.encode()
    assert whole.count(b"\n") == 50
    packed, out = tmp_path / "packed.en.gz", tmp_path / "out.zst"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    assert headway("translate", run / "best", packed, "-o", out).code == 0
    assert headway("translate", run / "best", packed, "-o", tmp_path / "out.gz").code == 0
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == whole
    assert headway("translate", run / "best", out, "-o", "/dev/null").code == 0
    shards = [headway("translate", run / "best", packed, "--shard", f"{number}/3").out for number in (1, 2, 3)]
    assert all(shards) and "".join(shards).encode() == whole


@pytest.mark.usefixtures("small_blocks")
def test_a_directory_of_outputs(tmp_path: Path, run: Path, lines: Path, headway):
    (tmp_path / "more.en.gz").write_bytes(gzip.compress(b"copy oak\n"))
    result = headway("translate", run / "best", tmp_path / "**/*.en*", "-o", f"{tmp_path}/out/")
    assert result.code == 0, result.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["lines.de", "more.de.gz"]
    assert (tmp_path / "out/lines.de").read_text() == headway("translate", run / "best", lines).out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_same_command_goes_on(tmp_path: Path, run: Path, headway, number: signal.Signals, monkeypatch):
    monkeypatch.setattr("headway.jobs.blocks.BLOCK", 1)
    source, out = tmp_path / "source", tmp_path / "out"
    source.write_text("".join(f"copy {place}\n" for place in range(60)))
    process = start(run / "best", source, "-o", out, "--beam", 1, block=1)
    while process.poll() is None and not (tmp_path / ".out.journal").exists():
        time.sleep(0.001)
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == (-9 if number == signal.SIGKILL else 130), said
    assert number == signal.SIGKILL or b"The same command goes on" in said
    assert not out.exists()
    result = headway("translate", run / "best", source, "-o", out, "--beam", 1)
    assert result.code == 0 and "Going on after" in result.err
    assert out.read_text() == headway("translate", run / "best", source, "--beam", 1).out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source"]


def test_who_asks_line_by_line_is_answered_line_by_line(run: Path):
    process = start(run / "best", "--beam", 1)
    assert process.stdin and process.stdout
    for _ in range(2):
        process.stdin.write(b"copy oak\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n")
    assert process.communicate() == (b"", b"")


def test_a_line_of_a_hundred_thousand_characters_among_others(tmp_path: Path, run: Path, monkeypatch, headway):
    source = tmp_path / "source"
    source.write_text("copy oak\n" + "copy " * 20_000 + "\ncopy elm\n")
    monkeypatch.setattr(
        api.Translator, "translate", lambda _, texts, **options: [api.Translation(text, text[::-1], 0.0) for text in texts]
    )
    result = headway("translate", run / "best", source)
    assert result.out == "".join(f"{line[::-1]}\n" for line in source.read_text().splitlines())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--shard", "2/3"], 2, "read twice"),
        (["{lines}", "--shard", "4/3"], 2, "is no shard"),
        (["{lines}", "-o", "{lines}"], 2, "to be read and to be written"),
        (["--output", "{folder}"], 2, "standard input has no name"),
        (["{folder}/*.none"], 3, "*.none"),
        (["--ray", "{lines}"], 2, "it is a file"),
    ],
)
def test_requests_that_cannot_be_meant(tmp_path: Path, run: Path, lines: Path, headway, arguments, code, message):
    result = headway("translate", run / "best", *(word.format(lines=lines, folder=tmp_path) for word in arguments))
    assert (result.code, message in result.err) == (code, True), result.err


def test_a_cluster_of_this_machine_needs_no_name():
    assert complete_ray([]) == []
    assert complete_ray(["m", "--ray"]) == ["m", "--ray", "local"]
    assert complete_ray(["m", "--ray", "-o", "x"]) == ["m", "--ray", "local", "-o", "x"]
    assert complete_ray(["m", "--ray", "auto", "f"]) == ["m", "--ray", "auto", "f"]
    assert complete_ray(["m", "--ray=auto", "-"]) == ["m", "--ray=auto", "-"]


def test_torch_is_not_needed(tmp_path: Path, run: Path):
    """Neither to translate nor to score, once training has left the fast form."""
    (tmp_path / "text").write_text("copy oak\n")
    program = (
        "import sys\nfrom headway.cli import main\nsys.modules['torch'] = None\n"  # an import of it would fail
        f"for verb in (['translate', {str(tmp_path / 'text')!r}], ['score', '--source', {str(tmp_path / 'text')!r}, '--target',"
        f" {str(tmp_path / 'text')!r}]):\n    sys.argv = ['headway', verb[0], {str(run / 'best')!r}, *verb[1:]]\n"
        "    try:\n        main()\n    except SystemExit as stop:\n        assert not stop.code, stop.code\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 2


def test_training_leaves_the_fast_form_and_what_was_measured(run: Path):
    facts = json.loads((run / "best" / "headway.json").read_text())
    (form,) = [path for path in (run / "best.ctranslate2").iterdir() if path.is_dir()]
    assert facts["files"]["weights.safetensors"].startswith(form.name)
    assert facts["ctranslate2"]["compute_type"] in ("float32", "int8")
    card = (run / "best" / "README.md").read_text()
    assert f"takes {facts['ctranslate2']['compute_type']}" in card and "| int8 |" in card
    assert facts["lines"]["longest"] > 3 and facts["lines"]["sentences"]


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (["--engine", "ctranslate2", "--terms", "glossary"], 2, "--engine torch"),
        (["--engine", "ctranslate2", "--stream"], 2, "--engine torch"),
        (["--terms", "glossary", "--temperature", "1"], 2, "drawn"),
        (["--tokens"], 2, "--json"),
        (["--shard", "1/2", "-o", "new/"], 2, "--shard"),
        (["--ray", "local", "--threads", "2"], 2, "--threads"),
        (["--compute-type", "int8", "--engine", "torch"], 2, "int8"),
        (["--temperature", "inf"], 2, "temperature"),
        (["--temperature", "1", "--beam", "3"], 2, "beam"),
        (["--with", "nowhere"], 1, "nowhere"),
        (["--stream", "-o", "out"], 2, "--stream"),
        (["--top-p", "0"], 2, "top_p"),
        (["--patience", "0"], 2, "patience"),
        (["--terms", "none"], 3, "There is no glossary none"),
        (["--terms", "odd"], 3, "line 2"),
    ],
)
def test_what_cannot_be_done_is_said_before_it_starts(
    options: list[str], code: int, word: str, tmp_path: Path, run: Path, headway, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("glossary").write_text("oak\tfir\n")
    Path("odd").write_text("oak\tfir\nelm\n")
    Path("text").write_text("copy oak\n")
    result = headway("translate", run / "best", "text", *options)
    assert (result.code, word in result.err, result.out) == (code, True, ""), result.err
    assert "Traceback" not in result.err


def test_a_model_without_its_fast_form_gets_it_once(tmp_path: Path, run: Path, headway):
    (tmp_path / "text").write_text("copy oak\n")
    shutil.copytree(run / "best", tmp_path / "model")
    first, second = (headway("translate", tmp_path / "model", tmp_path / "text") for _ in range(2))
    assert ("once" in first.err, second.err, first.out) == (True, "", second.out)
    assert (tmp_path / "model.ctranslate2").is_dir()


def test_a_glossary_an_ensemble_and_a_stream(tmp_path: Path, run: Path, headway):
    (tmp_path / "text").write_text("copy oak elm\nreverse ash\n")
    (tmp_path / "terms").write_text("oak\tpine tree\n\nash\tyew\n")
    forced = headway("translate", run / "best", tmp_path / "text", "--terms", tmp_path / "terms")
    assert forced.code == 0, forced.err
    assert ["pine tree" in forced.out.splitlines()[0], "yew" in forced.out.splitlines()[1]] == [True, True]
    both = headway("translate", run / "best", tmp_path / "text", "--with", run / "last")
    assert both.code == 0 and both.out.count("\n") == 2
    streamed = headway("translate", run / "best", tmp_path / "text", "--stream", "--beam", 1)
    assert streamed.out == headway("translate", run / "best", tmp_path / "text", "--beam", 1).out
