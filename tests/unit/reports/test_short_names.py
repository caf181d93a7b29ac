"""What systems are called."""

from pathlib import Path

import pytest

from headway.reports.short_names import shorten


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["output.de"], ["output.de"]),
        (["some/where/output.de"], ["output.de"]),
        (["runs/en-de/best"], ["en-de/best"]),
        (["runs/a/best", "runs/b/best", "x.de"], ["a/best", "b/best", "x.de"]),
        (["one/a/best", "two/a/best"], ["one/a/best", "two/a/best"]),
        (["runs/a/../b/best", "runs/b/best"], ["b/best", "b/best"]),
        (["one/x.de", "two/x.de", "one/./x.de"], ["one/x.de", "two/x.de", "one/x.de"]),
    ],
)
def test_the_shortest_end_that_tells_them_apart(paths: list[str], names: list[str]) -> None:
    assert shorten([Path(path) for path in paths]) == names
