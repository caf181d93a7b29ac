import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from headway.errors import DataError
from headway.evaluation.metrics import bleu, chrf, score

HYPOTHESES = ["The dog runs over the green field.", "Two men are sitting on a bench", "A child plays  in the Snow .", ""]
REFERENCES = ["A dog runs across the green field.", "Two men sit on a bench.", "A child is playing in the snow.", "A cat."]
OTHER_REFERENCES = ["The dog is running over a field.", "Two men are on a bench", "Snow, and a child in it.", "A tomcat."]


def ask_the_command(folder: Path, streams: list[list[str]], *options: str) -> list[dict[str, str]]:
    names = ["hypotheses", *(f"reference{n}" for n in range(1, len(streams)))]
    for name, lines in zip(names, streams, strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", *names[1:], "-i", names[0], "-m", "bleu", "chrf", "ter", "-w", "12", *options]
    return json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("references", [[REFERENCES], [REFERENCES, OTHER_REFERENCES]])
def test_scores_are_those_of_the_sacrebleu_command(references: list[list[str]], lowercase: bool, tmp_path: Path) -> None:
    options = ["-lc", "--chrf-lowercase"] if lowercase else []
    wanted = ask_the_command(tmp_path, [HYPOTHESES, *references], *options)
    found = score(HYPOTHESES, references, lowercase=lowercase)
    for mine, theirs in zip((found.bleu, found.chrf, found.ter), wanted, strict=True):
        assert mine.score == pytest.approx(float(theirs["score"]), abs=1e-10)
        assert mine.signature == theirs["signature"]


def test_case_counts_unless_told_otherwise() -> None:
    loud = [line.upper() for line in REFERENCES]
    assert score(loud, [REFERENCES]).bleu.score < 50
    lowercase = score(loud, [REFERENCES], lowercase=True)
    assert lowercase.bleu.score == pytest.approx(100)
    assert lowercase.chrf.score == pytest.approx(100)
    assert "case:lc" in lowercase.bleu.signature


def test_the_cheap_ones_agree_with_the_whole() -> None:
    scores = score(HYPOTHESES, [REFERENCES])
    assert bleu(HYPOTHESES, [REFERENCES]) == scores.bleu.score
    assert chrf(HYPOTHESES, [REFERENCES]) == scores.chrf.score


def test_dict_is_the_contract_of_json() -> None:
    scores = score(HYPOTHESES, [REFERENCES])
    printed = json.loads(json.dumps(scores.to_dict()))
    assert list(printed) == ["bleu", "chrf", "ter"]
    assert printed["chrf"] == {"score": scores.chrf.score, "signature": scores.chrf.signature, "interval": None}
    assert printed["bleu"]["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_the_user_is_not_warned_of_tokenised_periods(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        score(["It rains ."] * 200, [["It rains ."] * 200])
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("measure", [score, bleu, chrf])
def test_unequal_lengths_name_both_counts(measure) -> None:
    with pytest.raises(DataError, match=r"There are 4 lines of translations, but the reference has 3\."):
        measure(HYPOTHESES, [REFERENCES[:3]])
    with pytest.raises(DataError, match=r"There are 4 lines of translations, but reference 2 of 2 has 5\."):
        measure(HYPOTHESES, [REFERENCES, [*OTHER_REFERENCES, "One more."]])


@pytest.mark.parametrize("measure", [score, bleu, chrf])
def test_nothing_to_evaluate(measure) -> None:
    with pytest.raises(DataError, match="0 translations, 0 references"):
        measure([], [[]])
    with pytest.raises(DataError, match="no references"):
        measure(HYPOTHESES, [])


def test_one_stream_in_place_of_a_list_of_streams_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="list of such lists"):
        score(HYPOTHESES, REFERENCES)
