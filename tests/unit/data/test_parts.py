"""Parts of a corpus: nested, the same every time, and without what is held out."""

from pathlib import Path

from headway.config import build_settings
from headway.data.parts import name_part, write_parts
from headway.data.prepare import prepare

SHARES = {"eighth": 1 / 8, "half": 1 / 2}


def silent(*_: object) -> None: ...


def cut(place: Path, data: dict, seed: int = 1) -> tuple[dict[str, list[str]], list[str], list[str]]:
    """Lines of each part of the first corpus, of validation, and sentences held out."""
    settings = build_settings(
        {"data": {"from": "en", "to": "de", **data}, "tokenizer": {"vocab_size": 400}, "training": {"seed": seed}}
    )
    prepared = prepare(settings, place / "data")
    write_parts(settings, prepared, place / "parts", SHARES, silent)
    lines = {name: name_part(place / "parts", name, 0).read_text().splitlines() for name in SHARES}
    held_out = [side for pair in (*prepared.valid, *prepared.test) for side in pair]
    return lines, (place / "parts" / "valid.tsv").read_text().splitlines(), held_out


def write(path: Path, pairs: list[tuple[str, str]]) -> str:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return str(path)


def test_nested_reproducible_and_apart_from_what_is_held_out(tmp_path: Path):
    pairs = [(f"one {n}", f"eins {n}") for n in range(200)] + [("one 5", "again five"), ("", "nothing")]
    data = {"train": [write(tmp_path / "all.tsv", pairs)], "held_out": 10}
    lines, valid, held_out = cut(tmp_path / "a", data)
    assert set(lines["eighth"]) < set(lines["half"]) and len(valid) == 10
    assert abs(len(lines["half"]) - 90) <= 1 and abs(len(lines["eighth"]) - 22) <= 1
    assert not {side for line in lines["half"] for side in line.split("\t")} & set(held_out)
    order = [f"{source}\t{target}" for source, target in pairs]
    assert lines["half"] == sorted(lines["half"], key=order.index)  # as they follow each other in the corpus
    assert cut(tmp_path / "b", data)[0] == lines
    assert cut(tmp_path / "c", data, seed=2)[0] != lines


def test_a_sentence_is_the_same_whatever_stands_before_it(tmp_path: Path):
    pairs = [(f"one {n}", f"eins {n}") for n in range(100)]
    others = [(f"one {n}", f"uno {n}") for n in range(100)]  # the same sources, translated otherwise
    train = [write(tmp_path / "a.tsv", pairs), write(tmp_path / "b.tsv", others)]
    _, _, held_out = cut(tmp_path / "cut", {"train": train, "prefix": ["", "<b> "], "held_out": 10})
    bare = {sentence.removeprefix("<b> ") for sentence in held_out}
    for number in (0, 1):
        lines = name_part(tmp_path / "cut" / "parts", "half", number).read_text().splitlines()
        assert lines and not {line.split("\t")[0] for line in lines} & bare


def test_a_given_part_takes_nothing_away_and_a_prefix_is_not_written_twice(tmp_path: Path):
    pairs = [(f"one {n}", f"eins {n}") for n in range(80)]
    train, valid = write(tmp_path / "all.tsv", pairs), write(tmp_path / "valid.tsv", pairs[:10])
    lines, judged, _ = cut(tmp_path / "a", {"train": [train], "prefix": ["de: "], "valid": valid, "test": valid})
    assert len(lines["half"]) == 40 and judged == [f"{source}\t{target}" for source, target in pairs[:10]]
    assert all(line.startswith("one ") for line in lines["half"])
