"""Section 6.1: one model whose weights are the mean of several, of one run's last checkpoints or of models of one shape."""

from pathlib import Path

from headway.amounts import amount
from headway.bundle import Manifest, Provenance, read_bundle, write_bundle
from headway.errors import RequestError
from headway.models.weights import average_weights
from headway.training.state import list_checkpoints, load_judged_weights


def average_run(run: Path, last: int, out: Path) -> int:
    """Average a run's last checkpoints, of each what was its model then. Returns how many there were."""
    checkpoints = list_checkpoints(run / "checkpoints")[-last:]
    if len(checkpoints) < 2:
        raise RequestError(f"{run} has {amount(len(checkpoints), 'checkpoint')}: nothing to average.", "Let it train longer.")
    bundle = read_bundle(run / "last")
    weights = average_weights([load_judged_weights(path) for path in checkpoints])
    write_bundle(out, _untested(bundle.manifest), weights, bundle.tokenizers)
    return len(checkpoints)


def average_models(models: list[Path], out: Path) -> int:
    """Average several bundles, which must have one architecture and one vocabulary."""
    if len(models) < 2:
        raise RequestError("One model has nothing to be averaged with.", "Give several models, or a run.")
    bundles = [read_bundle(model) for model in models]
    first = bundles[0]
    for other in bundles[1:]:
        differing = [
            what
            for what, same in (
                ("architecture", other.manifest.architecture == first.manifest.architecture),
                ("vocabulary", other.tokenizer_sums() == first.tokenizer_sums()),
            )
            if not same
        ]
        if differing:
            raise RequestError(
                f"{first.directory} and {other.directory} differ in their {' and '.join(differing)}.",
                "Only models of one shape and one vocabulary can be averaged.",
            )
    write_bundle(out, _untested(first.manifest), average_weights([bundle.weights() for bundle in bundles]), first.tokenizers)
    return len(bundles)


def _untested(manifest: Manifest) -> Manifest:
    """The facts of one of the models, without its figures: nobody has measured the average yet."""
    provenance: Provenance = manifest.provenance.model_copy(update={"metrics": {}})
    return manifest.model_copy(update={"provenance": provenance, "ctranslate2": None})
