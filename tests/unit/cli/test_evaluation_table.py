"""An evaluation on terminals of several widths."""

import pytest
from evaluations import make_evaluation, make_result

from headway.cli.evaluation_table import print_evaluation


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("names", [["one"], ["a/best", "b/best"], ["a-long-name-of-a-run/best", "another-long-name/best"]])
def test_nothing_is_wider_than_the_terminal(
    columns: int, names: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_evaluation(make_evaluation(*(make_result(name, 30.0 + number) for number, name in enumerate(names))))
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if len(line) > columns] == []
    for told in (
        "One reference is empty.",
        "30.00",
        "[28.50, 31.50]",
        "line 1,200",
        "By length of the source",
        "49.5" if names[1:] else "41.0",
    ):
        assert told in out


def test_what_the_figures_mean(capsys: pytest.CaptureFixture[str]) -> None:
    print_evaluation(make_evaluation(make_result("old", 30.0), make_result("new", 31.0, 33.0)))
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("Note: One reference is empty.")
    assert "1,000 sentences scored. More BLEU and chrF is better, less TER. [low, high] is the 95 % interval." in out
    assert "m ± s is the mean and the standard deviation over a system's seeds (2 of new)." in out
