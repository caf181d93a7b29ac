import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_words import WORDS, files_of, make_pairs, make_settings, training_text, write_corpus

from headway.data import build
from headway.data.objectives import Translation
from headway.data.pairtext import PairWriter, read_pairs
from headway.data.prepare import fingerprint, prepare, why_rebuild
from headway.directions import list_directions
from headway.errors import DataError, RequestError
from headway.training.choices import count_tokens


@pytest.fixture
def stem(tmp_path: Path) -> str:
    return write_corpus(tmp_path / "train", make_pairs(300))


def times_of(directory: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in directory.rglob("*")}


def test_the_parts_make_up_the_corpus_and_share_no_sentence(stem: str, tmp_path: Path) -> None:
    prepared = prepare(make_settings(stem, held_out=20), tmp_path / "out")
    train = training_text(prepared)
    assert sorted([*train, *prepared.valid, *prepared.test]) == sorted(make_pairs(300))
    assert len(prepared.valid) == len(prepared.test) == 20
    assert {*train}.isdisjoint(prepared.valid) and {*prepared.valid}.isdisjoint(prepared.test)
    assert not prepared.note and not prepared.reused
    assert prepared.tokenizers.shared and prepared.tokenizers.source.size == 400
    assert set(prepared.fingerprints) == {f"{stem}.en", f"{stem}.de"}
    assert prepared.facts.source_tokens == prepared.train.source_lengths.sum()


def test_the_counts_add_up_and_are_told(tmp_path: Path) -> None:
    pairs = make_pairs(300)
    ratio = [("x", " ".join(WORDS[:12]))] * 2
    long = [(" ".join(WORDS), " ".join(WORDS).upper())]
    stem = write_corpus(tmp_path / "train", [*pairs, ("", "x"), ("x", " "), ("y", "\u3000"), *ratio, *long])
    prepared = prepare(make_settings(stem, held_out=5, max_length=100), tmp_path / "out")
    facts = prepared.facts
    assert facts.dropped == {"blank": 3, "long": 1, "ratio": 2}
    assert facts.pairs_read == 306 and facts.pairs_kept == len(prepared.train) == 290
    assert prepared.summary() == [
        "306 pairs read, 290 kept for training; dropped: 3 blank, 1 over 100 pieces, 2 of a length ratio over 8",
        "held out: 5 pairs for validation, 5 pairs for test",
        "vocabulary: 400 pieces, shared",
    ]
    assert json.loads((tmp_path / "out" / "prepared.json").read_text())["facts"]["pairs_kept"] == 290


def test_repeated_sentences_do_not_leak(tmp_path: Path) -> None:
    pairs = [pair for pair in make_pairs(40) for _ in range(3)]
    prepared = prepare(make_settings(write_corpus(tmp_path / "train", pairs), held_out=4), tmp_path / "out")
    assert prepared.facts.leaking == 16
    assert {*training_text(prepared)}.isdisjoint([*prepared.valid, *prepared.test])
    assert "16 more that repeat one of their sentences left out of training" in prepared.summary()[1]


def test_fifty_pairs_are_enough(tmp_path: Path) -> None:
    prepared = prepare(make_settings(write_corpus(tmp_path / "train", make_pairs(50))), tmp_path / "out")
    assert (len(prepared.valid), len(prepared.test), len(prepared.train)) == (1, 1, 48)


def test_given_parts_are_kept_whole_and_their_overlap_is_told(stem: str, tmp_path: Path) -> None:
    given = [*make_pairs(300)[:3], ("new", "NEW"), ("", "blank")]
    valid = write_corpus(tmp_path / "dev", given)
    test = write_corpus(tmp_path / "eval", [("other", "OTHER")])
    prepared = prepare(make_settings(stem, valid=valid, test=test), tmp_path / "out")
    assert prepared.valid == given and prepared.test == [("other", "OTHER")]
    assert len(prepared.train) == 300
    assert (prepared.facts.valid_overlap, prepared.facts.test_overlap) == (3, 0)
    assert prepared.summary()[1:3] == [
        "validation: 5 pairs given; 3 of its source sentences also stand in training",
        "test: 1 pair given",
    ]


