"""Directories of runs as they stand when training has ended, for those who only read them: without weights."""

from collections.abc import Iterable
from pathlib import Path

from small_models import PLAIN

from headway.architectures import Architecture
from headway.bundle import MANIFEST, Manifest, Provenance
from headway.config import Settings
from headway.reports.runs.tested import Tested, write_tested


def write_ended_run(
    directory: Path, settings: Settings, tested: Iterable[tuple[str, str]] = (("ivy", "yew"),), valid_chrf: float = 50.0
) -> None:
    """`tested` are references and their translations."""
    metrics = {"valid_loss": 2.0, "valid_chrf": valid_chrf, "test_bleu": 1.0, "test_chrf": 20.0}
    shape = Architecture(**PLAIN, source_vocab=300, target_vocab=300)
    (directory / "best").mkdir(parents=True, exist_ok=True)
    manifest = Manifest(architecture=shape, provenance=Provenance(metrics=metrics))
    (directory / "best" / MANIFEST).write_text(manifest.model_dump_json(), encoding="utf-8")
    (directory / "config.yaml").write_text(settings.to_yaml(), encoding="utf-8")
    write_tested(directory / "test.jsonl", [Tested("oak", *pair) for pair in tested])
