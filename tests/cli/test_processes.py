"""Several processes, one run: killed and started again, watched, ended together; the same update whoever computes it."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import train_command
from kills import children, digest, kill_at_random, newest_step, run_to_the_end, start, wait_until_gone
from safetensors.numpy import load_file

NO_NOISE = ("--max-steps", 3, "--valid-every", 3, "--dropout", 0, "--metric", "loss")


def moments(run: Path) -> dict[str, np.ndarray]:
    return load_file(run / "checkpoints" / "step-00000003" / "optimizer.safetensors")


def reports(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_killed_anywhere_and_started_again_it_ends_with_the_same_bits(tmp_path: Path, corpus: Path):
    whole, broken, processes = tmp_path / "whole", tmp_path / "broken", 2
    run_to_the_end(corpus, whole, "--processes", processes)
    moments = random.Random(processes)
    kills = 0
    while kills < 2 or newest_step(broken) == 0:
        kill_at_random(corpus, broken, moments, "--processes", processes)
        kills += 1
    begun = newest_step(broken)
    assert f"Going on from update {begun:,}" in run_to_the_end(corpus, broken, "--processes", processes)
    assert digest(broken) == digest(whole)
    assert (broken / "test.txt").read_text() == (whole / "test.txt").read_text()
    assert [(report["step"], report["loss"]) for report in reports(broken)] == [
        (report["step"], report["loss"]) for report in reports(whole)
    ]


def test_the_number_of_processes_changes_no_update(tmp_path: Path, corpus: Path, headway):
    found = []
    for processes in (1, 2, 3):
        out = tmp_path / str(processes)
        assert headway(*train_command(corpus, out, *NO_NOISE, "--accumulate", 2, "--processes", processes)).code == 0
        found.append((moments(out), reports(out)[-1]))
    for other, report in found[1:]:
        assert report["tokens"] == found[0][1]["tokens"]
        assert report["valid_loss"] == pytest.approx(found[0][1]["valid_loss"], abs=2e-4)
        for name, moment in found[0][0].items():
            np.testing.assert_allclose(other[name], moment, rtol=2e-3, atol=1e-5)


def test_a_model_in_shards_learns_the_same(tmp_path: Path, corpus: Path, headway):
    """FSDP2 against replicas: equal losses, moments and averages; and either goes on with the other's checkpoint."""
    common = (*NO_NOISE, "--ema", 0.5, "--processes", 2, "--optimizer", "adam")
    for name, more in (("replicas", ()), ("shards", ("--shard",))):
        result = headway(*train_command(corpus, tmp_path / name, *common, *more))
        assert result.code == 0, result.err
    one, other = (reports(tmp_path / name)[-1] for name in ("replicas", "shards"))
    assert one["loss"] == pytest.approx(other["loss"], abs=1e-4)
    assert one["valid_loss"] == pytest.approx(other["valid_loss"], abs=2e-4)
    for name, moment in moments(tmp_path / "replicas").items():
        np.testing.assert_allclose(moments(tmp_path / "shards")[name], moment, rtol=2e-3, atol=1e-5)
    average = load_file(tmp_path / "shards" / "checkpoints" / "step-00000003" / "average.safetensors")
    for name, mean in load_file(tmp_path / "replicas" / "last" / "weights.safetensors").items():
        if not name.endswith("attention.input.bias"):  # the keys' has no gradient but rounding, which Adam makes large
            np.testing.assert_allclose(average[name], mean, rtol=0, atol=1e-6)
    for name, more in (("replicas", ("--shard",)), ("shards", ())):
        result = headway(*train_command(corpus, tmp_path / name, *common, "--max-steps", 6, *more))
        assert result.code == 0 and "Going on from update 3" in result.err, result.err
    assert reports(tmp_path / "replicas")[-1]["loss"] == pytest.approx(reports(tmp_path / "shards")[-1]["loss"], abs=1e-4)


def torchrun(*arguments: object) -> subprocess.CompletedProcess:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    return subprocess.run([*launcher, *map(str, arguments)], capture_output=True, text=True, env=environment)


def test_torchrun_just_works(tmp_path: Path, corpus: Path, headway):
    result = torchrun("-m", "headway", *train_command(corpus, tmp_path / "torchrun"))
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("vocabulary: ") == 1  # only one of them speaks
    assert headway(*train_command(corpus, tmp_path / "own"), "--processes", 2).code == 0
    assert digest(tmp_path / "torchrun") == digest(tmp_path / "own")


