"""`test.jsonl` of a run: the test part as its best model translated it, one JSON object a line."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.amounts import amount
from headway.atomic import write_file
from headway.errors import DataError
from headway.evaluation.metrics import bleu, chrf


@dataclass(frozen=True)
class Tested:
    """A sentence of the test part."""

    source: str
    reference: str
    translation: str
    direction: str = ""  # by its name, of a model that has several

    def tell(self) -> dict[str, str]:
        """All that there is to tell, by name."""
        return {name: text for name, text in vars(self).items() if text or name != "direction"}


def write_tested(path: Path, tested: Sequence[Tested]) -> None:
    write_file(path, "".join(json.dumps(one.tell(), ensure_ascii=False) + "\n" for one in tested))


def score_directions(tested: Sequence[Tested]) -> list[str]:
    """BLEU and chrF of each direction, a line each, where there are several."""
    lines = []
    for direction in dict.fromkeys(one.direction for one in tested if one.direction):
        own = [one for one in tested if one.direction == direction]
        texts, references = [one.translation for one in own], [[one.reference for one in own]]
        scores = f"BLEU {bleu(texts, references):.1f}, chrF {chrf(texts, references):.1f}"
        lines.append(f"{direction}, {amount(len(own), 'sentence')}: {scores}.")
    return lines


def read_tested(path: Path) -> list[Tested]:
    try:
        text = path.read_text(encoding="utf-8")
        return [_check(Tested(**json.loads(line))) for line in text.split("\n") if line]
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "It is written by `headway train`.") from None
    except (ValueError, TypeError):
        raise DataError(
            f"{path} is damaged: it must have source, reference and translation in each line.",
            "Give the run's `headway train` command again: a run that is complete is tested anew.",
        ) from None


def _check(tested: Tested) -> Tested:
    if not all(isinstance(text, str) for text in vars(tested).values()):
        raise TypeError("source, reference and translation are text")
    return tested
