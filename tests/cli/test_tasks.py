"""`headway train --task`: every task from end to end, with what can be done with its model; and what may go wrong."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL, train_command, write_corpus
from copy_reverse import WORDS, make_pairs

from headway.bundle import read_bundle
from headway.cli import main
from headway.data.store import Store

SIZE = SMALL[2:]  # without the preset
WITH_MARKS = [*SIZE[:-1], 420]  # T5's sentinels are pieces too
STEPS = ("--max-steps", 12, "--valid-every", 6, "--batch-tokens", 512)


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def metrics(run: Path) -> dict[str, float]:
    return read_bundle(run / "best").manifest.provenance.metrics


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("texts") / "texts.txt", [source for source, _ in make_pairs(400)])


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts whose class is their first word."""
    rows = [f"{source}\t{source.split()[0]}" for source, _ in make_pairs(400)]
    return write_lines(tmp_path_factory.mktemp("labelled") / "labelled.tsv", ["sentence\tlabel", *rows])


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stem of MNIST-like files: a bright upper half is a 1, a bright lower half a 0."""
    stem = tmp_path_factory.mktemp("pictures") / "train"
    draw = np.random.default_rng(1)
    labels = draw.integers(0, 2, 200).astype(np.uint8)
    images = draw.integers(0, 60, (200, 8, 8)).astype(np.uint8)
    images[labels == 1, :4] += 150
    images[labels == 0, 4:] += 150
    header = np.array([0x803, 200, 8, 8], ">i4").tobytes()
    stem.with_name("train-images-idx3-ubyte").write_bytes(header + images.tobytes())
    stem.with_name("train-labels-idx1-ubyte").write_bytes(np.array([0x801, 200], ">i4").tobytes() + labels.tobytes())
    return stem


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory, texts: Path) -> Path:
    """A run of --task mlm."""
    out = tmp_path_factory.mktemp("masked") / "run"
    command = ["headway", "train", "--task", "mlm", "--train", texts, "--out", out, *SIZE, *STEPS]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr("sys.argv", list(map(str, command)))
        main()
    assert not stop.value.code
    return out


def test_a_language_model_learns_and_goes_on_with_text(texts: Path, tmp_path: Path, headway) -> None:
    out = tmp_path / "run"
    command = ["train", "--task", "lm", "--train", texts, "--out", out, *SIZE, "--max-length", 32, *STEPS]
    result = headway(*command)
    assert result.code == 0, result.err
    assert "headway generate" in result.err
    assert metrics(out).keys() == {"valid_loss", "test_loss"}
    reports = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert reports[-1]["loss"] < reports[0]["loss"]
    assert read_bundle(out / "best").manifest.architecture.max_positions == 32
    written = headway("generate", out / "best", "copy ash", "--max-tokens", 5)
    assert written.code == 0 and written.out.startswith("copy ash")


def test_a_language_model_counts_characters(tmp_path: Path, headway) -> None:
    """With --kind char each character is one token, line ends among them."""
    text = write_lines(tmp_path / "text.txt", ["To be, or not to be:", "", "that is the question."] * 40)
    out = tmp_path / "run"
    options = ["--kind", "char", "--max-length", 16, *SIZE[:-2]]
    result = headway("train", "--task", "lm", "--train", text, "--out", out, *options, *STEPS)
    assert result.code == 0, result.err
    tokenizer = read_bundle(out / "best").tokenizers.source
    content = text.read_text()
    (ids,) = tokenizer.encode([content])
    assert len(ids) == len(content) and tokenizer.decode([ids]) == [content]


def test_gaps_are_filled(masked: Path, headway) -> None:
    assert metrics(masked).keys() == {"valid_loss", "valid_accuracy", "test_loss", "test_accuracy"}
    filled = headway("fill", masked / "best", "copy [MASK] oak", "--top", 2)
    assert filled.code == 0, filled.err
    assert len(filled.out.splitlines()) == 2


def test_classes_of_text_are_learned_from_a_pretrained_model(masked: Path, labelled: Path, tmp_path: Path, headway) -> None:
    out = tmp_path / "run"
    steps = ("--max-steps", 60, "--valid-every", 30, "--batch-tokens", 1024, "--learning-rate", 0.002)
    result = headway("train", "--task", "classify", "--init", masked / "best", "--train", labelled, "--out", out, *steps)
    assert result.code == 0, result.err
    assert metrics(out)["test_accuracy"] == 100
    assert read_bundle(out / "best").manifest.architecture.d_model == 32  # the model's that it began with
    told = headway("classify", out / "best", write_lines(tmp_path / "lines", ["copy ash oak", "reverse oak yew"]))
    assert [line.split("\t")[0] for line in told.out.splitlines()] == ["copy", "reverse"]


def test_a_classifier_learns_other_classes_or_to_fill_gaps(labelled: Path, texts: Path, tmp_path: Path, headway) -> None:
    """Each time with a new head; the rest is taken over."""
    first, second, third = tmp_path / "first", tmp_path / "second", tmp_path / "third"
    assert headway("train", "--task", "classify", "--train", labelled, "--out", first, *SIZE, *STEPS).code == 0
    lines = [line.split("\t")[0] for line in labelled.read_text().splitlines()[1:]]
    other = write_lines(tmp_path / "other.tsv", ["text\tclass", *(f"{line}\t{len(line.split()) % 3}" for line in lines), ""])
    held_out = ["--valid", other, "--test", other]
    result = headway(
        "train", "--task", "classify", "--init", first / "best", "--train", other, *held_out, "--out", second, *STEPS
    )
    assert result.code == 0, result.err
    assert read_bundle(second / "best").tokenizers.target.pieces(range(3)) == ["0", "1", "2"]
    result = headway(
        "train", "--task", "mlm", "--whole-words", "--init", second / "best", "--train", texts, "--out", third, *STEPS
    )
    assert result.code == 0, result.err
    assert read_bundle(third / "best").manifest.architecture.classes == 0


def test_a_language_model_reads_no_more_than_it_could(texts: Path, tmp_path: Path, headway) -> None:
    """What begins with a model of 16 positions learns from passages of 16, whatever the default is."""
    first, second = tmp_path / "first", tmp_path / "second"
    assert headway("train", "--task", "lm", "--train", texts, "--out", first, *SIZE, "--max-length", 16, *STEPS).code == 0
    command = ["train", "--task", "lm", "--init", first / "best", "--train", texts, "--out", second, *STEPS]
    assert headway(*command).code == 0
    assert int(Store(second / "data" / "train").target_lengths.max()) == 17  # and the piece before
    assert "This run is complete" in headway(*command).err


def test_long_texts_are_held_out_like_short_ones(tmp_path: Path, headway) -> None:
    rows = [f"{'long ' * 80 if number % 10 else 'short'} number {number}\t{number % 2}" for number in range(300)]
    table = write_lines(tmp_path / "table.tsv", rows)
    options = ["--max-length", 40, "--held-out", 30, "--max-steps", 1, "--valid-every", 1, "--batch-tokens", 512]
    result = headway("train", "--task", "classify", "--train", table, "--out", tmp_path / "run", *SIZE, *options)
    assert result.code == 0, result.err
    held_out = (tmp_path / "run" / "data" / "test.source").read_text().splitlines()
    assert sum(line.startswith("long") for line in held_out) > 20


def test_classes_of_pictures(pictures: Path, tmp_path: Path, headway) -> None:
    out = tmp_path / "run"
    shape = ["--n-layers", 1, "--d-model", 32, "--d-ff", 64, "--n-heads", 2, "--patch-size", 4, "--held-out", 20]
    steps = ["--max-steps", 40, "--valid-every", 20, "--batch-tokens", 160, "--learning-rate", 0.003]
    result = headway("train", "--task", "classify", "--train", pictures, "--out", out, *shape, *steps)
    assert result.code == 0, result.err
    assert metrics(out)["test_accuracy"] == 100
    again = headway("train", "--task", "classify", "--train", pictures, "--out", out, *shape, *steps)
    assert again.code == 0 and "This run is complete" in again.err


def test_denoising_then_translating(corpus: Path, tmp_path: Path, headway) -> None:
    both = [Path(f"{corpus}.en"), Path(f"{corpus}.de")]
    first, second = tmp_path / "both", tmp_path / "run"
    result = headway("train", "--task", "denoise", "--train", both[0], "--train", both[1], "--out", first, *SIZE, *STEPS)
    assert result.code == 0, result.err
    result = headway("train", "--init", first / "best", *train_command(corpus, second, *STEPS)[1:7], "--out", second, *STEPS)
    assert result.code == 0, result.err
    before, after = read_bundle(first / "best"), read_bundle(second / "best")
    assert before.tokenizer_sums() == after.tokenizer_sums()
    assert before.manifest.architecture == after.manifest.architecture
    assert headway("translate", second / "best", corpus.with_name("train.en")).code == 0


def test_one_model_learns_two_tasks_by_prefix(tmp_path: Path, headway) -> None:
    pairs = [(source.split(" ", 1)[1], target) for source, target in make_pairs(300)]
    reverse = write_corpus(tmp_path / "reverse", [(source, " ".join(source.split()[::-1])) for source, _ in pairs])
    shout = write_corpus(tmp_path / "shout", [(source, source.upper()) for source, _ in pairs])
    out = tmp_path / "run"
    corpora = ["--train", reverse, "--prefix", "reverse: ", "--train", shout, "--prefix", "shout: "]
    result = headway("train", "--family", "t5", *corpora, "--from", "en", "--to", "de", "--out", out, *WITH_MARKS, *STEPS)
    assert result.code == 0, result.err
    assert read_bundle(out / "best").manifest.architecture.kind == "t5"
    tested = (out / "test.txt").read_text()
    assert "reverse: " in tested and "shout: " in tested
    assert headway("translate", out / "best", write_lines(tmp_path / "lines", ["reverse: ash oak"])).code == 0
    spans = ["--task", "span", "--init", out / "best", "--train", f"{reverse}.en"]
    more = headway("train", *spans, "--out", tmp_path / "more", *STEPS)
    assert more.code == 0, more.err


def test_held_out_sources_have_their_prefix(corpus: Path, tmp_path: Path, headway) -> None:
    held_out = write_corpus(tmp_path / "held-out", make_pairs(20, seed=9))
    languages = ["--from", "en", "--to", "de", "--valid", held_out, "--max-steps", 1, "--valid-every", 1]
    one = ["--train", corpus, "--prefix", "do: ", *languages, *SIZE, "--out", tmp_path / "one"]
    assert headway("train", *one).code == 0
    assert (tmp_path / "one" / "data" / "valid.source").read_text().startswith("do: ")
    two = ["--train", corpus, "--prefix", "do: ", "--train", held_out, "--prefix", "or: ", *languages, *SIZE]
    result = headway("train", *two, "--out", tmp_path / "two")
    assert result.code == 3 and "has a source without a prefix" in result.err


@pytest.mark.parametrize("task", ["mlm", "span"])
def test_processes_share_the_work_of_any_task(task: str, texts: Path, tmp_path: Path, headway) -> None:
    """The same updates, whoever computes which part: what is hidden depends on the text and the update alone."""
    found = []
    for processes in (1, 2):
        out = tmp_path / str(processes)
        one = ["--max-steps", 4, "--valid-every", 4, "--batch-tokens", 512, "--dropout", 0, "--processes", processes]
        result = headway("train", "--task", task, "--train", texts, "--out", out, *WITH_MARKS, *one)
        assert result.code == 0, result.err
        found.append(read_bundle(out / "last").weights())
    for name, weight in found[0].items():
        if not name.endswith("input.bias"):  # a bias of keys moves no attention: its gradient is rounding alone
            np.testing.assert_allclose(weight.numpy(), found[1][name].numpy(), atol=1e-4, err_msg=name)


@pytest.mark.parametrize("task", ["mlm", "pictures"])
def test_an_interrupted_run_of_any_task_ends_where_it_would_have(
    task: str, texts: Path, pictures: Path, tmp_path: Path, headway
) -> None:
    of_task = {
        "mlm": ["--task", "mlm", "--train", texts, *SIZE, "--batch-tokens", 512],
        "pictures": ["--task", "classify", "--train", pictures, "--shift", 1, *SIZE[:-2], "--batch-tokens", 80],
    }

    def train(out: Path, steps: int) -> bytes:
        budget = ["--max-steps", steps, "--schedule", "inverse-sqrt", "--warmup", 4, "--valid-every", 4]
        result = headway("train", *of_task[task], "--out", out, *budget)
        assert result.code == 0, result.err
        return (out / "last" / "weights.safetensors").read_bytes()

    whole = train(tmp_path / "whole", 8)
    train(tmp_path / "halves", 4)
    assert train(tmp_path / "halves", 8) == whole


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--task", "lm", "--family", "bert"], 2, "not for the family bert"),
        (["--task", "mlm", "--metric", "bleu"], 2, "no bleu"),
        (["--task", "classify"], 3, "no table of texts and labels"),
        (["--task", "lm", "--sampling", "0.1"], 2, "cut one way only"),
        (["--task", "mlm", "--prefix", "a: "], 2, "has no --prefix"),
        (["--task", "lm", "--hidden", "0.5", "--norm", "post", "--shift", "2"], 2, "has no --hidden, --norm, --shift"),
        (["--task", "denoise", "--r-drop", "1", "--other-names", "2"], 2, "has no --other-names, --r-drop"),
        (
            ["--task", "span", "--attention-dropout", "0.1", "--word-dropout", "0.1"],
            2,
            "no --attention-dropout, --word-dropout",
        ),
        (["--task", "lm", "--max-positions", "8"], 2, "A model of 8 positions cannot read 256 pieces"),
        (["--task", "classify", "--family", "vit"], 2, "classify of text is not for the family vit"),
        (["--task", "dance"], 2, "data.task"),
        (["--task", "lm", "--max-length", "9999"], 3, "too few"),
        (["--task", "mlm", "--d-model", "30", "--n-heads", "4"], 2, "n_heads"),
    ],
)
def test_requests_that_cannot_be_met(options: list[str], code: int, words: str, texts: Path, tmp_path: Path, headway) -> None:
    result = headway("train", "--train", texts, "--out", tmp_path / "run", *options, *STEPS)
    assert result.code == code and words in result.err and "Traceback" not in result.err


def test_a_model_to_begin_with_must_fit(
    masked: Path, corpus: Path, texts: Path, labelled: Path, tmp_path: Path, headway
) -> None:
    of_corpus = ["--train", corpus, "--from", "en", "--to", "de", "--out", tmp_path / "run", *STEPS]
    wrong = headway("train", "--init", masked / "best", *of_corpus)
    assert wrong.code == 2 and "of the kind bert, which the task translate cannot begin with" in wrong.err
    assert not (tmp_path / "run" / "data").exists()
    missing = headway("train", "--init", tmp_path / "none", *of_corpus)
    assert missing.code == 1 and "no model" in missing.err
    of_texts = ["--task", "mlm", "--train", texts, "--out", tmp_path / "run"]
    shape = headway("train", *of_texts, "--init", masked / "best", "--d-model", 64, "--kind", "unigram", "--preset", "big")
    assert shape.code == 2 and "which --preset, --d-model, --kind would change" in shape.err


def test_labels_must_tell_something_apart(tmp_path: Path, headway) -> None:
    same = write_lines(tmp_path / "same.tsv", ["text\tlabel", *(f"{word} {other}\tyes" for word in WORDS for other in WORDS)])
    result = headway("train", "--task", "classify", "--train", same, "--out", tmp_path / "run", *STEPS)
    assert result.code == 3 and "All texts have the label 'yes'" in result.err
    ragged = write_lines(tmp_path / "ragged.tsv", ["text\tlabel", "ash\tyes", "oak"])
    result = headway("train", "--task", "classify", "--train", ragged, "--out", tmp_path / "run2", *STEPS)
    assert result.code == 3 and "1 column in line 3" in result.err


def test_a_label_of_the_held_out_part_must_be_known(labelled: Path, tmp_path: Path, headway) -> None:
    other = write_lines(tmp_path / "other.tsv", ["text\tlabel", "copy ash oak yew yew\tcopied"])
    result = headway(
        "train", "--task", "classify", "--train", labelled, "--valid", other, "--out", tmp_path / "run", *SIZE, *STEPS
    )
    assert result.code == 3 and "other.tsv: The model knows no class 'copied'. Did you mean copy?" in result.err
