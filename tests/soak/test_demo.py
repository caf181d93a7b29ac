"""The demo at its full length: what it promises."""

import re
import time
from pathlib import Path

import pytest

from headway.data.phrasebook import PHENOMENA


@pytest.mark.soak
def test_the_demo_learns_the_grammar_in_time(tmp_path: Path, headway):
    begun = time.monotonic()
    result = headway("demo", "--out", tmp_path / "demo")
    assert time.monotonic() - begun < 300
    assert result.code == 0, result.err
    assert float(re.findall(r"Test part.*BLEU ([0-9.]+)", result.err)[0]) >= 90
    shares = dict(re.findall(r"^  (.*?) +([0-9.]+) % of", result.out, flags=re.MULTILINE))
    assert set(PHENOMENA) < set(shares)
    assert {name: share for name, share in shares.items() if float(share) < 85} == {}
