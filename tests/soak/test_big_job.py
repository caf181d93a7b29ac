"""A million lines take as much memory as a few."""

import subprocess
import sys
from pathlib import Path

import pytest
from small_models import write_model

pytestmark = [pytest.mark.soak, pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what was in memory")]
FEW, MANY = 50_000, 1_000_000
MOST = """
import sys
from headway.cli import main
sys.argv = ["headway", *sys.argv[1:]]
try:
    main()
finally:
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_memory_is_flat_over_a_million_lines(tmp_path: Path):
    model = write_model(tmp_path / "model", ends=20.0)  # what it says is short
    most = []
    for lines in (FEW, MANY):
        text, out = tmp_path / f"{lines}.en", tmp_path / f"{lines}.de.gz"
        text.write_text("".join(f"copy oak {number}\n" for number in range(lines)))
        command = [sys.executable, "-c", MOST, "translate", model, text, "-o", out, "--beam", "1", "--max-extra", "1"]
        most.append(int(subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True).stdout.split()[-1]))
        assert out.exists()
    assert most[1] < 1.1 * most[0]
