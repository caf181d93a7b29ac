"""Table 3 in proportion to the model at hand."""

import pytest

from headway.config import build_settings
from headway.experiments.table3 import list_variants
from headway.experiments.variants import vary
from headway.models.presets import build_architecture
from headway.training.forecast import count_weights


def shapes(**model):
    settings = build_settings({"model": model})
    found = {}
    for variant in list_variants(settings):
        changed = vary(settings, variant)
        found[variant.name] = build_architecture(changed.model, source_vocab=41_000, target_vocab=41_000, shared=True)
    return found


def test_of_base_they_are_the_papers_rows():
    found = shapes(preset="base")
    rows = ["base", "h 1", "h 4", "h 16", "h 32", "d_k 16", "d_k 32", "N 2", "N 4", "N 8", "d_model 256", "d_model 1024"]
    rows += [
        "d_ff 1024",
        "d_ff 4096",
        "dropout 0",
        "dropout 0.2",
        "label smoothing 0",
        "label smoothing 0.2",
        "learned positions",
    ]
    assert list(found) == rows
    millions = {name: round(count_weights(shape) / 1e6) for name, shape in found.items()}
    paper = {"base": 65, "d_k 16": 58, "d_k 32": 60, "N 2": 36, "N 4": 50, "N 8": 80, "d_model 256": 28, "d_model 1024": 168}
    assert millions | paper | {"d_ff 1024": 53, "d_ff 4096": 90} == millions
    assert found["h 32"].d_k == found["h 32"].d_v == 16 and found["d_k 16"].d_v == 64
    assert found["learned positions"].positions == "learned" and found["dropout 0.2"].dropout == 0.2


def test_of_a_small_model_they_are_smaller_and_none_is_there_twice():
    assert [name for name in shapes(preset="tiny") if name[0] in "hN"] == ["h 1", "h 2", "h 8", "h 16", "N 1", "N 3", "N 5"]
    one_head = shapes(preset="tiny", n_heads=1, n_layers=1)
    assert [name for name in one_head if name[0] in "hN"] == ["h 2", "h 4", "N 2"]


@pytest.mark.parametrize("preset", ["tiny", "small", "base", "big"])
def test_each_changes_something(preset):
    found = list(shapes(preset=preset).items())
    assert all(shape != found[0][1] for name, shape in found[1:] if "smoothing" not in name)
