"""What a person sees: a live line on a terminal, plain lines with the time left elsewhere."""

import io
import re

import pytest

from headway import progress
from headway.progress import Display, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_plain_lines_are_few_and_tell_the_time_left(clock: list[float]):
    stream = io.StringIO()
    with Display(stream) as display:
        for step in range(61):
            display.update("Training", step, 1200, f"loss {step}")
            clock[0] += 1
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4  # after 2 seconds, then every 15
    assert lines[0] == "Training  2/1,200  loss 2  20 min left"


def test_what_is_short_says_nothing(clock: list[float]):
    stream = io.StringIO()
    with Display(stream) as display:
        display.update("Reading", 1, None)
        clock[0] += 1
        display.update("Reading", 9, 9)
    assert stream.getvalue() == ""


def test_work_of_unknown_length_is_named_when_it_begins(clock: list[float]):
    stream = io.StringIO()
    Display(stream).update("Learning the vocabulary", 0, None)
    assert stream.getvalue() == "Learning the vocabulary …\n"


def test_a_resumed_run_counts_its_time_from_where_it_went_on(clock: list[float]):
    stream = io.StringIO()
    display = Display(stream)
    display.update("Training", 900, 1000)
    clock[0] += 20
    display.update("Training", 950, 1000)
    assert stream.getvalue() == "Training  950/1,000  20 s left\n"


def test_a_terminal_has_a_live_line_and_lines_that_stay(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with Display(stream) as display:
        display.update("Training", 1, 10, "loss 3.21")
        display.update("Training", 5, 10, "loss 1.23")
        display.say("BLEU [bold] :dog: 12.3")
    written = stream.getvalue()
    assert "5/10" in written and "loss 1.23" in written and "left" in written
    assert "BLEU [bold] :dog: 12.3" in written  # a translation is no markup


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "1 h 0 min")])
def test_durations_as_people_say_them(seconds: float, said: str):
    assert duration(seconds) == said


@pytest.mark.parametrize("columns", [45, 60, 80, 120])
def test_the_live_line_fits_and_keeps_the_time_left(columns: int, clock: list[float], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    with Display(stream) as display:
        for step in (400, 800):
            display.update("Training", step, 2400, "loss 1.25  BLEU 75.5  12,289 tokens/s")
            clock[0] += 60
        drawn = stream.getvalue()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", drawn + stream.getvalue())
    assert max(len(line.strip("\r")) for line in plain.splitlines()) <= columns
    assert "800/2,400  4 min left" in plain.replace("\n", "")
    assert ("tokens/s" in plain) == (columns >= 80)
