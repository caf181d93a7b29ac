"""`headway train` from end to end, and everything that a user may get wrong."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import SMALL, train_command, write_corpus
from copy_reverse import make_pairs

from headway.bundle import read_bundle
from headway.training.state import Checkpoint, save_checkpoint
from headway.training.validation import TranslationValidator, Validation


def metrics(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def weights(run: Path, name: str = "last") -> bytes:
    return (run / name / "weights.safetensors").read_bytes()


def start(arguments: list[object]) -> subprocess.Popen:
    command = [sys.executable, "-m", "headway", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path: Path, process: subprocess.Popen, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.05)


WHOLE = ("--max-steps", 60, "--valid-every", 10, "--sampling", 0.1, "--metric", "loss")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """A run that nobody interrupted."""
    out = tmp_path_factory.mktemp("whole") / "run"
    process = start(train_command(corpus, out, *WHOLE))
    _, said = process.communicate()
    assert process.returncode == 0, said
    return out


def test_a_model_without_tags_refuses_them(run: Path, tmp_path: Path, headway):
    text = tmp_path / "text"
    text.write_text("copy ash\n")
    wrong = headway("translate", run / "best", text, "--source-prefix", "<news> ")
    assert wrong.code == 2 and "has not learned the tag of the prefix '<news> '" in wrong.err and "none" in wrong.err
    assert headway("translate", run / "best", text, "--source-prefix", "copy ").code == 0


def test_a_run_leaves_what_it_promises(run: Path):
    names = {path.name for path in run.iterdir()}
    assert {"config.yaml", "metrics.jsonl", "checkpoints", "best", "last", "test.txt", "curves.png"} <= names
    assert "run.owner" not in names
    reports = metrics(run)
    assert [report["step"] for report in reports] == [5, 10, 15, 20]
    wanted = {"step", "epoch", "loss", "learning_rate", "tokens", "tokens_per_second", "seconds", "valid_loss", "valid_bleu"}
    assert wanted <= reports[0].keys()
    assert reports[-1]["loss"] < reports[0]["loss"]
    assert [path.name for path in sorted((run / "checkpoints").iterdir())] == [f"step-{n:08d}" for n in (5, 10, 15, 20)]
    assert (run / "test.txt").read_text().startswith("BLEU ")
    assert read_bundle(run / "best").manifest.provenance.metrics.keys() >= {"valid_loss", "test_bleu", "test_chrf", "test_ter"}


def test_the_settings_are_written_complete(run: Path):
    written = yaml.safe_load((run / "config.yaml").read_text())
    assert written["data"]["from"] == "en"
    assert (written["model"]["d_k"], written["model"]["dropout"], written["training"]["warmup"]) == (16, 0.01, 4)  # read once
    unsaid = {f"{section}.{name}" for section, values in written.items() for name, value in values.items() if value is None}
    optional = {
        "model.patch_size",
        "tokenizer.vocabulary",
        "data.hidden",
        "data.image_size",
        "data.valid",
        "data.test",
        "data.held_out",
        "training.init",
        "training.max_epochs",
        "training.max_minutes",
        "decoding.batch_tokens",
    }
    assert unsaid == optional


def test_a_runs_own_settings_file_goes_on_with_it(tmp_path: Path, run: Path, headway):
    out = tmp_path / "run"
    shutil.copytree(run, out)
    result = headway("train", "--config", out / "config.yaml", "--out", out)
    assert result.code == 0, result.err
    assert "This run is complete" in result.err


def test_the_same_seed_gives_the_same_bits_and_another_one_others(tmp_path: Path, corpus: Path, run: Path, headway):
    assert headway(*train_command(corpus, tmp_path / "again")).code == 0
    assert weights(tmp_path / "again") == weights(run)
    assert headway(*train_command(corpus, tmp_path / "other", "--max-steps", 20, "--valid-every", 5, "--seed", 2)).code == 0
    assert weights(tmp_path / "other") != weights(run)


def test_the_gradient_is_of_the_mean_over_all_tokens_whatever_the_passes(tmp_path: Path, headway):
    """All pairs in one update, in one pass or in two: the first running mean is a share of the gradient."""
    from safetensors.numpy import load_file

    stem = write_corpus(tmp_path / "train", make_pairs(60, longest=12))
    moments, tokens = [], 100_000
    for passes in (1, 2):
        out = tmp_path / str(passes)
        more = ("--max-steps", 1, "--batch-tokens", 3 * tokens // 2, "--accumulate", passes, "--dropout", 0, "--clip", 0)
        assert headway(*train_command(stem, out, *more)).code == 0
        tokens = metrics(out)[-1]["tokens"]  # all there are; then two passes of at most three quarters of them
        moments.append(load_file(out / "checkpoints" / "step-00000001" / "optimizer.safetensors"))
    assert 1000 < tokens == metrics(tmp_path / "1")[-1]["tokens"]
    for name, moment in moments[0].items():
        np.testing.assert_allclose(moment, moments[1][name], atol=1e-6, rtol=1e-3)


@pytest.mark.parametrize(
    ("signal_number", "after"), [(signal.SIGINT, 10), pytest.param(signal.SIGTERM, 50, marks=pytest.mark.soak)]
)
def test_interrupted_and_started_again_it_ends_as_without_the_interruption(
    tmp_path: Path, corpus: Path, whole: Path, signal_number: int, after: int
):
    out = tmp_path / "broken"
    command = train_command(corpus, out, *WHOLE)
    process = start(command)
    wait_for(out / "checkpoints" / f"step-{after:08d}", process)
    process.send_signal(signal_number)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert "everything is saved" in said
    assert f" {' '.join(map(str, command))}\n" in said.partition("To go on: ")[2]
    assert "Traceback" not in said
    assert after <= metrics(out)[-1]["step"] < 60
    again = start(command)
    _, said = again.communicate()
    assert again.returncode == 0, said
    assert "Going on from update" in said
    for name in ("best", "last"):
        assert weights(out, name) == weights(whole, name)
    assert (out / "test.txt").read_text() == (whole / "test.txt").read_text()
    assert [report["step"] for report in metrics(out)] == [report["step"] for report in metrics(whole)]


def test_a_signal_after_the_last_update_is_heard(tmp_path: Path, corpus: Path, headway, monkeypatch: pytest.MonkeyPatch):
    def save_and_signal(directory: Path, checkpoint: Checkpoint, keep: int) -> None:
        save_checkpoint(directory, checkpoint, keep)
        if checkpoint.state.step == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    command = train_command(corpus, tmp_path / "run", "--max-steps", 2, "--processes", 1)
    with monkeypatch.context() as patched:
        patched.setattr("headway.training.loop.save_checkpoint", save_and_signal)
        stopped = headway(*command)
    assert stopped.code == 130 and "Stopped at update 2; everything is saved" in stopped.err, stopped.err
    assert not (tmp_path / "run" / "test.txt").exists()
    assert headway(*command).code == 0 and (tmp_path / "run" / "test.txt").exists()


def test_a_size_that_there_is_no_time_for(tmp_path: Path, corpus: Path, headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headway.training.choices.SIZES", {"small": (100, 1e9), "tiny": (0, 0)})
    out = tmp_path / "run"
    done = headway("train", "--train", corpus, "--from", "en", "--to", "de", "--d-model", 16, "--n-heads", 2, "--n-layers", 1,
                   "--max-epochs", 0.1, "--held-out", 12, "--processes", 1, "--out", out)  # fmt: skip
    assert done.code == 0, done.err
    assert "The size is tiny: for small this training is too short. A run keeps its size" in done.err
    assert yaml.safe_load((out / "config.yaml").read_text())["model"]["preset"] == "tiny"


def test_a_finished_run_says_so_and_goes_on_with_a_larger_budget(tmp_path: Path, corpus: Path, run: Path, headway):
    out = tmp_path / "run"
    shutil.copytree(run, out)
    done = headway(*train_command(corpus, out))
    assert done.code == 0
    assert "This run is complete" in done.err and "--max-steps" in done.err
    less = headway(*train_command(corpus, out, "--max-steps", 5))
    assert less.code == 2 and "has made 20 updates already, more than --max-steps 5" in less.err
    assert (out / "config.yaml").read_text() == (run / "config.yaml").read_text()
    more = headway(*train_command(corpus, out, "--max-steps", 60, "--valid-every", 5))
    assert more.code == 0, more.err
    assert "Going on from update 20" in more.err
    assert metrics(out)[-1]["step"] == 60
    less = headway(*train_command(corpus, out, "--max-steps", 60, "--max-epochs", 2))
    assert less.code == 2 and re.search(r"has made 2\.\d+ epochs already, more than --max-epochs 2\.", less.err)
    before, after = (yaml.safe_load((one / "config.yaml").read_text()) for one in (run, out))
    assert after["model"] == before["model"]  # which a budget of 60 would not have chosen


def rates(run: Path) -> dict[int, float]:
    return {report["step"]: report["learning_rate"] for report in metrics(run)}


def test_of_minutes_and_updates_the_smaller_counts(tmp_path: Path, corpus: Path, headway):
    """From the first update on: warm-up and decay are those of the updates, though minutes are still being measured."""
    for out, more in ((tmp_path / "both", ("--max-minutes", 60)), (tmp_path / "updates", ())):
        assert headway(*train_command(corpus, out, *more, "--max-steps", 20)).code == 0
        assert metrics(out)[-1]["step"] == 20
    both, updates = rates(tmp_path / "both"), rates(tmp_path / "updates")
    assert {step: both[step] for step in (10, 20)} == {step: updates[step] for step in (10, 20)}


def test_more_minutes_stretch_the_schedule_and_fewer_are_refused(tmp_path: Path, corpus: Path, headway):
    """While more are being measured, the rate is that of as many updates a minute as there were: it does not begin anew."""
    command = [*train_command(corpus, tmp_path / "run", "--warmup", 4, "--learning-rate", 0.01), "--metric", "loss"]
    assert headway(*command, "--max-steps", 20).code == 0
    newest = sorted((tmp_path / "run" / "checkpoints").iterdir())[-1] / "state.json"
    newest.write_text(json.dumps({**json.loads(newest.read_text()), "seconds": 60.0}))
    less = headway(*command, "--max-minutes", 0.9)
    assert less.code == 2 and "has made 1 minute already, more than --max-minutes 0.9" in less.err
    more = headway(*command, "--max-minutes", 1.05)
    assert more.code == 0, more.err
    assert metrics(tmp_path / "run")[-1]["step"] > 30
    assert rates(tmp_path / "run")[30] < 0.001


def test_minutes_are_turned_into_updates_once(tmp_path: Path, corpus: Path):
    out = tmp_path / "run"
    command = train_command(corpus, out, "--max-minutes", 0.1, "--patience", 0)
    process = start(command)
    wait_for(out / "best", process)  # the first validation comes after the measuring
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert "0.1 minutes are" in said
    newest = sorted((out / "checkpoints").iterdir())[-1]
    budget = json.loads((newest / "state.json").read_text())["budget"]
    again = start(command)
    _, said = again.communicate()
    assert again.returncode == 0, said
    newest = sorted((out / "checkpoints").iterdir())[-1]
    state = json.loads((newest / "state.json").read_text())
    assert state["budget"] == budget and state["step"] == budget["total"]


def test_a_loss_that_falls_is_worth_waiting_for(tmp_path: Path, corpus: Path, headway, monkeypatch: pytest.MonkeyPatch):
    """A model learns for a while before its translations show it: here for six validations, and then no more."""
    losses = iter([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])

    def validate(self: TranslationValidator, model: object) -> Validation:
        loss = next(losses, 1.0)
        return Validation(loss, {"bleu": 5.0 if loss == 6.0 else 4.0, "chrf": 0.0})

    monkeypatch.setattr(TranslationValidator, "validate", validate)
    more = ("--max-steps", 50, "--valid-every", 1, "--patience", 2, "--metric", "bleu", "--average", 1)
    result = headway(*train_command(corpus, tmp_path / "run", *more))
    assert result.code == 0 and "Stopped early: no better validation bleu or loss for 2 validations" in result.err
    assert metrics(tmp_path / "run")[-1]["step"] == 8


def test_patience_stops_a_run_that_gets_no_better(tmp_path: Path, corpus: Path, headway):
    more = ("--max-steps", 50, "--valid-every", 1, "--patience", 2, "--metric", "bleu", "--learning-rate", 1e-9)
    result = headway(*train_command(corpus, tmp_path / "run", *more))
    assert result.code == 0
    assert "Stopped early: no better validation bleu or loss for 2 validations" in result.err
    again = headway(*train_command(corpus, tmp_path / "run", *more))
    assert "This run is complete; to train longer, give it a larger --patience, or a larger budget" in again.err
    assert metrics(tmp_path / "run")[-1]["step"] == 3


@pytest.mark.parametrize(
    "choice", ["--kind unigram", "--no-shared", "--norm post", "--schedule cosine", "--schedule paper --warmup 4"]
)
def test_other_choices_train_too(tmp_path: Path, corpus: Path, headway, choice: str):
    result = headway(*train_command(corpus, tmp_path / "run", "--max-steps", 3, *choice.split()))
    assert result.code == 0, result.err


def test_a_settings_file_and_options_that_win(tmp_path: Path, corpus: Path, headway):
    config = tmp_path / "settings.yaml"
    config.write_text(f"data: {{train: ['{corpus}'], from: en, to: de}}\ntraining: {{max_steps: 50, batch_tokens: 512}}\n")
    result = headway("train", "--config", config, "--out", tmp_path / "run", "--max-steps", 2, *SMALL)
    assert result.code == 0, result.err
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["training"]["max_steps"] == 2
    config.write_text("training: {max_step: 50}\n")
    wrong = headway("train", "--config", config, "--out", tmp_path / "run")
    assert wrong.code == 2 and f"Did you mean training.max_steps?\nLook into {config}, and at " in wrong.err


# What goes wrong


def test_unknown_settings_are_named_all_at_once(tmp_path: Path, corpus: Path, headway):
    result = headway("train", "--trian", corpus, "--droput", 0.1, "--from", "en", "--to", "de", "--out", tmp_path / "run")
    assert result.code == 2
    assert "Unknown setting --trian. Did you mean --train?" in result.err
    assert "Unknown setting --droput. Did you mean --dropout?" in result.err


def test_wrong_values_are_named_all_at_once(tmp_path: Path, corpus: Path, headway):
    result = headway(*train_command(corpus, tmp_path / "run", "--dropout", 2, "--schedule", "noam"))
    assert result.code == 2
    assert "model.dropout" in result.err and "training.schedule" in result.err
    assert "Traceback" not in result.err


def test_nothing_given(tmp_path: Path, headway):
    result = headway("train", "--out", tmp_path / "run")
    assert result.code == 2
    assert "--train, --from, --to" in result.err


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda stem: stem.with_suffix(".de").unlink(), ["no file", "train.de"]),
        (lambda stem: stem.with_suffix(".de").write_text(""), ["train.de is empty"]),
        (lambda stem: stem.with_suffix(".de").write_text("a\nb\n"), ["train.en has 30 lines", "train.de has 2"]),
        (lambda stem: stem.with_suffix(".de").write_bytes(b"gut\n\xfc\n"), ["train.de is not UTF-8", "line 2", "0xfc"]),
        (lambda stem: shutil.copy(stem.with_suffix(".en"), stem.with_suffix(".de")), ["have the same content"]),
        (lambda stem: stem.with_suffix(".de").write_text("\n" * 30), ["No pair is left", "30 blank"]),
    ],
)
def test_wrong_data(tmp_path: Path, headway, damage, told):
    stem = write_corpus(tmp_path / "train", make_pairs(30))
    damage(stem)
    result = headway(*train_command(stem, tmp_path / "runs" / "run"))
    assert result.code == 3, result.err
    assert all(part in result.err for part in told), result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "runs").exists()  # nothing came of it


def test_a_vocabulary_larger_than_the_corpus_allows_is_shrunk(tmp_path: Path, headway):
    stem = write_corpus(tmp_path / "train", make_pairs(60))
    result = headway(*train_command(stem, tmp_path / "run", "--max-steps", 2, "--vocab-size", 9000))
    assert result.code == 0, result.err
    assert "shrunk from 9,000" in result.err


def test_out_that_holds_another_run(tmp_path: Path, corpus: Path, run: Path, headway):
    out = tmp_path / "run"
    shutil.copytree(run, out)
    before = weights(out)
    result = headway(*train_command(corpus, out, "--max-steps", 20, "--dropout", 0.25, "--label-smoothing", 0.2))
    assert result.code == 2
    assert "model.dropout was 0.01, now 0.25" in result.err
    assert "training.label_smoothing was 0.1, now 0.2" in result.err
    assert "new --out" in result.err
    other = write_corpus(tmp_path / "train", make_pairs(60))
    result = headway(*train_command(other, out))
    assert result.code == 2
    assert "data.train was" in result.err
    assert weights(out) == before


def test_a_corpus_that_changed_under_a_run(tmp_path: Path, headway):
    stem = write_corpus(tmp_path / "train", make_pairs(100))
    command = train_command(stem, tmp_path / "run", "--max-steps", 3)
    assert headway(*command).code == 0
    write_corpus(stem, make_pairs(100, seed=2))
    result = headway(*command)
    assert result.code == 2
    assert "other data" in result.err and "train.en changed" in result.err


def test_out_that_holds_something_else(tmp_path: Path, corpus: Path, headway):
    (tmp_path / "thesis.doc").write_text("precious")
    result = headway(*train_command(corpus, tmp_path))
    assert result.code == 2
    assert "thesis.doc" in result.err
    (tmp_path / "file").write_text("x")
    assert headway(*train_command(corpus, tmp_path / "file")).code == 2


def test_two_runs_at_once_are_refused(tmp_path: Path, corpus: Path, headway):
    out = tmp_path / "run"
    process = start(train_command(corpus, out, "--max-steps", 100_000, "--valid-every", 1000))
    try:
        wait_for(out / "run.owner", process)
        result = headway(*train_command(corpus, out))
    finally:
        process.kill()
        process.wait()
    assert result.code == 2
    assert "A run is in progress" in result.err and f"process {process.pid} on" in result.err
    assert headway(*train_command(corpus, out, "--max-steps", 2)).code == 0  # the lock went with the process


def test_a_loss_that_explodes_again_and_again_stops_the_run(tmp_path: Path, corpus: Path, headway):
    more = ("--max-steps", 100, "--valid-every", 1, "--learning-rate", 3e6, "--clip", 0, "--warmup", 1000, "--patience", 0)
    result = headway(*train_command(corpus, tmp_path / "run", *more))
    assert result.code == 1
    assert "The warm-up of 1,000 updates is as long as the training or longer" in result.err and "10% of its peak" in result.err
    assert result.err.count("with half the learning rate from there on") == 2
    assert "for the third time" in result.err and "learning rate that is too high" in result.err
    kept = {f"The last good state is {path}." for path in (tmp_path / "run" / "checkpoints").iterdir()}
    assert any(told in result.err for told in kept) or "Nothing good was saved yet." in result.err
    assert read_bundle(tmp_path / "run" / "last")


def test_a_full_disk_while_saving_leaves_the_last_good_state(tmp_path: Path, corpus: Path, run: Path, headway):
    out = tmp_path / "run"
    shutil.copytree(run, out)
    before = weights(out)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        result = headway(*train_command(corpus, out, "--max-steps", 30, "--valid-every", 5))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.code == 1
    assert "disk is full" in result.err
    assert "Traceback" not in result.err
    assert weights(out) == before
    assert [path.name for path in sorted((out / "checkpoints").iterdir())][-1] == "step-00000020"
    result = headway(*train_command(corpus, out, "--max-steps", 30, "--valid-every", 5))
    assert result.code == 0, result.err
    assert metrics(out)[-1]["step"] == 30


def test_a_place_that_cannot_be_written(tmp_path: Path, corpus: Path, headway):
    (tmp_path / "file").write_text("x")
    result = headway(*train_command(corpus, tmp_path / "file" / "run"))
    assert result.code == 1 and "cannot be written" in result.err and "Traceback" not in result.err


def test_a_weight_of_a_held_out_part_is_refused(tmp_path: Path, corpus: Path, headway):
    result = headway(*train_command(corpus, tmp_path / "run", "--valid", f"{corpus}:0.5"))
    assert result.code == 2 and "Only --train takes a weight" in result.err


def test_debug_shows_the_traceback(tmp_path: Path, headway):
    from headway.errors import RequestError

    with pytest.raises(RequestError):
        headway("train", "--out", tmp_path / "run", "--debug")
