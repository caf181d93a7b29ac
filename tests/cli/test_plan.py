"""`headway plan`: what it foretells comes true, and everything that a user may get wrong."""

import json
import shlex
import shutil
import tempfile
from pathlib import Path

import pytest
from conftest import SMALL, train_command
from safetensors.numpy import load_file

from headway.training.directory import locked
from headway.training.loop import Trainer

PAPER = ("--paper", "--gpus", 8, "--tflops", 9.5, "--utilisation", 0.3)


def plan_command(corpus: Path, *more: object) -> list[object]:
    """With the settings of `train_command`, in one process, measured for a second, which on a busy machine may be too short."""
    common = ["plan", "--train", corpus, "--from", "en", "--to", "de", *SMALL, "--batch-tokens", "512", "--processes", "1"]
    return [*common, "--seconds", "1", *more]


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_papers_training(headway):
    result = headway("plan", *PAPER)
    assert result.code == 0, result.err
    told = words(result.out)
    assert "100,000 updates, 19.8 epochs" in told and "63,082,496 parameters" in told
    assert "Arithmetic 9.5e17 FLOPs" in told
    assert "Time there 11 h 36 min: 8 GPUs of 9.5 TFLOP/s, 30% of peak, assumed" in told
    assert "The paper gives 3.3e18 FLOPs for this: 8 GPUs x 12 hours x 9.5 TFLOP/s of peak" in told
    assert "The 9.5e17 above is what the model needs; the quotient, 0.29," in told
    assert "4,500,000 pairs of 27 and 27 pieces, assumed" in told
    start = shlex.split(result.out.splitlines()[-1])
    assert {"--preset", "base", "--vocab-size", "37000", "--max-steps", "100000", "--train", "--out"} <= set(start)


def test_what_json_gives_is_what_the_table_says(headway):
    figures, told = json.loads(headway("plan", *PAPER, "--json").out), words(headway("plan", *PAPER).out)
    assert figures["flops"] == pytest.approx(9.5e17, rel=0.01)
    assert figures["gpu_seconds"] / 3600 == pytest.approx(11.6, abs=0.05)
    assert (figures["gpus"], figures["tflops"], figures["utilisation"]) == (8, 9.5, 0.3)
    assert (figures["paper_flops"], figures["paper_hours"], figures["paper_utilisation"]) == (3.3e18, 12, 0.289)
    assert (figures["pairs_read"], figures["measured"], figures["mfu"]) == (None, False, 0.5)
    for name in ("pairs", "target_tokens", "vocabulary", "parameters", "batch_tokens", "steps"):
        assert f" {figures[name]:,} " in told, name
    assert f"{figures['processes']} process" in told and f"x {figures['threads']} thread" in told
    assert f"Memory {figures['memory_bytes'] / 1e9:.1f} GB" in told
    assert f"Disk {figures['disk_bytes'] / 1e9:.1f} GB for {figures['checkpoints']} checkpoints" in told
    assert figures["command"] in told
    assert {"source_tokens", "epochs", "precision", "tokens_per_second", "seconds"} <= figures.keys()


@pytest.mark.parametrize(("steps", "compared"), [(100_000, True), (90_000, False)])
def test_the_papers_training_is_known_without_its_name(headway, steps: int, compared: bool):
    result = headway("plan", "--preset", "base", "--pairs", 4_500_000, "--batch-tokens", 25_000, "--max-steps", steps)
    assert result.code == 0, result.err
    assert ("3.3e18" in result.out) == compared
    assert " 32,000 pieces, shared" in result.out and "Time there" not in result.out


def test_the_papers_big_model(headway):
    figures = json.loads(headway("plan", "--paper", "--preset", "big", "--tflops", 9.5, "--json").out)
    assert (figures["steps"], figures["d_model"], figures["paper_flops"]) == (300_000, 1024, 2.3e19)
    assert (figures["gpus"], figures["utilisation"]) == (1, 0.3)


