"""The stages of back-translation, with trainings that take no time."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from copy_reverse import make_pairs
from ended_runs import write_ended_run

from headway.config import Settings, build_settings
from headway.data.readers import open_corpus
from headway.errors import Interrupted, RequestError
from headway.progress import Display
from headway.training import back_translation
from headway.training.finish import TrainingResult
from headway.translation import Translation

MORE = [f"line {number} of text in one language" for number in range(150)]


class World:
    """Trainings that take no time, and a reverse model that puts "say" before what it translates.

    `stop_in` is the stage that is interrupted next.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.out, self.more = directory / "run", directory / "more.de"
        self.trained: list[tuple[str, Settings]] = []
        self.translated: list[str] = []
        self.stop_in = ""
        (directory / "table.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in make_pairs(60)))
        self.more.write_text("".join(f"{line}\n" for line in MORE))

    def train(self, settings: Settings, out: Path, display: Display, scope: object = None) -> TrainingResult:
        if self.stop_in == out.name:
            raise Interrupted("Interrupted.")
        self.trained.append((out.name, settings))
        write_ended_run(out, settings)
        return TrainingResult(out, out / "best", 20, {}, [], None)

    def translate(self, lines: list[str], *, on_progress: Callable[[int, int], None], **options: object) -> list[Translation]:
        if self.stop_in == "synthetic" and lines[0] != MORE[0]:  # in the second block
            raise KeyboardInterrupt
        self.translated += lines
        return [Translation(line, f"say {line}", 0.0) for line in lines]

    def go(self, stop_in: str = "", **data: object) -> str:
        """Run the stages; what was said."""
        self.stop_in = stop_in
        table = str(self.directory / "table.tsv")
        given = {"train": [table], "from": "en", "to": "de", "monolingual_target": [str(self.more)], **data}
        settings = build_settings({"data": given, "tokenizer": {"vocab_size": 300}, "training": {"processes": 1}})
        said = io.StringIO()
        if stop_in:
            with pytest.raises(Interrupted):
                back_translation.train_in_stages(settings, self.out, Display(said))
        else:
            back_translation.train_in_stages(settings, self.out, Display(said))
        return said.getvalue()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setattr(back_translation, "run_training", made.train)
    monkeypatch.setattr(
        back_translation, "load", lambda model: SimpleNamespace(translate=made.translate, warn=lambda lines: "")
    )
    monkeypatch.setattr(back_translation, "BLOCK", 50)
    return made


def test_interrupted_in_each_stage_it_goes_on_and_does_nothing_twice(world: World):
    for stage in ("forward", "reverse", "synthetic", "run"):
        world.go(stop_in=stage)
    said = world.go()
    assert [name for name, _ in world.trained] == ["forward", "reverse", "run"]
    assert sorted(world.translated) == sorted(MORE)
    assert "[1/4]" in said and "forward is complete" in said and "synthetic has 150 pairs" in said

    forward, reverse, mixed = (settings.data for _, settings in world.trained)
    assert forward.train == [str(world.directory / "table.tsv")] and forward.monolingual_target == []
    there, back = (open_corpus(one.train[0], one.source_language, one.target_language) for one in (mixed, reverse))
    assert [(target, source) for source, target in back] == list(there)  # of a table without names
    assert (reverse.valid, reverse.test) == (mixed.valid, mixed.test)
    assert mixed.prefix == ["", "<bt> "]

    _, synthetic = mixed.train
    pairs = list(open_corpus(synthetic, "en", "de"))
    assert pairs == [(f"say {line}", line) for line in MORE]
    weight = float(synthetic.rpartition(":")[2])
    assert weight * len(pairs) == pytest.approx(2 * len(list(there)), rel=1e-5)  # no more than two for each genuine one

    world.go(monolingual_target=[f"{world.more}:0.5"])
    assert world.trained[-1][1].data.train[1].endswith("pairs-1:0.5")
    assert len(world.translated) == 150


def test_killed_after_the_last_line_nothing_is_translated_again(world: World):
    world.go(stop_in="run")
    noted = world.out / "synthetic" / "synthetic.json"
    record = json.loads(noted.read_text())
    assert record.pop("kept") == [150]
    noted.write_text(json.dumps({"asked": record["asked"], "models": record["models"]}))
    (world.out / "synthetic" / "pairs-1.en").unlink()
    world.go(stop_in="run")
    assert len(world.translated) == 150 and (world.out / "synthetic" / "pairs-1.en").exists()


def test_before_the_run_has_begun_other_text_is_translated_anew(world: World):
    world.go(stop_in="run")
    world.more.write_text("nothing but this\n")
    said = world.go(stop_in="run")
    assert "more.de changed: " in said and "made anew" in said
    assert world.translated[150:] == ["nothing but this"]
    assert [name for name, _ in world.trained] == ["forward", "reverse"]
    world.go(stop_in="run", back_translation="sampling")
    assert world.translated[151:] == ["nothing but this"]


def test_a_run_that_has_begun_without_the_text_is_refused_at_once(world: World):
    write_ended_run(world.out, Settings())
    (world.out / "checkpoints" / "step-00000001").mkdir(parents=True)
    with pytest.raises(RequestError, match="holds a run on other data"):
        world.go()
    assert not world.trained and not (world.out / "forward").exists()
