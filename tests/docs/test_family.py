"""docs/family.md does what it says: taken from top to bottom, its Python prints what stands below it, and its commands run."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Result
from docs.pages import DOCS, Block, read_blocks, read_commands, read_steps
from marian_models import write_release
from published import write_marian

from headway.imports import download

pytest.importorskip("transformers")

PAGE = DOCS / "family.md"
TRAINED = {"filler", "generator", "viewer"}  # what they say depends on a training
COUNTED = "copied"  # lines of this code


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory but for what comes from elsewhere: a release of OPUS-MT, and a Hub that has it in the other form."""
    monkeypatch.chdir(tmp_path)
    write_release(Path("opus-mt-en-de"), ends=6.0)

    def fetch(name: str) -> Path:
        assert name == "Helsinki-NLP/opus-mt-en-de"
        write_marian(tmp_path / "hub")
        return tmp_path / "hub"

    monkeypatch.setattr(download, "download", fetch)
    return tmp_path


def test_from_top_to_bottom(desk: Path, headway: Callable[..., Result]) -> None:
    names: dict[str, object] = {}
    for step in read_steps(PAGE):
        if isinstance(step, Block):
            step.run(names)
        else:
            result = headway(*step.words)
            assert result.code == 0, f"headway {' '.join(step.words)}\n{result.err}"
    assert int(str(names["copied"])) > 3 * int(str(names["together"]))
    assert {path.name for path in Path("looks").glob("*.png")} == {"heads-1.png", "rollout.png"}


def test_the_commands_are_those_of_the_family() -> None:
    commands = read_commands(PAGE)
    verbs = {verb for verb, *_ in commands}
    assert verbs == {"classify", "export", "fill", "generate", "import", "inspect", "train", "translate"}
    tasks = {words[words.index("--task") + 1] for words in commands if "--task" in words}
    assert tasks == {"mlm", "lm", "span", "classify", "denoise"}


def test_every_block_can_be_pasted_into_a_session() -> None:
    for block in read_blocks(PAGE):
        block.check_pasting()


def test_blocks_whose_output_is_not_compared_are_marked_and_only_those() -> None:
    for block in read_blocks(PAGE):
        assert block.demo == any(re.search(rf"\b{name}\b", block.code) for name in {*TRAINED, COUNTED}), block.place