def test_what_training_dropped_does_not_overlap(tmp_path: Path) -> None:
    dropped = [("one word", " ".join(WORDS[:20])), ("another", "")]
    stem = write_corpus(tmp_path / "train", [*make_pairs(300), *dropped])
    given = write_corpus(tmp_path / "dev", [*make_pairs(300)[:2], ("one word", "WORD"), ("another", "WORD")])
    prepared = prepare(make_settings(stem, valid=given, test=given), tmp_path / "out")
    assert len(prepared.train) == 300 and prepared.facts.valid_overlap == 2


@pytest.mark.parametrize("part", ["valid", "test"])
@pytest.mark.parametrize("content", ["en\tde\n", "en\tde\na dog\t \n"], ids=["only names", "no target"])
def test_a_given_part_without_a_pair_is_refused_before_anything_is_trained(
    stem: str, tmp_path: Path, part: str, content: str
) -> None:
    (tmp_path / "given.tsv").write_text(content)
    with pytest.raises(DataError, match=r"given\.tsv has nothing to (validate|test) with"):
        prepare(make_settings(stem, **{part: str(tmp_path / "given.tsv")}), tmp_path / "data")


def test_only_the_part_that_is_not_given_is_cut(stem: str, tmp_path: Path) -> None:
    test = write_corpus(tmp_path / "eval", make_pairs(300)[:250])
    prepared = prepare(make_settings(stem, test=test, held_out=10), tmp_path / "out")
    assert len(prepared.test) == 250 and len(prepared.valid) == 10 and len(prepared.train) == 290
    assert {*prepared.valid}.isdisjoint(prepared.test)


def test_nothing_changed_is_used_again(stem: str, tmp_path: Path) -> None:
    settings, out = make_settings(stem), tmp_path / "out"
    first = prepare(settings, out)
    before = times_of(out)
    again = prepare(settings, out)
    assert again.reused and not again.note and times_of(out) == before
    assert (again.valid, again.test, again.facts) == (first.valid, first.test, first.facts)
    settings.training.batch_tokens = 7  # of no matter here
    assert prepare(settings, out).reused


