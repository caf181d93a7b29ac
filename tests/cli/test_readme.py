"""Every `headway` command of the README, and its Python, as printed but with a small budget."""

import gzip
import re
import shlex
from pathlib import Path

import pytest
from conftest import SMALL, write_corpus
from copy_reverse import make_pairs
from published import write_marian

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
COMMANDS = re.findall(r"^    headway (.*?)(?: *#.*)?$", README, flags=re.MULTILINE)
BUDGET = [*SMALL, "--batch-tokens", "512", "--max-steps", "3"]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files that the README speaks of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headway.training.back_translation.NOTHING", 0.0)  # translations back need not be good here
    pairs = make_pairs(150)
    write_corpus(Path("data/train"), pairs[:100])
    Path("data/train.twi").write_text("".join(f"{' '.join(reversed(target.split()))}\n" for _, target in pairs[:100]))
    Path("more.de").write_text("".join(f"{target}\n" for _, target in pairs[120:]))
    write_corpus(Path("test"), pairs[100:110])
    write_corpus(Path("text"), pairs[110:120])
    for name in ("ours.de", "theirs.de"):
        Path(name).write_text(Path("test.de").read_text())
    Path("glossary.tsv").write_text("oak\tfir\n")
    with gzip.open("big.en.gz", "wt") as file:
        file.writelines(f"{source}\n" for source, _ in pairs[:20])
    Path("plays.txt").write_text("".join(f"{source}\n" for source, _ in pairs * 10))
    Path("lines.txt").write_text("copy ash\nreverse oak elm\n")
    rows = "".join(f"{source}\t{source.split()[0]}\n" for source, _ in pairs)
    Path("reviews.tsv").write_text(f"text\tlabel\n{rows}")
    write_marian(Path("models/opus-mt-en-de"))
    for name, part in (("memory.tsv", pairs[:60]), ("crawl.tsv", pairs[60:])):
        Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in part))
    return tmp_path


def test_the_readme_has_a_command_for_each_verb_but_the_demo():
    verbs = {"plan", "train", "translate", "score", "evaluate", "inspect", "encode", "average", "export"}
    verbs |= {"import", "generate", "fill", "classify", "report", "experiment"}
    assert {command.split()[0] for command in COMMANDS} == verbs


def test_every_command_and_the_python(desk: Path, headway):
    for command in COMMANDS:
        words = shlex.split(command)
        if words[0] == "experiment":
            words[words.index("--max-minutes") :] = BUDGET
        if words[0] in ("train", "plan"):
            words += BUDGET[len(SMALL) :] if "--init" in words else BUDGET  # a model to begin with has its own size
        if words[0] == "plan":
            words += ["--seconds", "0.5"]
        if "--monolingual-target" in words:
            words += ["--max-extra", "2", "--min-length", "3"]  # what a model that has learned nothing writes is to be sane
        if words[0] == "average":
            words[words.index("--last") + 1] = "2"
        result = headway(*words)
        assert result.code == 0, f"headway {command}\n{result.err}"
    assert Path("text.de").read_text().count("\n") == 10
    with gzip.open("big.de.gz", "rt") as file:
        assert file.read().count("\n") == 20
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    small = 'training={"max_steps": 3}, model={"n_layers": 1, "d_model": 32, "n_heads": 2}'
    assert 'training={"max_steps": 2000}' in code
    exec(code.replace('training={"max_steps": 2000}', small), {})
    assert Path("runs/de-en/best/headway.json").exists()
