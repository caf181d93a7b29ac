"""Several directions in one model, from the files to a translation."""

import json
from pathlib import Path

import pytest
from conftest import SMALL, write_corpus
from copy_reverse import make_pairs

from headway import train
from headway.bundle import read_manifest
from headway.directions import list_directions

SEVERAL = "The model translates in several directions: en → de, de → en."


@pytest.fixture(scope="module")
def stem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "train", make_pairs(150))


@pytest.fixture(scope="module")
def both_ways(stem: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was trained a little in two directions."""
    out = tmp_path_factory.mktemp("runs") / "both"
    train(
        out,
        data={"train": [str(stem)], "from": "en,de", "to": "en,de", "held_out": 8},
        model={"preset": "tiny", "n_layers": 1, "d_model": 32, "d_ff": 64, "n_heads": 2},
        tokenizer={"vocab_size": 300},
        training={"max_steps": 2, "valid_every": 1, "batch_tokens": 512, "processes": 1},
        decoding={"max_extra": 5, "beam": 2},
    )
    return out


def test_a_run_knows_its_directions_to_the_end(both_ways: Path) -> None:
    manifest = read_manifest(both_ways / "best")
    assert manifest.directions == list_directions("en,de", "en,de") and manifest.lines.sentences
    assert "--to de < text.en" in (both_ways / "best" / "README.md").read_text()
    tested = [json.loads(line) for line in (both_ways / "test.jsonl").read_text().splitlines()]
    assert {one["direction"] for one in tested} == {"en → de", "de → en"}
    assert not any("<2" in text for one in tested for text in one.values())
    told = (both_ways / "test.txt").read_text()
    assert all(f"{direction}, " in told for direction in ("en → de", "de → en"))
    assert "By direction" in (both_ways / "report.html").read_text()


def test_one_is_chosen_to_translate(both_ways: Path, tmp_path: Path, headway) -> None:
    model, text = both_ways / "best", tmp_path / "text.en"
    text.write_text("copy ash. Copy oak elm.\n\nreverse <2en> fir\n")
    result = headway("translate", model, text)
    assert result.code == 2 and SEVERAL in result.err and "--to de" in result.err
    result = headway("translate", model, text, "--to", "twi")
    assert result.code == 2 and "does not translate from any language to twi" in result.err
    result = headway("translate", model, text, "--to", "de", "--from", "en", "--json", "--alignment", "--source-prefix", "")
    assert result.code == 0, result.err
    found = [json.loads(line) for line in result.out.splitlines()]
    assert [one["source"] for one in found] == text.read_text().splitlines()
    assert [one["source"] for one in found[0]["sentences"]] == ["copy ash. ", "Copy oak elm."]
    assert headway("translate", model, text, "--to", "de", "-o", f"{tmp_path}/out/").code == 0
    assert len((tmp_path / "out" / "text.de").read_text().splitlines()) == 3
    streamed = headway("translate", model, text, "--to", "de", "--stream", "--beam", 1)
    assert streamed.code == 0 and streamed.out == headway("translate", model, text, "--to", "de", "--beam", 1).out


def test_whoever_loads_the_model_is_asked_for_the_direction(both_ways: Path, tmp_path: Path, headway) -> None:
    model, source, target = both_ways / "best", tmp_path / "text.en", tmp_path / "text.de"
    source.write_text("copy ash oak\n")
    target.write_text("ash oak\n")
    for command in (
        ["evaluate", model, "--source", source, "--references", target],
        ["score", model, "--source", source, "--target", target],
        ["encode", model, source, "--output", tmp_path / "vectors.npy"],
        ["inspect", model, "copy ash", "--picture", "alignment", "--output", tmp_path / "inspect"],
    ):
        result = headway(*command)
        assert result.code == 2 and SEVERAL in result.err, command
        result = headway(*command, "--to", "de", "--from", "en")
        assert result.code == 0, result.err


def test_export_of_sources_that_begin_with_a_space(both_ways: Path, tmp_path: Path, headway) -> None:
    """After the tag's own: transformers must leave it to the text, as we do."""
    (tmp_path / "text").write_text("<2de>  copy ash oak\n<2en>   ash\n<2de> copy elm\n")
    (tmp_path / "references").write_text("ash oak\ncopy ash\nelm\n")
    given = ["--source", tmp_path / "text", "--references", tmp_path / "references"]
    result = headway("export", both_ways / "best", "--to", "huggingface", "-o", tmp_path / "out", *given)
    assert result.code == 0 and "On 3 sentences" in result.err, result.err


def test_an_interrupted_job_of_the_other_direction_is_another_job(
    both_ways: Path, tmp_path: Path, headway, monkeypatch
) -> None:
    (tmp_path / "text").write_text("ash oak\n")
    command = ["translate", both_ways / "best", tmp_path / "text", "-o", tmp_path / "out"]
    with monkeypatch.context() as patch:
        patch.setattr("headway.jobs.journal.Part.forget", lambda part: None)  # killed before all was done
        assert headway(*command, "--to", "de").code == 0
    assert "is done already" in headway(*command, "--to", "de").err
    with monkeypatch.context() as patch:
        patch.setattr("headway.jobs.journal.Part.forget", lambda part: None)
        assert headway(*command, "--to", "de").code == 0
    assert "had been begun for another request" in headway(*command, "--to", "en").err


def test_one_of_its_directions_alone_is_gone_on_with_by_its_tag(stem: Path, both_ways: Path, tmp_path: Path, headway) -> None:
    out = tmp_path / "alone"
    options = ["--train", stem, "--from", "en", "--to", "de", "--held-out", 8, "--max-steps", 1, "--beam", 2, "--max-extra", 5]
    result = headway("train", "--init", both_ways / "best", *options, "--learning-rate", 1e-9, "--out", out)
    assert result.code == 0, result.err
    assert [(str(one), one.prefix) for one in read_manifest(out / "best").directions] == [("en → de", "<2de> ")]
    assert "<2" not in (out / "test.jsonl").read_text()
    assert "Not gone on with, and soon forgotten: de → en." in result.err and "best --to" not in result.err
    asked = [stem.with_suffix(".en"), "--compute-type", "float32"]
    before = headway("translate", both_ways / "best", *asked, "--to", "de").out
    assert headway("translate", out / "best", *asked).out == before


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--from", "en,fr", "--to", "twi"], 3, "has both files of none of the directions en → twi, fr → twi: looked for"),
        (["--from", "en", "--to", "de,on"], 3, "No training corpus has anything to learn --to on from"),
        (["--from", "en,de", "--to", "en,it"], 3, "No training corpus has anything to learn --to it from"),
        (["--from", "en,", "--to", "de"], 2, "'' is no name of a language"),
        (["--from", "en", "--to", "de", "--prefix", "<s> "], 2, "<s>, which means something else"),
    ],
)
def test_what_cannot_be_learned(stem: Path, tmp_path: Path, headway, options: list[str], code: int, told: str) -> None:
    result = headway("train", "--train", stem, *options, "--out", tmp_path / "run", *SMALL)
    assert result.code == code and told in result.err


def test_the_tag_of_a_language_is_no_prefix(both_ways: Path, stem: Path, tmp_path: Path, headway) -> None:
    text = tmp_path / "text"
    text.write_text("copy ash\n")
    wrong = headway("translate", both_ways / "best", text, "--to", "de", "--source-prefix", "<2en> ")
    assert wrong.code == 2 and "has <2en>, the tag of a language. Give --to instead." in " ".join(wrong.err.split())
    options = ("--train", stem, "--from", "en,de", "--to", "en,de", "--prefix", "<2de> ", *SMALL, "--out", tmp_path / "run")
    wrong = headway("train", *options)
    assert wrong.code == 2 and "which is the tag of a language in this run" in wrong.err and not (tmp_path / "run").exists()
