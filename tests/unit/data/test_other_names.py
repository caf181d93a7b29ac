"""What `--other-names` makes of a corpus."""

import json
from collections import Counter
from pathlib import Path

from made_up_words import files_of, make_pairs, make_settings, training_text, write_corpus

from headway.data.prepare import prepare, why_rebuild


def make_named(count: int) -> list[tuple[str, str]]:
    """Every second pair has one of eight names."""
    names = ["Tom", "Mary", "Ama", "Kofi", "Boston", "Tokyo", "Yaw", "Esi"]
    return [
        (f"{names[i % 8]} {source}", f"{target} {names[i % 8]}") if i % 2 else (source, target)
        for i, (source, target) in enumerate(make_pairs(count))
    ]


def test_pairs_with_other_names_join_those_that_they_are_made_of(tmp_path: Path):
    stem = write_corpus(tmp_path / "train", make_named(300))
    plain = prepare(make_settings(stem), tmp_path / "plain")
    prepared = prepare(make_settings(stem, other_names=2), tmp_path / "out")
    text, facts = training_text(prepared), prepared.facts
    named = [pair for pair in training_text(plain) if pair[0][0].isupper()]
    assert facts.pairs_kept == prepared.pairs_per_epoch == len(plain.train)
    assert 1.5 * len(named) < facts.renamed < 2 * len(named) and facts.renamed == len(text) - len(plain.train)
    before = set(training_text(plain))
    assert before < set(text)
    made = [pair for pair in text if pair not in before]
    assert len(made) == facts.renamed
    for source, target in made:
        name, *rest = source.split()
        assert [*(word.upper() for word in rest), name] == target.split()
    assert any("made of them with other names" in line for line in prepared.summary())
    assert prepared.valid == plain.valid and prepared.test == plain.test
    assert files_of(tmp_path / "out") == files_of(prepare(make_settings(stem, other_names=2), tmp_path / "again").directory)


def test_other_names_make_no_sentence_that_is_held_out(tmp_path: Path):
    """Of few names and one sentence, which all make each other."""
    names = ["Tom", "Mary", "Ama", "Kofi", "Boston", "Tokyo", "Yaw", "Esi"]
    pairs = [(f"{one} sees {two}", f"{one} sieht {two}") for one in names for two in names if one != two]
    prepared = prepare(make_settings(write_corpus(tmp_path / "train", pairs), other_names=20, held_out=10), tmp_path / "out")
    held_out = {sentence for pair in [*prepared.valid, *prepared.test] for sentence in pair}
    text = training_text(prepared)
    assert len(held_out) == 40 and prepared.facts.renamed > 300
    assert not held_out & {sentence for pair in text for sentence in pair}
    given = write_corpus(tmp_path / "valid", pairs[:10])
    prepared = prepare(
        make_settings(write_corpus(tmp_path / "rest", pairs[10:]), other_names=20, valid=given), tmp_path / "two"
    )
    assert prepared.facts.renamed and not {pair[0] for pair in pairs[:10]} & {pair[0] for pair in training_text(prepared)}


def test_other_names_keep_the_prefix_and_its_corpus(tmp_path: Path):
    first, second = (write_corpus(tmp_path / name, make_named(100)) for name in ("first", "second"))
    settings = make_settings([f"{first}:2", second], other_names=1, prefix=["", "News: "])
    prepared = prepare(settings, tmp_path / "out")
    (start, middle, twice), (_, end, once) = prepared.train.segments
    text = training_text(prepared)
    assert (twice, once) == (2, 1) and middle - start == end - middle == len(text) // 2
    assert not any(source.startswith("News: ") for source, _ in text[:middle])
    assert all(source.startswith("News: ") for source, _ in text[middle:])
    plain = training_text(prepare(make_settings([first, second], prefix=["", "News: "]), tmp_path / "plain"))
    named, named_before = (sum(source.removeprefix("News: ")[0].isupper() for source, _ in one) for one in (text, plain))
    assert named - named_before == prepared.facts.renamed > 60


def test_other_names_are_cut_anew_each_epoch_too(tmp_path: Path):
    stem = write_corpus(tmp_path / "train", make_named(300))
    prepared = prepare(make_settings(stem, other_names=1, tokenizer={"sampling": 0.3}), tmp_path / "out")
    sampled = prepared.store_of_epoch(0)
    decode = prepared.tokenizers.source.decode
    assert len(sampled) == len(prepared.train) > prepared.facts.pairs_kept
    assert decode([sampled.source(i) for i in range(len(sampled))]) == [source for source, _ in training_text(prepared)]


def test_other_names_keep_the_direction_and_its_tag(tmp_path: Path):
    stem = write_corpus(tmp_path / "train", make_named(100))
    prepared = prepare(make_settings(stem, other_names=1, **{"from": "en,de", "to": "en,de"}), tmp_path / "out")
    text, store = training_text(prepared), prepared.train
    tags = Counter(prepared.tokenizers.source.pieces([int(store.source(i)[0])])[0] for i in range(len(store)))
    assert set(tags) == {"<2de>", "<2en>"} and min(tags.values()) > 100
    assert len(text) == prepared.facts.pairs_kept + prepared.facts.renamed
    held_out = {sentence for pair in [*prepared.valid, *prepared.test] for sentence in pair}
    assert not held_out & {sentence for pair in text for sentence in pair}


def test_what_was_prepared_before_there_was_a_setting_is_what_it_is_without(tmp_path: Path):
    stem = write_corpus(tmp_path / "train", make_named(100))
    path = prepare(make_settings(stem), tmp_path / "out").directory / "prepared.json"
    record = json.loads(path.read_text())
    del record["settings"]["data.other_names"]
    path.write_text(json.dumps(record))
    assert why_rebuild(make_settings(stem), tmp_path / "out") == []
    assert why_rebuild(make_settings(stem, other_names=1), tmp_path / "out") == ["setting data.other_names changed"]
