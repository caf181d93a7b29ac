"""A page of docs/ as something to check: its Python and its commands in their order, its links, and the names that it gives."""

import codeop
import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"

_STEP = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:^```text(?P<demo> demo)?\n(?P<output>.*?)^```\n)?"
    r"|^    headway (?P<command>(?:[^\n]*\\\n)*[^\n]*)$",
    flags=re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    code: str
    demo: bool  # printed by a model that was trained: not compared
    output: str

    @property
    def place(self) -> str:
        return f"docs/{self.page.name}:{self.line}"

    def run(self, names: dict[str, object]) -> None:
        """As typed after the blocks before it, which left `names`; what it prints must stand below it."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (self.line - 1) + self.code, str(self.page), "exec"), names)
        lines = [line.rstrip() for line in printed.getvalue().splitlines()]
        assert lines, f"{self.place}: this block prints nothing"
        if not self.demo:
            assert lines == self.output.splitlines(), self.place

    def check_pasting(self) -> None:
        """A prompt ends a loop or a function at a blank line, and wants one before what is not indented."""
        typed: list[str] = []
        for number, line in enumerate([*self.code.splitlines(), ""]):
            typed.append(line)
            try:
                if codeop.compile_command("\n".join(typed), symbol="single") is not None:
                    typed = []
            except SyntaxError:
                pytest.fail(f"docs/{self.page.name}:{self.line + number}: a blank line is missing or too much")


@dataclass(frozen=True)
class Command:
    words: list[str]  # after `headway`


def read_steps(page: Path) -> list[Block | Command]:
    """Every Python block, with the text block that must follow it at once, and every command."""
    text = page.read_text()
    steps: list[Block | Command] = []
    for found in _STEP.finditer(text):
        if found["command"] is not None:
            steps.append(Command(shlex.split(found["command"].replace("\\\n", ""), comments=True)))
            continue
        block = Block(page, text.count("\n", 0, found.start()) + 2, found["code"], bool(found["demo"]), found["output"] or "")
        assert block.output.strip(), f"{block.place}: nothing stands below this block"
        steps.append(block)
    return steps


def read_blocks(page: Path) -> list[Block]:
    return [step for step in read_steps(page) if isinstance(step, Block)]


def read_commands(page: Path) -> list[list[str]]:
    return [step.words for step in read_steps(page) if isinstance(step, Command)]


def links(page: Path) -> list[tuple[str, str]]:
    """Text and target of every link that does not leave the repository; code blocks are no text."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", text)
    return [(words, target) for words, target in found if not target.startswith(("http:", "https:"))]


def named_parts(page: Path) -> list[tuple[str, Path]]:
    """Every function, class and test that a page names, with the file where it should be."""
    named = [(words.strip("`"), page.parent / target) for words, target in links(page) if words.startswith("`")]
    named += [(name, ROOT / path) for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text())]
    return [(name, path) for name, path in named if path.suffix == ".py" and name.isidentifier()]


def defines(path: Path, name: str) -> bool:
    return re.search(rf"^\s*(?:def|class) {re.escape(name)}\b", path.read_text(), flags=re.MULTILINE) is not None
