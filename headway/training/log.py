"""`metrics.jsonl`: one JSON object a report, for people, programs and pictures."""

import json
from pathlib import Path
from typing import Any

from headway.atomic import write_file, writing


class MetricsLog:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, record: dict[str, Any]) -> None:
        with writing(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def rewind(self, step: int) -> None:
        """Forget what a run reported after the checkpoint that it goes on from, a line torn by a crash included."""
        if self.path.exists():
            write_file(
                self.path, "".join(line for line in self.path.read_text().splitlines(keepends=True) if _upto(line, step))
            )


def _upto(line: str, step: int) -> bool:
    try:
        return int(json.loads(line)["step"]) <= step
    except (ValueError, KeyError, TypeError):
        return False
