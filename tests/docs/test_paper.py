"""docs/paper.md does what it says: its Python prints what stands below it, its commands run, its links and names are there.

So do the links, names and pictures of every other page.
"""

import re
from pathlib import Path

import pytest
from conftest import SMALL, write_corpus
from copy_reverse import make_pairs
from docs.pages import DOCS, ROOT, defines, links, named_parts, read_blocks, read_commands

PAPER = DOCS / "paper.md"
PAGES = [
    *(
        DOCS / f"{name}.md"
        for name in ("paper", "family", "design", "training", "translation", "evaluation", "experiments", "quality")
    ),
    ROOT / "README.md",
]
BUDGET = [*SMALL, "--batch-tokens", "512", "--max-steps", "3"]
LARGEST_PICTURE = 150_000  # bytes


@pytest.fixture
def desk(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with what the page speaks of; a model of a few updates stands in for the demo's."""
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    Path("runs/demo").symlink_to(run)
    pairs = make_pairs(120)
    write_corpus(Path("data/train"), pairs[:100])
    for name in ("sentences.en", "text.en"):
        Path(name).write_text("".join(f"{source}\n" for source, _ in pairs[100:]))
    return tmp_path


def test_every_block_can_be_pasted_into_a_session():
    for block in read_blocks(PAPER):
        block.check_pasting()


def test_every_block_prints_what_stands_below_it(desk: Path):
    names: dict[str, object] = {}
    for block in read_blocks(PAPER):
        block.run(names)


def test_blocks_that_need_the_demo_are_marked_and_only_those():
    from_demo = {"translator", "inside"}
    for block in read_blocks(PAPER):
        assert block.demo == any(re.search(rf"\b{name}\b", block.code) for name in from_demo), block.place


def test_every_command_runs(desk: Path, headway):
    commands = read_commands(PAPER)
    assert {verb for verb, *_ in commands} == {"average", "encode", "inspect", "train", "translate"}
    for words in commands:
        result = headway(*words, *(BUDGET if words[0] == "train" else []))
        assert result.code == 0, f"headway {' '.join(words)}\n{result.err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path):
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for _, target in links(page):
        if target.startswith("#"):
            assert target[1:] in anchors, f"{page.name} has no heading {target}"
        else:
            assert (page.parent / target.split("#")[0]).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_named_function_and_test_is_there(page: Path):
    named = named_parts(page)
    assert len(named) > {"paper.md": 50, "family.md": 25}.get(page.name, -1)
    assert [f"{name} in {path}" for name, path in named if not defines(path, name)] == []


def test_every_picture_is_shown_and_small():
    pages = "".join(page.read_text() for page in PAGES)
    for picture in (DOCS / "pictures").iterdir():
        if picture.suffix in (".png", ".svg"):
            assert f"pictures/{picture.name}" in pages, f"{picture.name} is in no page"
            assert picture.stat().st_size < LARGEST_PICTURE, f"{picture.name} is {picture.stat().st_size:,} bytes"
