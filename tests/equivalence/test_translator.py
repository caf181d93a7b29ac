"""A batch against one sentence at a time; cached decoding against the whole prefix at every step; beam 1 against greedy."""

from pathlib import Path

import pytest
import torch
from copy_reverse import make_pairs

import headway
from headway.models.transformer import Transformer

SOURCES = [source for source, _ in make_pairs(25, seed=9)]


@pytest.fixture(scope="module")
def translator(run: Path) -> headway.Translator:
    """A model whose choices are clear: weights scaled up, so that no two candidates are nearly alike."""
    translator = headway.load(run / "best")
    with torch.no_grad():
        for parameter in translator.engine.model.parameters():
            parameter.mul_(1.5)
    return translator


@pytest.mark.parametrize("beam", [1, 4])
def test_a_batch_is_its_sentences(translator: headway.Translator, beam: int):
    together = translator.translate(SOURCES, beam=beam, nbest=beam)
    for source, found in zip(SOURCES, together, strict=True):
        (alone,) = translator.translate([source], beam=beam, nbest=beam)
        assert alone.text == found.text
        assert alone.score == pytest.approx(found.score, abs=1e-3)


@pytest.mark.parametrize("tokens", [1, 64, 10_000])
def test_the_size_of_batches_changes_nothing(translator: headway.Translator, tokens: int):
    assert [t.text for t in translator.translate(SOURCES, batch_tokens=tokens)] == [
        t.text for t in translator.translate(SOURCES)
    ]


def test_greedy_with_a_cache_is_greedy_over_the_whole_prefix(translator: headway.Translator):
    engine, model = translator.engine, translator.engine.model
    for source, pieces in zip(SOURCES[:6], translator.tokenizers.source.encode(SOURCES[:6]), strict=True):
        limit = 12
        slow = _greedy_slowly(model, [*pieces, engine.eos], engine.bos, engine.eos, engine.never, limit)
        ((fast,),) = engine.translate([pieces], beam=1, length_penalty=0.0, limits=[limit])
        assert fast.tokens == slow, source


def _greedy_slowly(model: Transformer, source: list[int], bos: int, eos: int, never: list[int], limit: int) -> list[int]:
    target = [bos]
    with torch.inference_mode():
        while len(target) <= limit:
            logits = model(torch.tensor([source]), torch.tensor([target]))[0, -1]
            logits[never] = -torch.inf
            best = int(logits.argmax())
            if best == eos:
                break
            target.append(best)
    return target[1:]


def test_encoding_a_batch_is_encoding_its_sentences(translator: headway.Translator):
    for pool in (True, False):
        for together, source in zip(translator.encode(SOURCES, pool=pool), SOURCES, strict=True):
            torch.testing.assert_close(
                torch.tensor(together), torch.tensor(translator.encode([source], pool=pool)[0]), atol=1e-4, rtol=1e-3
            )