def test_a_corpus_that_is_not_there(headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headway.training.machine.count_cores", lambda: 1)  # of which minutes are counted
    result = headway(
        "plan",
        "--pairs",
        1000,
        "--source-length",
        9,
        "--target-length",
        19,
        "--max-minutes",
        10,
        "--utilisation",
        0.2,
        "--json",
    )
    figures = json.loads(result.out)
    assert (figures["source_tokens"], figures["target_tokens"], figures["preset"]) == (10_000, 20_000, "mini")
    assert figures["mfu"] == 0.2
    assert figures["seconds"] == pytest.approx(600, rel=0.05)  # the minutes, in whole updates
    assert figures["epochs"] == pytest.approx(figures["seconds"] * figures["tokens_per_second"] / 20_000, rel=0.01)


def test_one_of_a_thing_is_singular(headway):
    told = headway("plan", "--pairs", 1, "--max-minutes", 1, "--gpus", 1, "--tflops", 9.5).out
    assert "1 pair of " in told and "as far as 1 minute goes" in told and "1 GPU of 9.5" in told


def test_a_budget_chooses_the_size_too(headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headway.training.machine.count_cores", lambda: 1)  # of which minutes are counted

    def preset(*budget: object) -> str:
        return json.loads(headway("plan", "--pairs", 4_500_000, *budget, "--seconds", 0, "--json").out)["preset"]

    assert preset() == preset("--max-minutes", 1e7) == preset("--max-steps", 50) == "base"
    assert preset("--max-minutes", 5) == preset("--max-epochs", 0.001) == "mini"


def test_two_vocabularies(headway):
    result = headway("plan", "--pairs", 1000, "--vocab-size", 900, "--no-shared", "--from", "tw")
    assert "Vocabulary  900 pieces, and 900 of the source" in result.out
    start = result.out.splitlines()[-1]
    assert "--no-shared" in start and "--from tw --to de" in start and start.endswith("--out runs/tw-de")


def test_the_plan_comes_true_and_its_data_is_used(tmp_path: Path, corpus: Path, headway):
    out = tmp_path / "run"
    quick = ("--max-epochs", 1, "--valid-every", 100, "--checkpoint-every", 3, "--held-out", 5, "--beam", 1)
    result = headway(*plan_command(corpus, "--out", out, *quick, "--json"))
    assert result.code == 0, result.err
    assert f"{out / 'data'} is ready" in result.err
    figures = json.loads(result.out)
    assert figures["measured"] or "give more --seconds" in result.err
    assert figures["tokens_per_second"] > 0 and 0 < figures["mfu"] < 2
    assert {path.name for path in out.iterdir()} <= {"data", "run.lock"}
    prepared = (out / "data" / "prepared.json").stat()

    command = shlex.split(figures["command"])[1:]
    given = [*SMALL, "--train", corpus, "--from", "en", "--to", "de", "--batch-tokens", 512, "--processes", 1, *quick]
    assert command[0] == "train" and sorted(command[1:]) == sorted(map(str, [*given, "--out", out]))
    trained = headway(*command)
    assert trained.code == 0, trained.err
    again = (out / "data" / "prepared.json").stat()
    assert (again.st_ino, again.st_mtime_ns) == (prepared.st_ino, prepared.st_mtime_ns)
    last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
    assert (last["step"], last["tokens"]) == (figures["steps"], figures["target_tokens"])
    facts = json.loads((out / "data" / "prepared.json").read_text())["facts"]
    assert (figures["pairs_read"], figures["pairs"]) == (600, facts["pairs_kept"])
    weights = load_file(out / "best" / "weights.safetensors")
    assert figures["parameters"] == sum(weight.size for weight in weights.values())
    assert figures["checkpoints"] == len(list((out / "checkpoints").iterdir())) == 6  # five, and the last one out of turn


def test_without_out_nothing_is_left_behind(tmp_path: Path, corpus: Path, headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    result = headway(*plan_command(corpus))
    assert result.code == 0, result.err
    told = words(result.out)
    assert "600 pairs read, " in told and "Time here" in told and "--out runs/en-de" in told
    assert "is ready" not in result.err
    assert list(tmp_path.iterdir()) == []


def test_two_processes_measure_together(corpus: Path, headway):
    result = headway(*plan_command(corpus, "--processes", 2, "--json"))
    assert result.code == 0, result.err
    figures = json.loads(result.out)
    assert figures["processes"] == 2 and (figures["measured"] or "give more --seconds" in result.err)


def test_a_large_update_is_measured_by_its_passes(corpus: Path, headway, monkeypatch: pytest.MonkeyPatch):
    measured = []

    def rehearse(trainer: Trainer, seconds: float) -> tuple[float, float]:
        training = trainer.settings.training
        measured.append((training.batch_tokens, training.accumulate, seconds))
        return 1000.0, 0.25

    monkeypatch.setattr(Trainer, "rehearse", rehearse)
    more = ("--batch-tokens", 3000, "--accumulate", 3, "--seconds", 1e-6, "--json")
    figures = json.loads(headway(*plan_command(corpus, *more)).out)
    assert measured == [(1000, 1, 1e-6)]
    assert (figures["batch_tokens"], figures["tokens_per_second"], figures["mfu"]) == (3000, 1000.0, 0.25)
    headway(*plan_command(corpus, "--seconds", 1000))
    assert measured[1:] == [(512, 1, 1000)]


def test_a_machine_too_slow_to_measure_is_estimated(corpus: Path, headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Trainer, "rehearse", lambda trainer, seconds: (0.0, 0.0))
    result = headway(*plan_command(corpus))
    assert result.code == 0, result.err
    assert "give more --seconds" in result.err and "50% of peak, assumed" in words(result.out)


def test_not_measured_when_not_asked(corpus: Path, headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(Trainer, "rehearse")
    figures = json.loads(headway(*plan_command(corpus, "--seconds", 0, "--utilisation", 0.7, "--json")).out)
    assert (figures["measured"], figures["mfu"], figures["memory_measured"]) == (False, 0.7, False)


def test_a_run_that_stands_is_planned_but_not_touched(tmp_path: Path, corpus: Path, run: Path, headway):
    out = tmp_path / "run"
    shutil.copytree(run, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.name != "run.lock"}
    asked = ["plan", *train_command(corpus, out)[1:], "--seconds", "0", "--max-steps", 40]
    result = headway(*asked)
    assert result.code == 0, result.err
    assert f"A run stands in {out}, at update 20" in result.err and "40 updates" in result.out
    for more, told in ((["--dropout", 0.25], "model.dropout was 0.01"), (["--max-length", 30], "data.max_length was 256")):
        refused = headway(*asked, *more)
        assert refused.code == 2 and told in refused.err and not refused.out
    with locked(out):
        refused = headway(*asked)
    assert refused.code == 2 and "A run is in progress" in refused.err
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file() and path.name != "run.lock"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", "nothing to plan for"),
        ("--from en --to de", "--pairs 100000"),
        ("--paper --utilisation 2", "--utilisation is 2"),
        ("--paper --utilisation 0", "--utilisation is 0"),
        ("--paper --tflops -1", "--tflops is -1"),
        ("--paper --gpus 8", "How fast is one of the GPUs?"),
        ("--paper --gpus 0", "--gpus"),
        ("--paper --preset tiny", "The paper has no tiny model"),
        ("--paper --seconds nan", "--seconds is nan"),
        ("--pairs 100 --gpu 8 --droput 0", "Unknown setting --gpu. Did you mean --gpus?"),
        ("--pairs 100 --droput 0", "Unknown setting --droput. Did you mean --dropout?"),
        ("--pairs 100 --dropout 2", "model.dropout"),
        ("--pairs 100 --n-heads 3", "not a multiple of n_heads 3"),
        ("--train x --from en --to de --d-model 100 --n-heads 3", "not a multiple of n_heads 3"),  # before the file is missed
        ("--pairs many", "--pairs"),
        ("--train x --from en --to de --pairs 100", "for a corpus that is not there"),
        ("--train x --from en --to de --utilisation 0.4", "This machine is measured"),
        ("--train x", "--from en --to de"),
    ],
)
def test_wrong_requests(headway, arguments: str, told: str):
    result = headway("plan", *arguments.split())
    assert result.code == 2, result.err
    assert told in words(result.err)
    assert not result.out and "Traceback" not in result.err


def test_a_corpus_that_is_missing(tmp_path: Path, headway):
    result = headway("plan", "--train", tmp_path / "train", "--from", "en", "--to", "de")
    assert result.code == 3 and "There is no file" in result.err
    assert not result.out and "Traceback" not in result.err
