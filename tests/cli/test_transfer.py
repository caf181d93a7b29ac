"""`headway train --init` with another pair's model: a new vocabulary, and nothing lost of what the model knows."""

import json
import math
from pathlib import Path

import pytest
import torch
from conftest import SMALL, write_corpus
from copy_reverse import make_pairs
from small_models import write_model

from headway.bundle import read_bundle
from headway.data.batching import Batch
from headway.models.transformer import Transformer
from headway.training import loss as losses

SHAPE = SMALL[:-2]
ONE = ("--max-steps", 1, "--valid-every", 1, "--learning-rate", 1e-9, "--average", 1)  # an update that changes nothing


@pytest.fixture(scope="module")
def dutch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stem of .en and .nl: another language with most of the words, and some of its own."""
    pairs = [(source, target.replace("oak", "eik").replace("fir", "den")) for source, target in make_pairs(300)]
    stem = write_corpus(tmp_path_factory.mktemp("dutch") / "train", pairs)
    stem.with_name("train.de").rename(stem.with_name("train.nl"))
    return stem


def command(dutch: Path, out: Path, *more: object) -> list[object]:
    return ["train", "--train", dutch, "--from", "en", "--to", "nl", "--out", out, "--batch-tokens", 512, *more]


def first_loss(out: Path) -> float:
    return json.loads((out / "metrics.jsonl").read_text().splitlines()[0])["valid_loss"]


def test_it_begins_with_what_the_model_knows(run: Path, dutch: Path, tmp_path: Path, headway) -> None:
    transferred, fresh = tmp_path / "transferred", tmp_path / "fresh"
    options = ("--vocab-size", 310, "--kind", "unigram", *ONE)
    result = headway(*command(dutch, transferred, "--init", run / "best", *options))
    assert result.code == 0, result.err
    assert headway(*command(dutch, fresh, *SHAPE, *options)).code == 0
    assert first_loss(transferred) < first_loss(fresh) - 0.5

    before, after = read_bundle(run / "best"), read_bundle(transferred / "last")
    theirs, ours = (
        {piece: n for n, piece in enumerate(t.pieces(range(t.size)))}
        for t in (before.tokenizers.source, after.tokenizers.source)
    )
    own = sorted(theirs.keys() & ours.keys())
    told = f"Vocabulary: {len(ours)} pieces, {len(own)} of them the model's own, {len(ours) - len(own)} begin from their parts."
    assert told in result.err
    name = "source_embedding.weight"
    rows = after.weights()[name][[ours[piece] for piece in own]]
    torch.testing.assert_close(rows, before.weights()[name][[theirs[piece] for piece in own]], atol=1e-6, rtol=0)
    facts = after.manifest
    assert (facts.target_language, facts.tokenizer.kind, facts.architecture.target_vocab) == ("nl", "unigram", len(ours))


def test_another_size_of_the_vocabulary_is_a_new_one(run: Path, corpus: Path, tmp_path: Path, headway) -> None:
    more = ("--from", "en", "--to", "de", "--vocab-size", 310, "--batch-tokens", 512, "--out", tmp_path / "out", *ONE)
    refused = headway("train", "--init", run / "best", "--train", corpus, *more)
    assert refused.code == 2 and "which --vocab-size would change" in refused.err
    assert "--vocabulary new learns another vocabulary." in refused.err
    result = headway("train", "--init", run / "best", "--train", corpus, *more, "--vocabulary", "new")
    assert result.code == 0, result.err


def test_an_interrupted_transfer_ends_where_it_would_have(run: Path, dutch: Path, tmp_path: Path, headway) -> None:
    def train(out: Path, steps: int) -> bytes:
        budget = ["--max-steps", steps, "--schedule", "inverse-sqrt", "--warmup", 2, "--valid-every", 2, "--sampling", 0.1]
        result = headway(*command(dutch, out, "--init", run / "best", "--vocab-size", 310, *budget))
        assert result.code == 0, result.err
        return (out / "last" / "weights.safetensors").read_bytes()

    whole = train(tmp_path / "whole", 4)
    train(tmp_path / "halves", 2)
    assert train(tmp_path / "halves", 4) == whole


def test_a_setback_to_the_beginning_begins_with_the_same_rows(
    run: Path, dutch: Path, tmp_path: Path, headway, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute, seen = losses.batch_loss, []

    def batch_loss(model: Transformer, batch: Batch, smoothing: float) -> torch.Tensor:
        if model.training:
            seen.append(model.source_embedding.weight.detach().clone())
        return compute(model, batch, smoothing) * (math.nan if model.training and len(seen) == 2 else 1)

    monkeypatch.setattr(losses, "batch_loss", batch_loss)
    budget = ("--max-steps", 3, "--valid-every", 3, "--processes", 1)
    result = headway(*command(dutch, tmp_path / "run", "--init", run / "best", "--vocab-size", 310, *budget))
    assert result.code == 0 and "back to the beginning" in result.err, result.err
    assert torch.equal(seen[2], seen[0]) and not torch.equal(seen[1], seen[0])


def test_separate_vocabularies_stay_separate_in_the_model(dutch: Path, tmp_path: Path, headway) -> None:
    """One new vocabulary may serve two embeddings; what is tied is the model's."""
    start = write_model(tmp_path / "start", tie="target")
    result = headway(*command(dutch, tmp_path / "run", "--init", start, "--vocab-size", 330, *ONE))
    assert result.code == 0, result.err
    assert "Source vocabulary: 3" in result.err and "Target vocabulary: 3" in result.err
    made = read_bundle(tmp_path / "run" / "best")
    assert made.tokenizers.shared and made.manifest.architecture.tie == "target"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--no-shared"], "one embedding for both languages"),
        (["--d-model", 64, "--vocab-size", 310], "has its own shape, which --d-model would change"),
        (["--vocabulary", "own", "--vocab-size", 310], "shape and vocabulary, which --vocab-size would change"),
        (["--vocabulary", "old"], "Setting tokenizer.vocabulary"),
        (["--vocabulary", "new", "--task", "denoise"], "A new vocabulary is for models that learn to translate"),
    ],
)
def test_requests_that_cannot_be_met(options: list[object], words: str, dutch: Path, tmp_path: Path, headway) -> None:
    start = write_model(tmp_path / "start")
    result = headway(*command(dutch, tmp_path / "run", "--init", start, *options))
    assert result.code == 2 and words in result.err and "Traceback" not in result.err


def test_without_a_model_there_is_no_vocabulary_to_take(dutch: Path, tmp_path: Path, headway) -> None:
    result = headway(*command(dutch, tmp_path / "run", "--vocabulary", "new"))
    assert result.code == 2 and "--vocabulary says what becomes of the vocabulary of a model to begin with" in result.err
