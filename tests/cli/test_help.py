"""Help that is there at once."""

import re
import subprocess
import sys

import pytest
from typer.main import get_command

from headway.cli import VERBS, build_app


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str, headway):
    result = headway(verb, "--help")
    assert result.code == 0
    assert f"headway {verb}" in result.out.split("For example:")[1]


def test_help_lists_the_verbs_and_imports_nothing_heavy(headway):
    script = (
        "import sys; sys.argv = ['headway', '--help']; import headway.cli, atexit\n"
        "atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))\nheadway.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0
    assert all(verb in done.stdout for verb in VERBS)
    assert not {"torch", "numpy", "sentencepiece", "sacrebleu", "matplotlib"} & set(done.stderr.split())


def test_the_version(headway):
    assert headway("--version").out.startswith("headway 0.")


def test_an_unknown_verb(headway):
    result = headway("translat")
    assert result.code == 2 and "Traceback" not in result.err


def test_ctrl_c_before_a_verb_has_begun(headway, monkeypatch: pytest.MonkeyPatch):
    def interrupted(verb: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.cli._import", interrupted)
    result = headway("translate", "model")
    assert result.code == 130 and not result.err


@pytest.mark.parametrize("verb", VERBS)
def test_names_are_whole_in_a_narrow_terminal(verb: str, headway, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "60")
    told = headway(verb, "--help").out
    parameters = get_command(build_app(verb)).commands[verb].params
    names = [name for one in parameters for name in (*one.opts, *one.secondary_opts) if name.startswith("--")]
    assert all(re.search(rf"^  (-\w+, |--[\w-]+ / )?{name}(\s|,|$)", told, re.MULTILINE) for name in names)
    assert max(map(len, told.splitlines())) <= 60 and not re.search(r"<(list|int|float|str|path)\b", told)


def test_settings_stand_in_their_sections(headway):
    told = headway("train", "--help").out
    of_model = told.split("Model settings:")[1].split("Tokenizer settings:")[0]
    assert "--n-decoder-layers N " in of_model and "--batch-tokens" not in of_model
    assert "\n  --pairs N " in headway("plan", "--help").out


def test_the_help_of_all_is_no_verbs_help(headway):
    assert headway("--help", "train").out == headway("--help").out
