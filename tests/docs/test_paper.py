"""docs/paper.md does what it says: its Python prints what stands below it, its commands run, its links and names are there."""

import codeop
import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import SMALL, write_corpus
from copy_reverse import make_pairs

ROOT = Path(__file__).parent.parent.parent
PAPER = ROOT / "docs" / "paper.md"
PAGES = [PAPER, *(ROOT / "docs" / f"{name}.md" for name in ("design", "training", "translation")), ROOT / "README.md"]
BUDGET = [*SMALL, "--batch-tokens", "512", "--max-steps", "3"]
LARGEST_PICTURE = 150_000  # bytes


@dataclass(frozen=True)
class Block:
    line: int
    code: str
    demo: bool  # printed by the model that `make demo` leaves: not compared
    output: str


def read_blocks() -> list[Block]:
    """Every Python block, with the text block that must follow it at once."""
    text = PAPER.read_text()
    blocks = []
    for found in re.finditer(
        r"^```python\n(.*?)^```\n(?:^```text( demo)?\n(.*?)^```\n)?", text, flags=re.MULTILINE | re.DOTALL
    ):
        line = text.count("\n", 0, found.start()) + 2
        assert found[3] is not None, f"docs/paper.md:{line}: nothing stands below this block"
        blocks.append(Block(line, found[1], found[2] is not None, found[3]))
    return blocks


def commands() -> list[str]:
    text = PAPER.read_text().replace("\\\n", "")
    return re.findall(r"^    headway (.*)$", text, flags=re.MULTILINE)


def links(page: Path) -> list[tuple[str, str]]:
    """Text and target of every link that does not leave the repository; code blocks are no text."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", text)
    return [(words, target) for words, target in found if not target.startswith(("http:", "https:"))]


def defines(path: Path, name: str) -> bool:
    return re.search(rf"^\s*(?:def|class) {re.escape(name)}\b", path.read_text(), flags=re.MULTILINE) is not None


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
    """A prompt ends a loop or a function at a blank line, and wants one before what is not indented."""
    for block in read_blocks():
        typed: list[str] = []
        for number, line in enumerate([*block.code.splitlines(), ""]):
            typed.append(line)
            try:
                if codeop.compile_command("\n".join(typed), symbol="single") is not None:
                    typed = []
            except SyntaxError:
                pytest.fail(f"docs/paper.md:{block.line + number}: a blank line is missing or too much")


def test_every_block_prints_what_stands_below_it(desk: Path):
    names: dict[str, object] = {}
    for block in read_blocks():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (block.line - 1) + block.code, str(PAPER), "exec"), names)
        lines = [line.rstrip() for line in printed.getvalue().splitlines()]
        assert lines, f"docs/paper.md:{block.line}: this block prints nothing"
        if not block.demo:
            assert lines == block.output.splitlines(), f"docs/paper.md:{block.line}"


def test_blocks_that_need_the_demo_are_marked_and_only_those():
    from_demo = {"translator", "inside"}
    for block in read_blocks():
        assert block.demo == any(re.search(rf"\b{name}\b", block.code) for name in from_demo), f"docs/paper.md:{block.line}"


def test_no_output_is_left_out():
    assert [f"docs/paper.md:{block.line}" for block in read_blocks() if not block.output.strip()] == []


def test_every_command_runs(desk: Path, headway):
    assert {command.split()[0] for command in commands()} == {"average", "encode", "inspect", "train", "translate"}
    for command in commands():
        words = shlex.split(command)
        result = headway(*words, *(BUDGET if words[0] == "train" else []))
        assert result.code == 0, f"headway {command}\n{result.err}"


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
    named = [(words.strip("`"), page.parent / target) for words, target in links(page) if words.startswith("`")]
    named += [(name, ROOT / path) for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text())]
    named = [(name, path) for name, path in named if path.suffix == ".py" and name.isidentifier()]
    assert len(named) > 50 or page != PAPER
    assert [f"{name} in {path}" for name, path in named if not defines(path, name)] == []


def test_every_picture_is_shown_and_small():
    pages = "".join(page.read_text() for page in PAGES)
    for picture in (PAPER.parent / "pictures").iterdir():
        if picture.suffix in (".png", ".svg"):
            assert f"pictures/{picture.name}" in pages, f"{picture.name} is in no page"
            assert picture.stat().st_size < LARGEST_PICTURE, f"{picture.name} is {picture.stat().st_size:,} bytes"
