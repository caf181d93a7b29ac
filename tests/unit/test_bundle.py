"""A bundle that is read while it is replaced is one of the two, and whole."""

import shutil
import threading
from pathlib import Path

from headway.bundle import read_bundle, write_bundle


def test_reading_while_a_run_writes(tmp_path: Path, run: Path):
    place = shutil.copytree(run / "best", tmp_path / "best")
    bundle = read_bundle(place)
    weights, stop = bundle.weights(), threading.Event()

    def write() -> None:
        step = 0
        while not stop.is_set():
            step += 1
            provenance = bundle.manifest.provenance.model_copy(update={"step": step})
            changed = {name: tensor + step for name, tensor in weights.items()}
            write_bundle(place, bundle.manifest.model_copy(update={"provenance": provenance}), changed, bundle.tokenizers)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        steps: set[int] = set()
        while len(steps) < 5:  # each reading meets a whole bundle, however the two take turns
            steps.add(read_bundle(place).manifest.provenance.step)
    finally:
        stop.set()
        writer.join()


def test_a_translator_keeps_its_manifest_on_disk(run: Path):
    manifest = read_bundle(run / "best").manifest
    assert manifest.tokenizer.vocab_size == 300
    assert manifest.architecture.d_model == 32
    assert manifest.provenance.settings["training"]["max_steps"] == 20
    assert set(manifest.files) == {"README.md", "tokenizer/shared.model", "weights.safetensors"}
