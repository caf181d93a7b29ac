"""What is said of back-translation when it ends."""

import io
import json
from pathlib import Path

import pytest
from ended_runs import write_ended_run

from headway.config import Settings
from headway.progress import Display
from headway.training.gain import Gain, find_gain

REFERENCES = [f"sentence number {number} of a long test part" for number in range(40)]


def compare(directory: Path, with_it: str, without: str, valid: float = 50.0) -> Gain:
    """All translations are right but for one word; `valid` is what validation found without it, and 50 with it."""
    for place, word, chrf in ((directory, with_it, 50.0), (directory / "forward", without, valid)):
        write_ended_run(place, Settings(), [(line, line.replace("number", word)) for line in REFERENCES], chrf)
    return find_gain(directory, directory / "forward", 12_345, "chrf", Display(io.StringIO()))


OPPOSITE = " on the test part, which validation does not bear out: more held-out sentences would tell"


@pytest.mark.parametrize(
    ("with_it", "without", "valid", "verdict", "words"),
    [
        ("number", "n", 49.0, "better", "It helped"),
        ("number", "n", 51.0, "better", f"It helped{OPPOSITE}"),
        ("n", "number", 51.0, "worse", "It did harm"),
        ("n", "number", 49.0, "worse", f"It did harm{OPPOSITE}"),
    ],
)
def test_a_clear_difference_is_told_and_chooses_nothing(
    tmp_path: Path, with_it: str, without: str, valid: float, verdict: str, words: str
):
    gain = compare(tmp_path, with_it, without, valid)
    bleu = gain.scores[0]
    told = f"BLEU {bleu.with_it:.1f} against {bleu.without:.1f} without it, {verdict} (p "
    assert gain.story.startswith(f"Back-translation of 12,345 sentences: {told}")
    assert gain.model == (tmp_path if valid < 50 else tmp_path / "forward") / "best"
    assert gain.story.endswith(f". {words}; by validation, take {gain.model}.")
    assert json.loads(gain.to_json())["scores"]["chrf"]["verdict"] == verdict


def test_validation_names_the_model(tmp_path: Path):
    gain = compare(tmp_path, "number", "number", valid=51.0)
    assert "did not clearly help" in gain.story and gain.model == tmp_path / "forward" / "best"


def test_models_that_have_learned_nothing_are_told_so(tmp_path: Path):
    for place, text in ((tmp_path, "the the the"), (tmp_path / "forward", "a")):
        write_ended_run(place, Settings(), [(line, text) for line in REFERENCES])
    gain = find_gain(tmp_path, tmp_path / "forward", 1, "chrf", Display(io.StringIO()))
    assert gain.story.startswith("Back-translation of 1 sentence: BLEU 0.")
    assert "Neither model has learned to translate yet" in gain.story and "It helped" not in gain.story
    assert "take" not in gain.story