def test_a_change_is_noticed_and_named(stem: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    prepare(make_settings(stem), out)
    assert prepare(make_settings(stem, max_length=99), out).note == "setting data.max_length changed: prepared anew"
    assert prepare(make_settings(stem, seed=2, max_length=99), out).reused  # the seed decides on no sentence's part
    write_corpus(Path(stem), make_pairs(301))
    changed = prepare(make_settings(stem, seed=2, max_length=99), out)
    assert changed.note == f"{stem}.de changed; {stem}.en changed: prepared anew" and not changed.reused
    assert changed.facts.pairs_read == 301
    other = write_corpus(tmp_path / "more", make_pairs(10, seed=5))
    assert f"{other}.de is new" in prepare(make_settings([stem, other], seed=2, max_length=99), out).note
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["out"]


@pytest.mark.parametrize("name", ["prepared.json", "train/source.ids", "tokenizer/shared.model"])
def test_a_damaged_preparation_is_made_anew(stem: str, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    prepare(make_settings(stem), out)
    whole = files_of(out)
    (out / name).write_bytes(whole[name][:10])
    prepared = prepare(make_settings(stem), out)
    assert "damaged" in prepared.note and files_of(out) == whole


def test_an_interrupted_preparation_is_not_taken_for_a_whole_one(
    stem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def interrupt(stage: str, done: int, total: int | None) -> None:
        if stage == "Tokenising":
            raise KeyboardInterrupt

    monkeypatch.setattr(build, "PART", 100)
    with pytest.raises(KeyboardInterrupt):
        prepare(make_settings(stem), out, interrupt)
    assert not out.exists()
    assert not prepare(make_settings(stem), out).reused
    # And an interrupted second one leaves the first whole.
    before = files_of(out)
    with pytest.raises(KeyboardInterrupt):
        prepare(make_settings(stem, max_length=99), out, interrupt)
    assert files_of(out) == before and prepare(make_settings(stem), out).reused


def test_the_result_is_the_same_wherever_and_in_whatever_parts(
    stem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(make_settings(stem), tmp_path / "a")
    monkeypatch.setattr(build, "PART", 7)
    prepare(make_settings(stem), tmp_path / "b")
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_a_directory_of_something_else_is_left_alone(stem: str, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1").write_text("years of work")
    with pytest.raises(RequestError, match="holds something else"):
        prepare(make_settings(stem), tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter1").read_text() == "years of work"


def test_a_vocabulary_each_and_one_that_is_shrunk(stem: str, tmp_path: Path) -> None:
    settings = make_settings(stem, tokenizer={"shared": False, "vocab_size": 9_000, "kind": "unigram"})
    prepared = prepare(settings, tmp_path / "out")
    source, target = prepared.tokenizers.source, prepared.tokenizers.target
    assert not prepared.tokenizers.shared and max(source.size, target.size) < 9_000
    assert prepared.summary()[-1] == (
        f"vocabulary: {source.size:,} pieces for the source, {target.size:,} for the target, "
        "shrunk from 9,000: the corpus allows no more"
    )


def test_a_vocabulary_knows_no_held_out_sentence(tmp_path: Path) -> None:
    pairs = [(f"{WORDS[i]} {chr(0x4E00 + i)}", WORDS[i].upper()) for i in range(80)]  # each pair has a character of its own
    prepared = prepare(make_settings(write_corpus(tmp_path / "train", pairs), held_out=10), tmp_path / "out")
    tokenizer = prepared.tokenizers.source
    learned = {character for piece in tokenizer.pieces(range(tokenizer.size)) for character in piece if character > "\u4000"}
    assert learned == {source[-1] for source, _ in training_text(prepared)} and len(learned) == 60


def test_a_chosen_vocabulary_has_room_for_many_characters(tmp_path: Path) -> None:
    pairs = [(f"word {i}", "".join(chr(0x4E00 + 4 * i + k) for k in range(4))) for i in range(300)]
    stem = write_corpus(tmp_path / "train", pairs)
    assert prepare(make_settings(stem, tokenizer={"vocab_size": None}), tmp_path / "out").tokenizers.source.size > 1_000
    with pytest.raises(RequestError, match="of 400 pieces is too small"):
        prepare(make_settings(stem), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_nothing_left_to_train_on(stem: str, tmp_path: Path) -> None:
    given = write_corpus(tmp_path / "dev", [("new", "NEW")])
    with pytest.raises(DataError, match=r"No pair is left to train on: 300 read; dropped: 300 over 2 pieces"):
        prepare(make_settings(stem, max_length=2, valid=given, test=given), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    blank = write_corpus(tmp_path / "blank", [("", "a"), ("b", " ")])
    with pytest.raises(DataError, match="2 read; dropped: 2 blank"):
        prepare(make_settings(blank), tmp_path / "out")


def test_very_many_files_have_one_fingerprint_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headway.data.prepare.MANY", 1)
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    together, apart = fingerprint([Path("a"), Path("b")]), fingerprint([Path("a"), tmp_path / "b"])
    assert list(together) == [""] and list(apart) == ["2 files"]


def test_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="No training corpus"):
        prepare(make_settings([]), tmp_path / "out")


def test_weights_become_segments(stem: str, tmp_path: Path) -> None:
    other = write_corpus(tmp_path / "crawl", make_pairs(100, seed=9))
    prepared = prepare(make_settings([stem, f"{other}:0.3"], held_out=1), tmp_path / "out")
    first, second = prepared.train.segments
    assert (first.start, first.end, second.end) == (0, second.start, len(prepared.train))
    assert (first.weight, second.weight) == (1.0, 0.3)


def test_resampling_gives_other_cuts_of_the_same_text(stem: str, tmp_path: Path) -> None:
    prepared = prepare(make_settings(stem, tokenizer={"sampling": 0.3}), tmp_path / "out")
    text = training_text(prepared)
    stores = {}
    for name, epoch, seed in (("a", 1, 1), ("epoch", 2, 1), ("seed", 1, 2), ("again", 1, 1)):
        store = replace(prepared, seed=seed).store_of_epoch(epoch)
        assert store.segments == prepared.train.segments
        assert prepared.tokenizers.source.decode([store.source(i) for i in range(len(store))]) == [s for s, _ in text]
        stores[name] = files_of(store.directory)
    assert stores["a"] == stores["again"] != stores["epoch"]
    assert stores["a"] != stores["seed"] and stores["a"] != files_of(tmp_path / "out" / "train")
    assert prepare(make_settings(stem, tokenizer={"sampling": 0.1}), tmp_path / "out").reused


def test_a_sampled_cut_over_the_limit_is_replaced_by_the_usual_one(stem: str, tmp_path: Path) -> None:
    prepared = prepare(make_settings(stem, tokenizer={"sampling": 1.0}), tmp_path / "out")
    longest = int(prepared.train.source_lengths.max())
    assert prepared.store_of_epoch(1).source_lengths.max() > longest
    prepared.facts.max_length = longest
    store = prepared.store_of_epoch(1)
    assert store.source_lengths.max() <= longest
    assert training_text(replace(prepared, train=store)) == training_text(prepared)


def test_without_sampling_every_epoch_has_the_same_store(stem: str, tmp_path: Path) -> None:
    prepared = prepare(make_settings(stem), tmp_path / "out")
    assert prepared.store_of_epoch(5) is prepared.train
    sizes = Translation(prepared.tokenizers.target).sizes(prepared.train)
    assert count_tokens(prepared.train, sizes) == sum(len(prepared.train.target(i)) + 1 for i in range(len(prepared.train)))


def test_all_reasons_to_rebuild_are_told_at_once(stem: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert why_rebuild(make_settings(stem), out) == []
    prepare(make_settings(stem), out)
    assert why_rebuild(make_settings(stem), out) == []
    write_corpus(Path(stem), make_pairs(301))
    reasons = why_rebuild(make_settings(stem, max_length=99), out)
    assert reasons == [f"{stem}.de changed", f"{stem}.en changed", "setting data.max_length changed"]
    assert prepare(make_settings(stem, max_length=99), out).note == f"{'; '.join(reasons)}: prepared anew"


def test_the_text_is_kept_only_for_sampling(stem: str, tmp_path: Path) -> None:
    prepare(make_settings(stem), tmp_path / "out")
    assert not (tmp_path / "out" / "train.source").exists()


def test_progress_is_reported_by_stages(stem: str, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    prepare(make_settings(stem), tmp_path / "out", lambda *step: seen.append(step))
    assert list(dict.fromkeys(stage for stage, _, _ in seen)) == [
        "Checking files",
        "Reading",
        "Gathering text",
        "Learning the vocabulary",
        "Tokenising",
    ]
    assert seen[-1] == ("Tokenising", 300, 300)


def test_reading_knows_how_much_there_is(stem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "PART", 100)
    (tmp_path / "more.tsv").write_text("en\tde\n" + "".join(f"line {i}\tZeile {i}\n" for i in range(99)))
    seen: list[tuple[str, int, int | None]] = []
    prepare(make_settings([stem, str(tmp_path / "more.tsv")]), tmp_path / "out", lambda *step: seen.append(step))
    assert [step[1:] for step in seen if step[0] == "Reading"] == [(100, 400), (200, 400), (300, 400), (399, 399)]


def test_pairs_as_text_are_read_back_exactly(tmp_path: Path) -> None:
    pairs = [("\ufeffa\r", "\u2028"), ("", "b\x0c\x85 \r"), (" c\0", "\t")]
    with PairWriter(tmp_path, "x") as writer:
        writer.append(pairs)
    assert list(read_pairs(tmp_path, "x")) == pairs
    with pytest.raises(ValueError, match="line end"), PairWriter(tmp_path, "y") as writer:
        writer.append([("a\nb", "c")])


def test_a_tsv_with_the_same_sentence_in_both_columns(tmp_path: Path) -> None:
    (tmp_path / "memory.tsv").write_text("".join(f"line {i}\tline {i}\n" for i in range(50)))
    with pytest.raises(DataError, match=r"Source and target are the same throughout .*: 50 pairs\."):
        prepare(make_settings(str(tmp_path / "memory.tsv")), tmp_path / "out")


def test_a_direction_between_known_languages_may_lack_a_corpus_but_no_language(stem: str, tmp_path: Path) -> None:
    (tmp_path / "more.tsv").write_text("fr\ten\n" + "".join(f"ligne {i}\tline number {i}\n" for i in range(50)))
    corpora = [stem, str(tmp_path / "more.tsv")]
    prepared = prepare(make_settings(corpora, **{"from": "en,fr", "to": "en,de"}), tmp_path / "data")
    assert "no corpus, so not learned: fr → de" in prepared.summary()[1]
    with pytest.raises(DataError, match="learn --from es from"):
        prepare(make_settings(corpora, **{"from": "en,fr,es", "to": "en,de"}), tmp_path / "other")


def test_no_direction_sees_what_another_is_tested_on(stem: str, tmp_path: Path) -> None:
    settings = make_settings(stem, tokenizer={"sampling": 0.3}, **{"from": "en,de", "to": "en,de"}, held_out=20)
    prepared = prepare(settings, tmp_path / "data")
    reads = prepared.tokenizers.source
    assert prepared.facts.directions == {"en → de": 260, "de → en": 260}
    held_out = {text for pair in (*prepared.valid, *prepared.test) for text in pair}
    assert all(source.startswith(("<2de> ", "<2en> ")) for source, _ in prepared.test)
    held_out = {text.removeprefix("<2de> ").removeprefix("<2en> ") for text in held_out}
    for store in (prepared.train, prepared.store_of_epoch(1)):
        sources, targets = ([list(side(row)) for row in range(len(store))] for side in (store.source, store.target))
        assert {source[0] for source in sources} == set(reads.tags) and not {i for ids in targets for i in ids} & set(
            reads.tags
        )
        assert not held_out & {*reads.decode(sources), *reads.decode(targets)}
    asked = prepared.questions("test", list_directions("en,de", "en,de"))
    assert len(asked.pairs) == 20 and not any("<2" in source for source in asked.sources)
    assert asked[:3].to == [source[2:4] for source, _ in prepared.test[:3]]


def test_every_direction_is_held_out_as_often_whatever_the_order_of_corpora(tmp_path: Path) -> None:
    """Of three files, the pairs into twi repeat the fewest sentences: by that alone, no others would be held out."""
    pairs = make_pairs(300)
    stem = write_corpus(tmp_path / "train", pairs)
    Path(f"{stem}.twi").write_text("".join(f"{source.title()}\n" for source, _ in pairs), encoding="utf-8")
    more = write_corpus(tmp_path / "more", make_pairs(100, seed=2))
    ways = ["de → en", "de → twi", "en → de", "en → twi"]
    first = prepare(make_settings([stem, more], **{"from": "en,de", "to": "en,de,twi"}, held_out=12), tmp_path / "first")
    assert first.facts.valid_directions == first.facts.test_directions == dict.fromkeys(ways, 3)
    asked = first.questions("valid", list_directions("en,de", "en,de,twi"))
    assert sorted(map(str, asked.directions[:4])) == ways  # in turn
    held_out = {text.split("> ")[-1] for pair in (*first.valid, *first.test) for text in pair}
    assert not held_out & {text for pair in training_text(first) for text in pair}
    other = prepare(make_settings([more, stem], **{"from": "de,en", "to": "twi,de,en"}, held_out=12), tmp_path / "other")
    assert (other.valid, other.test) == (first.valid, first.test)
    few = write_corpus(tmp_path / "few", make_pairs(20))  # of 40 pairs, 2 % are one
    small = prepare(make_settings(few, **{"from": "en,de", "to": "en,de"}), tmp_path / "small")
    assert small.facts.valid_directions == small.facts.test_directions == {"de → en": 1, "en → de": 1}


def test_held_out_parts_have_the_directions_that_they_have(stem: str, tmp_path: Path) -> None:
    valid = write_corpus(tmp_path / "valid", make_pairs(10, seed=2))
    (tmp_path / "test.tsv").write_text("en\tde\nnew words\tNEW WORDS\n")
    both = {"from": "en,de", "to": "en,de"}
    settings = make_settings(stem, valid=valid, test=str(tmp_path / "test.tsv"), **both)
    (tmp_path / "test.tsv").write_text("en\tde\tfr\nnew words\tNEW WORDS\t\n")
    prepared = prepare(settings, tmp_path / "data")
    assert (len(prepared.valid), len(prepared.test)) == (20, 2)
    settings = make_settings([stem, stem], prefix=["<a> ", "<b> "], valid=valid, **both)
    with pytest.raises(DataError, match="a source without a prefix"):
        prepare(settings, tmp_path / "other")
    tagged = write_corpus(tmp_path / "tagged", [(f"<a> {source}", f"<b> {target}") for source, target in make_pairs(9, seed=3)])
    prepared = prepare(settings.model_copy(update={"data": settings.data.model_copy(update={"valid": tagged})}), tmp_path / "c")
    assert prepared.valid[0][0].startswith("<2de> <a> ") and prepared.valid[1][0].startswith("<2en> <b> ")  # in turn
    first = prepared.tokenizers.source.encode([prepared.valid[1][0]])[0][:2]
    assert prepared.tokenizers.source.pieces(first) == ["<2en>", "<b>"]
