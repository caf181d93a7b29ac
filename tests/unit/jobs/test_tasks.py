"""Which files are read, and what comes out where."""

from pathlib import Path

import pytest

from headway.errors import DataError, RequestError
from headway.jobs.blocks import Shard
from headway.jobs.tasks import Task, find_files, name_output, plan_tasks, take_shard

LANGUAGES = [("en", "de")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.en", "a.en", "a.txt", "x[1].en", "deep/er/c.en", ".hidden.en"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("line\n")
    return tmp_path


def names(tree: Path, *patterns: str) -> list[str]:
    return [path.relative_to(tree).as_posix() for path in find_files([str(tree / pattern) for pattern in patterns])]


def test_names_and_patterns(tree: Path):
    assert names(tree, "b.en", "a.en") == ["b.en", "a.en"]
    assert names(tree, "a.txt", "?.en") == ["a.txt", "a.en", "b.en"]
    assert names(tree, "**/*.en") == ["a.en", "b.en", "deep/er/c.en", "x[1].en"]
    assert names(tree, "x[1].en") == ["x[1].en"]


def test_patterns_of_the_current_directory(tree: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tree)
    assert find_files(["deep/**/*.en"]) == [Path("deep/er/c.en")]


def test_what_matches_nothing_is_named(tree: Path):
    with pytest.raises(DataError, match=r"\*\.fr"):
        names(tree, "a.en", "*.fr")
    with pytest.raises(DataError, match=r"no file .*none"):
        names(tree, "none")


def test_names_of_outputs():
    for name, expected in {
        "news.en": "news.de",
        "news.en.gz": "news.de.gz",
        "news.en.zst": "news.de.zst",
        "news.txt": "news.txt",
        "garden": "garden",
        "a.en.txt": "a.en.txt",
    }.items():
        assert name_output(name, LANGUAGES) == expected


def test_a_file_for_each_or_one_for_all(tree: Path):
    files = [tree / "a.en", tree / "b.en"]
    (tree / "there").mkdir()
    for directory in (f"{tree}/new/", f"{tree}/there"):
        tasks = plan_tasks(files, directory, LANGUAGES)
        assert [(task.inputs, task.output) for task in tasks] == [
            ([file], Path(directory) / f"{file.stem}.de") for file in files
        ]
    assert plan_tasks(files, f"{tree}/all.de", LANGUAGES) == [Task(files, tree / "all.de")]
    assert plan_tasks(files, None, LANGUAGES) == [Task(files, None)]


@pytest.mark.parametrize(
    ("files", "output", "message"),
    [
        (["a.en", "deep/a.en"], "out/", "both be written"),
        (["a.txt"], ".", "to be read and to be written"),
        (["a.en", "b.en"], "b.en", "to be read and to be written"),
        ([], "out/", "standard input has no name"),
    ],
)
def test_outputs_that_would_destroy_something(tree: Path, files: list[str], output: str, message: str):
    with pytest.raises(RequestError, match=message):
        plan_tasks([tree / name for name in files], f"{tree}/{output}", LANGUAGES)


def test_a_shard_knows_its_lines(tmp_path: Path):
    files = [tmp_path / "a", tmp_path / "b"]
    files[0].write_text("1\n2\n3\n4\n5")
    files[1].write_text("6\n7\n8\n")
    shards = [take_shard(Task(files, None), Shard(number, 2), 2) for number in (1, 2)]
    assert [(shard.blocks, shard.lines) for shard in shards] == [(range(0, 2), 4), (range(2, 5), 4)]
    with pytest.raises(RequestError, match="read twice"):
        take_shard(Task([], None), Shard(1, 2), 2)
