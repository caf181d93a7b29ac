"""An imported Marian model against Marian itself: `pymarian`, by the Python that HEADWAY_PYMARIAN_PYTHON names.

Models with the norm first are held against Marian's scorer only. Its decoder computes something else than its trainer and its
scorer: from the second word on, the keys and values of its self-attention are not normed.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from marian_models import PRENORM, SEPARATE, UNTIED, list_vocabularies, write_release

from headway.bundle import Bundle, read_bundle
from headway.decoding.options import Options
from headway.decoding.search import beam_search
from headway.engines.torch import Caches
from headway.imports.marian import import_marian
from headway.models.encoder_decoder import EncoderDecoder

PYTHON = os.environ.get("HEADWAY_PYMARIAN_PYTHON", sys.executable)
FACTOR = 3  # a translation has at most as many pieces for each of the source's


@cache
def has_pymarian() -> bool:
    return subprocess.run([PYTHON, "-c", "import pymarian"], capture_output=True).returncode == 0


@pytest.fixture(autouse=True)
def marian() -> None:
    if not has_pymarian():
        pytest.skip(f"{PYTHON} has no pymarian; name one that has in HEADWAY_PYMARIAN_PYTHON")


pytestmark = pytest.mark.soak
POST: dict[str, dict[str, Any]] = {
    "plain": {},
    "gelu": {"transformer-ffn-activation": "gelu", "dim-emb": 24, "transformer-heads": 3},
    "separate": SEPARATE | {"transformer-ffn-activation": "relu"},
    "untied": UNTIED | {"enc-depth": 3, "dec-depth": 1, "transformer-dim-ffn": 40},
    "one-head": {"dim-emb": 10, "transformer-heads": 1, "enc-depth": 1, "dec-depth": 4, "transformer-dim-ffn": 7},
}
PRE = {"prenorm": PRENORM, "prenorm-untied": PRENORM | UNTIED | {"enc-depth": 1, "dec-depth": 3}}


class Pair:
    """The same model twice: the release, and the bundle made of it."""

    def __init__(self, directory: Path, seed: int, **shape: Any) -> None:
        self.release = write_release(directory / "release", seed=seed, ends=2.0, **shape)
        import_marian(self.release, directory / "bundle", source_language="en", target_language="de")
        self.bundle: Bundle = read_bundle(directory / "bundle")
        model = self.bundle.build_model()
        assert isinstance(model, EncoderDecoder)
        self.model, self.source, self.target = model, self.bundle.tokenizers.source, self.bundle.tokenizers.target
        self.words = list_vocabularies(separate=self.bundle.manifest.architecture.tie != "all")
        self.random = np.random.default_rng(seed)

    def draw(self, side: int, length: int) -> list[str]:
        return [str(word) for word in self.random.choice(self.words[side][2:], size=length)]

    def ids(self, side: int, words: list[str]) -> list[int]:
        tokenizer = (self.source, self.target)[side]
        return [tokenizer.ids.get(word, tokenizer.unk) for word in words]  # type: ignore[attr-defined]

    def ask(self, verb: str, *arguments: object, text: str | None = None) -> list[str]:
        decoder = yaml.safe_load((self.release / "decoder.yml").read_text())
        files = ["-m", self.release / decoder["models"][0], "-v", *(self.release / name for name in decoder["vocabs"])]
        command = [PYTHON, "-m", "pymarian", verb, *files, "--cpu-threads", 1, "--quiet", "--workspace", 64, *arguments]
        return subprocess.run(
            list(map(str, command)), input=text, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    def step(self, tokens: torch.Tensor, state: Caches) -> tuple[torch.Tensor, Caches]:
        """The unknown is never taken, but it has its share of the probabilities, as in Marian."""
        x, cache = self.model.decode(tokens[:, None], state.caches[0])
        logits = self.model.output.logits(x[:, 0])
        logits[:, self.target.pad] = -torch.inf
        scores = logits.log_softmax(dim=-1)
        scores[:, self.target.unk] = -torch.inf
        return scores, Caches((cache,))

    def start(self, source: list[int]) -> Caches:
        return Caches((self.model.start(torch.tensor([source])),))


@pytest.mark.parametrize("name", [*POST, *PRE])
def test_scores(tmp_path: Path, name: str):
    pair = Pair(tmp_path, seed=3, **(POST | PRE)[name])
    lengths = [(1, 1), (2, 40), (40, 2), (5, 300), (200, 5), *((n, 20 - n) for n in range(1, 20, 3))]
    sources, targets = ([pair.draw(side, both[side]) for both in lengths] for side in (0, 1))
    sources[0], targets[0] = ["no-piece"], ["no-piece"]
    for file, some in (("source", sources), ("target", targets)):
        (tmp_path / file).write_text("".join(" ".join(words) + "\n" for words in some), encoding="utf-8")
    lines = pair.ask("score", "-t", tmp_path / "source", tmp_path / "target", "--word-scores", "--max-length", 1000)
    assert len(lines) == len(sources)
    for source, target, line in zip(sources, targets, lines, strict=True):
        wanted = [float(score) for score in line.split("WordScores=")[1].split()]
        ids = [*pair.ids(1, target), pair.target.eos]
        with torch.no_grad():
            logits = pair.model(
                torch.tensor([[*pair.ids(0, source), pair.source.eos]]), torch.tensor([[pair.target.bos, *ids[:-1]]])
            )[0, :, :-1]  # Marian has no row for the pad mark
        found = logits.log_softmax(dim=-1)[range(len(ids)), ids]
        assert abs(float(found.sum()) - sum(wanted)) / len(ids) < 1e-5


@pytest.mark.parametrize("name", POST)
@pytest.mark.parametrize(("beam", "normalize"), [(1, 0.0), (4, 1.0), (6, 0.6)])
def test_translations(tmp_path: Path, name: str, beam: int, normalize: float):
    pair = Pair(tmp_path, seed=4, **POST[name])
    sources = [pair.draw(0, length) for length in (1, 2, 3, 5, 8, 13)]
    text = "".join(" ".join(words) + "\n" for words in sources)
    search = ("-b", beam, "-n", normalize, "--max-length-factor", FACTOR, "--mini-batch", 1)
    wanted = [pair.ids(1, line.split()) for line in pair.ask("decode", *search, text=text)]
    found = [search_as_marian(pair, [*pair.ids(0, words), pair.source.eos], beam, normalize) for words in sources]
    assert found == wanted
    if beam == 1:
        assert [search_greedily(pair, [*pair.ids(0, words), pair.source.eos]) for words in sources] == wanted


def search_greedily(pair: Pair, source: list[int]) -> list[int]:
    marks = {"bos": pair.target.bos, "eos": pair.target.eos}
    limits = torch.tensor([FACTOR * len(source)])
    ((best,),) = beam_search(pair.step, pair.start(source), **marks, limits=limits, options=Options(beam=1))
    return best.tokens


@torch.no_grad()
def search_as_marian(pair: Pair, source: list[int], beam: int, normalize: float) -> list[int]:
    """Its rule: a hypothesis that ends leaves the beam, and nothing takes its place; the search is over when the beam is empty.

    At the limit those alive count as ended. The best by n^normalize, the end counted, wins.
    """
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[tuple[float, list[int]]] = []
    state, last, limit = pair.start(source), torch.tensor([pair.target.bos]), FACTOR * len(source)
    for length in range(1, limit + 1):
        gains, state = pair.step(last, state)
        totals = (torch.tensor([total for total, _ in alive])[:, None] + gains).flatten()
        best, places = totals.topk(beam)
        parents = (places // gains.shape[1]).tolist()
        grown = [
            (total, [*alive[parent][1], place % gains.shape[1]])
            for total, parent, place in zip(best.tolist(), parents, places.tolist(), strict=True)
        ]
        over = [tokens[-1] == pair.target.eos or length == limit for _, tokens in grown]
        ended += [(total / length**normalize, tokens) for (total, tokens), end in zip(grown, over, strict=True) if end]
        alive = [one for one, end in zip(grown, over, strict=True) if not end]
        if not alive:
            break
        beam = len(alive)
        last = torch.tensor([tokens[-1] for _, tokens in alive])
        rows = torch.tensor([parent for parent, end in zip(parents, over, strict=True) if not end])
        state = state.select(rows, None)
    tokens = max(ended)[1]
    return tokens[:-1] if tokens[-1] == pair.target.eos else tokens