@pytest.mark.parametrize("aborts", [False, True], ids=["the other stops by itself", "the other aborts"])
def test_a_worker_that_dies_ends_the_run_with_its_error_and_the_state_is_kept(tmp_path: Path, corpus: Path, aborts: bool):
    """However the second worker takes it that the third is gone, the third is named."""
    out = tmp_path / "run"
    process = start(corpus, out, "--processes", 3, "--max-steps", 100_000)
    while newest_step(out) < 5 and process.poll() is None:
        time.sleep(0.01)
    workers = children(process.pid)
    os.kill(max(workers), signal.SIGKILL)
    if aborts:  # as gloo does now and then
        os.kill(min(workers), signal.SIGABRT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "Process 3 of 3 stopped: it was ended by SIGKILL" in said and "Traceback" not in said
    wait_until_gone(workers)
    begun = newest_step(out)
    assert f"Going on from update {begun:,}" in run_to_the_end(corpus, out, "--processes", 3, "--max-steps", begun + 1)


def test_workers_are_interrupted_with_the_first_process(tmp_path: Path, corpus: Path):
    """Ctrl-C reaches every process of a terminal."""
    out = tmp_path / "run"
    process = start(corpus, out, "--processes", 2, "--max-steps", 100_000)
    while newest_step(out) < 5 and process.poll() is None:
        time.sleep(0.01)
    workers = children(process.pid)
    for pid in (*workers, process.pid):
        os.kill(pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "everything is saved" in said and "Traceback" not in said
    wait_until_gone(workers)


BROKEN = """
import itertools, os, torch
import headway.training.loss as loss
from headway.cli import main

compute, passes = loss.batch_loss, itertools.count(1)

def batch_loss(model, batch, smoothing):
    if os.environ["RANK"] == "1" and model.training:
        {what}
    return compute(model, batch, smoothing)

loss.batch_loss = batch_loss
main()
"""


def write_broken(directory: Path, what: str) -> Path:
    """`headway` whose second process does `what` before each pass."""
    path = directory / "broken.py"
    path.write_text(BROKEN.format(what=what))
    return path


def test_memory_that_runs_out_in_one_process_splits_the_passes_of_all(tmp_path: Path, corpus: Path, headway):
    hungry = write_broken(tmp_path, "if batch.inputs[0].size > 100: raise torch.OutOfMemoryError('not enough memory')")
    result = torchrun(hungry, *train_command(corpus, tmp_path / "hungry", *NO_NOISE))
    assert result.returncode == 0, result.stderr
    assert re.search(r"update +1  memory ran out: from here on each pass is computed in 2 parts", result.stderr)
    assert headway(*train_command(corpus, tmp_path / "fed", *NO_NOISE, "--processes", 2)).code == 0
    state = json.loads((tmp_path / "hungry" / "checkpoints" / "step-00000003" / "state.json").read_text())
    assert state["splits"] > 1
    for name, moment in moments(tmp_path / "fed").items():
        np.testing.assert_allclose(moments(tmp_path / "hungry")[name], moment, rtol=2e-3, atol=1e-5)


def test_a_loss_that_explodes_in_one_process_sets_all_of_them_back(tmp_path: Path, corpus: Path):
    exploding = write_broken(tmp_path, "if next(passes) == 8: return compute(model, batch, smoothing) * float('nan')")
    more = ("--max-steps", 10, "--valid-every", 5, "--metric", "loss")
    result = torchrun(exploding, *train_command(corpus, tmp_path / "run", *more))
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("the loss is nan: back to update 5, with half the learning rate") == 1
    assert reports(tmp_path / "run")[-1]["step"] == 10


def test_everything_for_models_that_do_not_fit_goes_together(tmp_path: Path, corpus: Path, headway):
    """Shards, layers computed again, bf16: near what replicas find in fp32."""
    found = []
    for name, more in (("plain", ()), ("thrifty", ("--shard", "--recompute", "--precision", "bf16"))):
        adam = ("--processes", 2, "--optimizer", "adam")
        result = headway(*train_command(corpus, tmp_path / name, *NO_NOISE, *adam, *more))
        assert result.code == 0, result.err
        found.append(reports(tmp_path / name)[-1]["valid_loss"])
    assert found[0] != found[1] == pytest.approx(found[0], abs=0.05)


def test_a_division_that_cannot_be_is_refused(tmp_path: Path, corpus: Path, headway):
    alone = headway(*train_command(corpus, tmp_path / "run", "--shard", "--processes", 1))
    assert alone.code == 2 and "nobody to share a model with" in alone.err
    muon = headway(*train_command(corpus, tmp_path / "run", "--shard", "--processes", 2, "--optimizer", "muon"))
    assert muon.code == 2 and "Muon needs whole matrices" in muon.err
    none = headway(*train_command(corpus, tmp_path / "run", "--processes", 0))
    assert none.code == 2 and "training.processes (--processes) must be a whole number from 1, or auto, and is '0'" in none.err


def test_a_damaged_checkpoint_is_named_and_the_newest_whole_one_taken(tmp_path: Path, corpus: Path, run: Path, headway):
    out = tmp_path / "run"
    shutil.copytree(run, out)
    for number, name in ((20, "weights.safetensors"), (15, "optimizer.safetensors")):
        path = out / "checkpoints" / f"step-{number:08d}" / name
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    result = headway(*train_command(corpus, out))
    assert result.code == 0, result.err
    for number in (20, 15):
        assert f"step-{number:08d} is damaged" in result.err
    assert "Going on from update 10" in result.err
    assert digest(out) == digest(run)
    for path in out.glob("checkpoints/*/state.json"):
        path.write_text("{")
    result = headway(*train_command(corpus, out))
    assert result.code == 1 and "no whole one" in result.err and "Traceback" not in result.err
