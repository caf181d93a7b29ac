"""`headway train --monolingual-target` from end to end, as docs/training.md has it, and what a user may get wrong."""

import json
from pathlib import Path

import pytest
import yaml
from conftest import SMALL, train_command, write_corpus
from copy_reverse import make_pairs
from docs.pages import DOCS, read_commands
from small_models import write_model

SOON = ("--batch-tokens", 512, "--max-steps", 2, "--valid-every", 2, "--processes", 1)
SANE = ("--max-extra", 2, "--min-length", 3)  # of a model that has learned nothing


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def gibberish(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that has learned nothing is good enough to translate back."""
    monkeypatch.setattr("headway.training.back_translation.NOTHING", 0.0)


def test_all_stages(tmp_path: Path, headway, gibberish: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    pairs = make_pairs(200)
    write_corpus(Path("data/train"), pairs)
    new = sorted({target for _, target in make_pairs(30, seed=2, longest=12)} - {target for _, target in pairs})
    Path("more.de").write_text("\n".join([*new, "", *(target for _, target in pairs), new[0]]))
    command = next(words for words in read_commands(DOCS / "training.md") if "--monolingual-target" in words)
    done = headway(*command, *SMALL, *SOON, *SANE)
    assert done.code == 0, done.err
    run = Path(command[command.index("--out") + 1])

    told = [done.err.index(f"  [{number}/4]") for number in (1, 2, 3, 4)]
    assert told == sorted(told) and told[-1] < done.err.index("\n[1/4]")  # all of them before the first begins
    assert "at most 2 updates" in done.err and f"{len(new)} to translate" in done.err

    parts = {line for part in ("valid", "test") for line in lines(run / "text" / f"{part}.de")}
    assert len(parts) == 8 and parts < {target for _, target in pairs}
    assert lines(run / "text" / "monolingual-1.de") == new
    kept = lines(run / "synthetic" / "pairs-1.de")
    assert kept and set(kept) <= set(new) and len(lines(run / "synthetic" / "pairs-1.en")) == len(kept)
    tested = {stage: [json.loads(line) for line in lines(run / stage / "test.jsonl")] for stage in (".", "forward", "reverse")}
    assert [one["source"] for one in tested["."]] == [one["source"] for one in tested["forward"]]
    assert [one["reference"] for one in tested["."]] == [one["source"] for one in tested["reverse"]]

    data = yaml.safe_load((run / "config.yaml").read_text())["data"]
    assert (
        data["prefix"] == ["", "<bt> "] and data["monolingual_target"] == []
    )  # an ordinary run, which its own file goes on with
    assert json.loads((run / "best" / "headway.json").read_text())["lines"]["sentences"]  # what it translates has no tag

    gained = json.loads((run / "gained.json").read_text())
    assert gained["sentences"] == len(kept) and gained["scores"]["bleu"]["verdict"] in ("not tested", "equal")
    assert f"Back-translation of {len(kept)} sentences: BLEU " in gained["story"] and gained["story"] in done.err
    assert f"Model: {gained['model']} " in done.err

    Path("more.de").write_text("oak elm\n")
    other = headway(*command, *SMALL, *SOON, *SANE)
    assert other.code == 2 and "other data: more.de changed" in other.err


def test_a_way_back_that_has_learned_nothing_translates_nothing(tmp_path: Path, corpus: Path, headway):
    """It ends there, and a larger budget goes on with what there is."""
    (tmp_path / "more.de").write_text("an oak and an elm\n")
    command = [*train_command(corpus, tmp_path / "run", *SOON[2:]), "--monolingual-target", tmp_path / "more.de", *SANE]
    done = headway(*command)
    assert done.code == 1 and "best, which is to translate back, has not learned to translate yet: chrF " in done.err
    assert not (tmp_path / "run" / "synthetic").exists()
    more = headway(*command, "--max-steps", 4)
    assert more.code == 1 and more.err.count("Going on from update 2") == 2


def test_text_with_characters_of_its_own_gets_a_larger_vocabulary(
    tmp_path: Path, headway, gibberish: None, monkeypatch: pytest.MonkeyPatch
):
    """Where the user gave no size: the first stage knew nothing of these characters when it chose one."""
    monkeypatch.chdir(tmp_path)
    write_corpus(Path("train"), make_pairs(200))
    own = [chr(0x4E00 + number) for number in range(1200)]
    Path("more.de").write_text("\n".join(" ".join(own[start : start + 6]) for start in range(0, len(own), 6)))
    small = list(SMALL)
    at = small.index("--vocab-size")
    del small[at : at + 2]
    command = [
        "train",
        "--train",
        "train",
        "--monolingual-target",
        "more.de",
        "--from",
        "en",
        "--to",
        "de",
        "--out",
        "run",
        *small,
    ]
    done = headway(*command, *SOON, *SANE)
    assert done.code == 0, done.err
    assert "The text has characters of its own: " in done.err
    sizes = [
        yaml.safe_load((Path("run") / stage / "config.yaml").read_text())["tokenizer"]["vocab_size"]
        for stage in ("forward", ".")
    ]
    assert sizes[0] < 1200 < sizes[1]
    again = headway(*command, *SOON, *SANE)
    assert again.code == 0 and "This run is complete" in again.err


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--monolingual-target", "none.de"], 3, "There is no file none.de"),
        (["--monolingual-target", "empty.de"], 3, "empty.de is empty"),
        (["--monolingual-target", "latin.de"], 3, "latin.de is not UTF-8: line 2"),
        (["--monolingual-target", "train.de"], 3, "No line of train.de is left to translate"),
        (["--monolingual-target", "more.de", "--prefix", "x "], 2, "Leave out --prefix"),
        (["--monolingual-target", "more.de", "--to", "en"], 2, "Name two languages"),
        (["--monolingual-target", "more.de", "--task", "lm"], 2, "has no --monolingual-target"),
        (["--monolingual-target", "more.de", "--init", "model"], 2, "model translates one way"),
        (["--back-translation", "sampling"], 2, "Name it: --monolingual-target"),
    ],
)
def test_wrong_requests(tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch, options, code, told):
    monkeypatch.chdir(tmp_path)
    write_corpus(Path("train"), make_pairs(60))
    Path("more.de").write_text("oak elm\n")
    Path("empty.de").write_text("")
    Path("latin.de").write_bytes(b"gut\n\xfc\n")
    write_model(Path("model"))
    result = headway(*train_command(Path("train"), Path("run"), *options))
    assert result.code == code and told in result.err and "Traceback" not in result.err, result.err
    assert not Path("run/forward/checkpoints").exists()  # nothing was trained before it was known


def test_a_run_without_corpus_leaves_no_directory(tmp_path: Path, headway):
    (tmp_path / "more.de").write_text("oak elm\n")
    options = train_command(tmp_path / "none", tmp_path / "run", "--monolingual-target", tmp_path / "more.de")
    assert "There is no file" in headway(*options).err
    assert not (tmp_path / "run").exists()


def test_torchrun_plans_and_experiments_do_without(tmp_path: Path, corpus: Path, headway, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "more.de").write_text("oak elm\n")
    options = train_command(corpus, tmp_path / "run", "--monolingual-target", tmp_path / "more.de")[1:]
    assert "makes three" in headway("plan", *options).err
    assert "Leave out --monolingual-target" in headway("experiment", "smoothing", *options).err
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "without torchrun" in headway("train", *options).err
