"""The commands of docs/translation.md, as printed."""

import gzip
import re
import shlex
import shutil
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "translation.md").read_text()
COMMANDS = re.findall(r"^    headway (.*)$", PAGE, flags=re.MULTILINE)


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
    assert len(COMMANDS) == 6
    for command in COMMANDS:
        result = headway(*shlex.split(command), *(["--sentences", "3"] if command.startswith("export") else []))
        assert result.code == 0, f"headway {command}\n{result.err}"
    assert {path.name for path in Path("translated").iterdir() if path.name[0] != "."} == {"a.de", "b.de"}
    assert Path("part3.de").exists() and Path("big.de.zst").exists() and Path("exported/onnx/parity.json").exists()


def test_every_option_that_the_page_names_is_there(headway):
    helps = "".join(headway(verb, "--help").out for verb in ("translate", "score", "export"))
    named = set(re.findall(r"--[a-z][a-z-]+", PAGE))
    assert {name for name in named if name not in helps} == set()
