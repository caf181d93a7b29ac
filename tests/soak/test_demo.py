"""The demo at its full length."""

import re
from pathlib import Path

import pytest


@pytest.mark.soak
def test_the_demo_learns_its_task(tmp_path: Path, headway):
    result = headway("demo", "--out", tmp_path / "demo")
    assert result.code == 0, result.err
    assert float(re.findall(r"Test part.*BLEU ([0-9.]+)", result.err)[0]) > 90
