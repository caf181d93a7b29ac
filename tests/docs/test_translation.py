"""The commands of docs/translation.md, as printed."""

import gzip
import re
import shutil
from pathlib import Path

import pytest
from docs.pages import DOCS, read_commands

PAGE = DOCS / "translation.md"


def test_every_command(tmp_path: Path, run: Path, headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("best", "data"):
        shutil.copytree(run / name, f"runs/en-de/{name}")
    lines = "copy oak\nreverse elm fir\n" * 3
    with gzip.open("big.en.gz", "wt") as file:
        file.write(lines)
    for name in ("big.en", "crawl/a.en", "crawl/deeper/b.en"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(lines)
    commands = read_commands(PAGE)
    assert len(commands) == 6
    for words in commands:
        result = headway(*words, *(["--sentences", "3"] if words[0] == "export" else []))
        assert result.code == 0, f"headway {' '.join(words)}\n{result.err}"
    assert {path.name for path in Path("translated").iterdir() if path.name[0] != "."} == {"a.de", "b.de"}
    assert Path("part3.de").exists() and Path("big.de.zst").exists() and Path("exported/onnx/parity.json").exists()


def test_every_option_that_the_page_names_is_there(headway):
    helps = "".join(headway(verb, "--help").out for verb in ("translate", "score", "export"))
    named = set(re.findall(r"--[a-z][a-z-]+", PAGE.read_text()))
    assert {name for name in named if name not in helps} == set()
