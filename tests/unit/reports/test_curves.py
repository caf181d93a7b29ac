import json
import math
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.errors import DataError, HeadwayError
from headway.reports.curves import draw_learning_curve, read_metrics


def make_records(n: int = 60, valid_every: int = 10) -> list[dict[str, Any]]:
    records = []
    for i in range(1, n + 1):
        record = {
            "step": 10 * i,
            "epoch": i / 20,
            "loss": 2 + 6 * math.exp(-i / 15),
            "learning_rate": 0.001,
            "tokens": 3000 * i,
        }
        record |= {"tokens_per_second": 4000.0, "seconds": 7.5 * i}
        if valid_every and i % valid_every == 0:
            record |= {"valid_loss": 1.8 + 5 * math.exp(-i / 15), "valid_bleu": 30 * (1 - math.exp(-i / 20))}
        records.append(record)
    return records


def write(path: Path, records: list[dict[str, Any]], torn: str = "") -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + torn, encoding="utf-8")
    return path


def png_size(path: Path) -> tuple[int, int]:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def test_draws_a_picture_that_shows_the_data(tmp_path: Path) -> None:
    metrics, picture = write(tmp_path / "metrics.jsonl", make_records()), tmp_path / "curve.png"
    draw_learning_curve(metrics, picture)
    assert png_size(picture) == (1200, 960)
    first = picture.read_bytes()
    draw_learning_curve(metrics, picture)
    assert picture.read_bytes() == first
    changed = make_records()
    changed[-1]["valid_bleu"] = 5.0
    draw_learning_curve(write(metrics, changed), picture)
    assert picture.read_bytes() != first


def test_without_validations_there_is_one_panel(tmp_path: Path) -> None:
    metrics, picture = write(tmp_path / "metrics.jsonl", make_records(valid_every=0)), tmp_path / "curve.png"
    draw_learning_curve(metrics, picture)
    assert png_size(picture) == (1200, 630)


@pytest.mark.parametrize("n", [1, 2])
def test_a_run_of_a_moment(n: int, tmp_path: Path) -> None:
    picture = tmp_path / "curve.png"
    draw_learning_curve(write(tmp_path / "metrics.jsonl", make_records(n, valid_every=1)), picture)
    assert png_size(picture) == (1200, 960)


def test_no_word_from_matplotlib(tmp_path: Path, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder) -> None:
    draw_learning_curve(write(tmp_path / "metrics.jsonl", make_records()), tmp_path / "curve.png")
    assert capfd.readouterr() == ("", "")
    assert list(recwarn) == []
    assert "matplotlib.pyplot" not in sys.modules


def test_figures_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    records = make_records()
    records[3]["loss"], records[9]["valid_loss"], records[19]["valid_bleu"] = math.nan, math.inf, None
    picture = tmp_path / "curve.png"
    draw_learning_curve(write(tmp_path / "metrics.jsonl", records), picture)
    assert png_size(picture) == (1200, 960)


def test_a_run_that_broke_down_at_once(tmp_path: Path) -> None:
    picture = tmp_path / "curve.png"
    record = {"step": 1, "loss": math.nan, "seconds": 1.0, "valid_loss": math.nan, "valid_bleu": 0.0}
    draw_learning_curve(write(tmp_path / "metrics.jsonl", [record]), picture)
    assert png_size(picture) == (1200, 960)


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    records = make_records(5)
    metrics = write(tmp_path / "metrics.jsonl", records, torn='{"step": 60, "lo')
    assert read_metrics(metrics) == records
    draw_learning_curve(metrics, tmp_path / "curve.png")
    metrics.write_bytes(metrics.read_bytes() + b"\xc3")  # torn inside a character
    assert read_metrics(metrics) == records


def test_a_resumed_run_shows_what_it_did_last(tmp_path: Path) -> None:
    """Killed at step 60, gone on from step 30: what came after 30 the first time was undone."""
    first, again = make_records(6), [{"step": 35, "loss": 1.0}, {"step": 45, "loss": 0.9}, {"step": 45, "valid_bleu": 7.0}]
    found = read_metrics(write(tmp_path / "metrics.jsonl", [*first, *again]))
    assert [record["step"] for record in found] == [10, 20, 30, 35, 45]
    assert found[-1] == {"step": 45, "loss": 0.9, "valid_bleu": 7.0}


def test_no_reports_yet(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no report yet"):
        draw_learning_curve(write(tmp_path / "metrics.jsonl", []), tmp_path / "curve.png")
    with pytest.raises(DataError, match="cannot be read"):
        draw_learning_curve(tmp_path / "none.jsonl", tmp_path / "curve.png")


def test_without_matplotlib_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(HeadwayError, match=r"pip install headway\[report\]"):
        draw_learning_curve(write(tmp_path / "metrics.jsonl", make_records()), tmp_path / "curve.png")
