"""`headway demo`, cut short."""

from pathlib import Path


def test_the_demo_trains_translates_and_says_what_to_try_next(tmp_path: Path, headway):
    result = headway("demo", "--out", tmp_path / "demo", "--pairs", 300, "--max-steps", 5)
    assert result.code == 0, result.err
    assert "reverse" in result.err and "headway translate" in result.err and "headway train" in result.err
    assert (tmp_path / "demo" / "best" / "headway.json").exists()
    again = headway("demo", "--out", tmp_path / "demo", "--pairs", 300, "--max-steps", 5)
    assert again.code == 0 and "This run is complete" in again.err
