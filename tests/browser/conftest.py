"""A real browser: Debian's chromium, without a network."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install headway[dev]")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, "--no-first-run"])
        yield browser
        browser.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if CHROMIUM is None:
        terminalreporter.section("NO PAGE WAS OPENED IN A BROWSER", sep="!", red=True, bold=True)
        terminalreporter.line("chromium is not installed, so the tests of tests/browser were skipped: apt-get install chromium")
