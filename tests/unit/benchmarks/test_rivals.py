"""The rivals of the Transformer: what is asked of any translator, and that they are as large as they should be."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from headway.data.objectives import Translation
from headway.models.model import count_parameters
from headway.models.weights import get_weights
from headway.training.group import Group
from headway.training.loss import Loss
from headway.training.replicas import Replicas

RIVALS = Path(__file__).parents[3] / "benchmarks" / "rivals"
MODULES = ("rival", "recurrent", "convolutional", "gradients", "learning", "processes", "testing", "train")
PAD, UNK, BOS, EOS = 0, 1, 2, 3
both = pytest.mark.parametrize("kind", ["recurrent", "convolutional"])


@pytest.fixture(scope="module")
def rival() -> Iterator[Any]:
    """The module, which finds its neighbours as it does when a script of theirs is run."""
    sys.path.insert(0, str(RIVALS))
    yield importlib.import_module("rival")
    sys.path.remove(str(RIVALS))
    for name in MODULES:
        sys.modules.pop(name, None)


def build(rival: Any, kind: str, *, width: int = 16, dropout: float = 0.0, vocab: int = 20) -> Any:
    shape = rival.Shape(kind, vocab, vocab, shared=True, d_model=12, width=width, dropout=dropout, pad=PAD)
    return rival.build_rival(shape).eval()


@pytest.fixture
def source() -> torch.Tensor:
    return torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, EOS, PAD, PAD, PAD]])


@pytest.fixture
def target() -> torch.Tensor:
    return torch.tensor([[BOS, 5, 6, 7, 8], [BOS, 9, 10, 11, 12]])


@both
def test_states_are_as_wide_as_the_embeddings(rival: Any, kind: str, source: torch.Tensor, target: torch.Tensor) -> None:
    model = build(rival, kind)
    assert model.states(source, target).shape == (2, 5, 12)
    assert model(source, target).shape == (2, 5, 20)
    assert model.output.weight is model.source_embedding.weight is model.target_embedding.weight


@both
def test_the_decoder_does_not_look_ahead(rival: Any, kind: str, source: torch.Tensor, target: torch.Tensor) -> None:
    model = build(rival, kind)
    changed = target.clone()
    changed[:, 3] = 15
    before, after = model.states(source, target), model.states(source, changed)
    torch.testing.assert_close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[:, 3], before[:, 3])


@both
def test_each_state_depends_on_the_whole_source(rival: Any, kind: str, source: torch.Tensor, target: torch.Tensor) -> None:
    model = build(rival, kind)
    before = model.states(source, target)
    for place in range(5):
        changed = source.clone()
        changed[0, place] = 15
        assert not torch.allclose(model.states(changed, target)[0], before[0])


@both
def test_padding_changes_nothing(rival: Any, kind: str, source: torch.Tensor, target: torch.Tensor) -> None:
    model = build(rival, kind)
    alone = model.states(source[1:, :3], target[1:])
    torch.testing.assert_close(model.states(source, target)[1:], alone)


@both
def test_decoding_step_by_step_gives_the_same_states(rival: Any, kind: str, source: torch.Tensor, target: torch.Tensor) -> None:
    model = build(rival, kind)
    whole, cache = model.states(source, target), model.start(source)
    for place in range(target.shape[1]):
        states, cache = model.decode(target[:, place : place + 1], cache)
        torch.testing.assert_close(states[:, 0], whole[:, place])
        cache = cache.select(torch.tensor([0, 1]), torch.tensor([0, 1]))


@both
def test_each_hypothesis_goes_on_with_its_own_past(rival: Any, kind: str, source: torch.Tensor) -> None:
    """As in a beam: both sentences get two hypotheses, which change places, and then the first sentence is done."""
    model = build(rival, kind)

    def decode(tokens: list[int], cache: Any) -> tuple[torch.Tensor, Any]:
        states, cache = model.decode(torch.tensor(tokens)[:, None], cache)
        return states[:, 0], cache

    def whole(sentences: list[int], prefixes: list[list[int]]) -> torch.Tensor:
        return model.states(source[sentences], torch.tensor([[BOS, *prefix] for prefix in prefixes]))[:, -1]

    _, cache = decode([BOS, BOS], model.start(source))
    states, cache = decode([5, 6, 7, 8], cache.select(torch.tensor([0, 0, 1, 1]), None))
    torch.testing.assert_close(states, whole([0, 0, 1, 1], [[5], [6], [7], [8]]))
    states, cache = decode([9, 9, 9, 9], cache.select(torch.tensor([1, 0, 3, 2]), None))
    torch.testing.assert_close(states, whole([0, 0, 1, 1], [[6, 9], [5, 9], [8, 9], [7, 9]]))
    states, cache = decode([10, 11], cache.select(torch.tensor([3, 2]), torch.tensor([1])))
    torch.testing.assert_close(states, whole([1, 1], [[7, 9, 10], [8, 9, 11]]))


@both
def test_a_few_updates_teach_to_copy(rival: Any, kind: str) -> None:
    class Marks:
        pad, bos, eos = PAD, BOS, EOS

    random = torch.Generator().manual_seed(1)
    model = build(rival, kind, dropout=0.1).train()
    learner = Replicas(Loss(model, smoothing=0.0), Group())
    objective, losses = Translation(Marks()), []  # type: ignore[arg-type]
    for _ in range(30):
        texts = torch.randint(4, 20, (24, 5), generator=random).tolist()
        batch = objective.put_together(texts, texts)
        learner.begin()
        loss = learner.loss(batch) / batch.judged
        loss.backward()
        learner.finish(1.0)
        learner.step(0.01)
        losses.append(float(loss.detach()))
    assert sum(losses[-5:]) / 5 < losses[0] - 0.4


@both
@pytest.mark.parametrize("parameters", [200_000, 2_300_000])
def test_widths_are_found_by_counting(rival: Any, kind: str, parameters: int) -> None:
    shape = rival.Shape(kind, 1000, 1000, shared=True, d_model=64, width=0, dropout=0.1, pad=PAD)
    fitted = rival.fit_width(shape, parameters)
    assert count_parameters(rival.build_rival(fitted)) == pytest.approx(parameters, rel=0.02)


@both
def test_what_was_saved_is_read_again(rival: Any, kind: str, tmp_path: Path) -> None:
    model = build(rival, kind)
    rival.save_rival(tmp_path, model.shape, get_weights(model))
    again = rival.load_rival(tmp_path)
    assert again.shape == model.shape
    assert all(torch.equal(weight, get_weights(again)[name]) for name, weight in get_weights(model).items())


@both
def test_gradient_reaches_no_further_than_an_encoder_looks(rival: Any, kind: str, run: Path) -> None:
    from headway.text.tokenizer import Tokenizers

    gradients = importlib.import_module("gradients")
    tokenizer = Tokenizers.load(run / "data" / "tokenizer").source
    texts = ["copy " + " ".join(["oak pine ivy"] * 8)] * 3
    found = gradients.measure_reach(build(rival, kind, vocab=tokenizer.size), tokenizer, texts)
    assert found["distances"] == list(range(20)) and found["relative"][0] == 1
    assert sum(found["share"]) == pytest.approx(1)
    reach = importlib.import_module("convolutional").LAYERS if kind == "convolutional" else 19
    assert all(share > 0 for share in found["share"][: reach + 1])
    assert not any(found["share"][reach + 1 :])


@pytest.mark.soak
def test_a_run_from_end_to_end(
    rival: Any, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rival"
    command = [str(RIVALS / "train.py"), "--model", "recurrent", "--data", str(run / "data"), "--out", str(out)]
    command += ["--minutes", "0.005", "--processes", "2", "--valid-sentences", "1", "--beam", "2"]
    first = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    result = json.loads((out / "result.json").read_text())
    assert {"parameters", "updates", "seconds", "bleu", "chrf", "tokens_per_second", "settings"} <= result.keys()
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert records[-1]["step"] == result["updates"]
    assert {"step", "seconds", "loss", "tokens", "tokens_per_second", "valid_loss", "valid_bleu"} <= records[-1].keys()
    tested = [json.loads(line) for line in (out / "test.jsonl").read_text().splitlines()]
    assert tested and all(set(one) == {"source", "reference", "translation"} for one in tested)
    assert json.loads((out / "gradients.json").read_text())["distances"][0] == 0

    train = importlib.import_module("train")
    written = (out / "result.json").stat().st_mtime_ns
    monkeypatch.setattr(sys, "argv", command)
    train.main()
    assert "complete" in capfd.readouterr().err
    assert (out / "result.json").stat().st_mtime_ns == written
    monkeypatch.setattr(sys, "argv", [*command, "--seed", "2"])
    with pytest.raises(SystemExit) as refused:
        train.main()
    assert refused.value.code == 2 and "another run" in capfd.readouterr().err
