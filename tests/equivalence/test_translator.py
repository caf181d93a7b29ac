"""A batch against one sentence at a time; a cache against the whole prefix at every step; a text against its sentences."""

from pathlib import Path

import pytest
import torch
from copy_reverse import make_pairs
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from small_models import write_model

import headway
from headway.decoding.options import Options
from headway.decoding.ranking import Hypothesis
from headway.decoding.rules import Rules
from headway.decoding.search import beam_search
from headway.engines.engine import Job
from headway.engines.torch import TorchEngine
from headway.text.sentences import join

SOURCES = [source for source, _ in make_pairs(15, seed=9)]


@pytest.fixture(scope="module")
def clear(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose choices are clear: no two candidates are nearly alike, and translations differ."""
    return write_model(tmp_path_factory.mktemp("clear") / "model", seed=4, ends=5.0, words=6.0, sharpness=0.5)


@pytest.fixture(scope="module")
def by_torch(clear: Path) -> headway.Translator:
    return headway.load(clear, engine="torch")


@pytest.fixture(scope="module")
def by_ctranslate2(clear: Path) -> headway.Translator:
    return headway.load(clear, engine="ctranslate2", compute_type="float32")


@pytest.fixture(params=["torch", "ctranslate2"])
def translator(request: pytest.FixtureRequest) -> headway.Translator:
    return request.getfixturevalue(f"by_{request.param}")


@pytest.mark.parametrize("beam", [1, 4])
def test_a_batch_is_its_sentences(translator: headway.Translator, beam: int) -> None:
    together = translator.translate(SOURCES, beam=beam, nbest=beam, max_extra=8)
    assert len({found.text for found in together}) > 5
    for source, found in zip(SOURCES, together, strict=True):
        (alone,) = translator.translate([source], beam=beam, nbest=beam, max_extra=8)
        assert alone.text == found.text
        assert alone.score == pytest.approx(found.score, abs=1e-3)
        assert [other.text for other in alone.alternatives] == [other.text for other in found.alternatives]


@pytest.mark.parametrize("tokens", [1, 64, 10_000])
def test_the_size_of_batches_changes_nothing(translator: headway.Translator, tokens: int) -> None:
    assert [t.text for t in translator.translate(SOURCES, batch_tokens=tokens, max_extra=8)] == [
        t.text for t in translator.translate(SOURCES, max_extra=8)
    ]


def test_scoring_a_translation_gives_the_score_it_had(translator: headway.Translator) -> None:
    """Where its text is cut into the pieces that were written, which need not be the tokenizer's own choice."""
    found = [
        one
        for beam, bans in ((1, 0), (4, 0), (4, 2))
        for one in translator.translate(SOURCES, tokens=True, max_extra=8, beam=beam, no_repeat_ngram=bans, min_length=bans)
    ]
    scored = translator.score([one.source for one in found], [one.text for one in found])
    same = [pair for pair in zip(found, scored, strict=True) if _pieces(pair[0]) == _pieces(pair[1])]
    assert len({one.text for one, _ in same}) > 2
    for one, other in same:
        assert other.score == pytest.approx(one.score, abs=1e-3)


def _pieces(translation: headway.Translation) -> list[str]:
    return [piece for piece, _ in translation.tokens or []]


class WithoutCache:
    """The torch engine's step function over the whole prefix each time: the slow twin."""

    def __init__(self, engine: TorchEngine, source: list[int]) -> None:
        self.engine, self.source = engine, torch.tensor([[*source, engine.eos]])

    def step(self, last: torch.Tensor, read: "Read") -> tuple[torch.Tensor, "Read"]:
        tokens = torch.cat([read.tokens, last[:, None]], dim=1)
        logits = self.engine.model(self.source.expand(len(tokens), -1), tokens)[:, -1]
        logits[:, self.engine.never] = -torch.inf
        return logits.log_softmax(dim=-1), Read(tokens)


class Read:
    def __init__(self, tokens: torch.Tensor) -> None:
        self.tokens = tokens

    def select(self, rows: torch.Tensor, sentences: torch.Tensor | None) -> "Read":
        return Read(self.tokens[rows])


@pytest.mark.parametrize("options", [Options(beam=1), Options(beam=4), Options(beam=3, patience=2.0, no_repeat_ngram=2)])
def test_with_a_cache_is_over_the_whole_prefix(by_torch: headway.Translator, options: Options) -> None:
    engine, limit = by_torch.engines.torch, 12
    sources = by_torch.tokenizers.source.encode(SOURCES[:6])
    fast = _translate(engine, Job(sources, [limit] * len(sources), options))
    for source, found in zip(sources, fast, strict=True):
        with torch.inference_mode():
            (slow,) = beam_search(
                WithoutCache(engine, source).step,
                Read(torch.empty(1, 0, dtype=torch.long)),
                bos=engine.bos,
                eos=engine.eos,
                limits=torch.tensor([limit]),
                options=options,
                rules=Rules.of(options, engine.eos),
            )
        assert [one.tokens for one in found] == [one.tokens for one in slow]


def test_greedy_takes_the_largest_logit_each_time(by_torch: headway.Translator) -> None:
    engine, limit = by_torch.engines.torch, 12
    for source in by_torch.tokenizers.source.encode(SOURCES[:6]):
        ((fast,),) = _translate(engine, Job([source], [limit], Options(beam=1)))
        assert fast.tokens == _greedy_slowly(engine, [*source, engine.eos], limit)


def _translate(engine: TorchEngine, job: Job) -> list[list[Hypothesis]]:
    found = {place: some for places, all_of in engine.translate(job, 256) for place, some in zip(places, all_of, strict=True)}
    return [found[place] for place in range(len(job.sources))]


def _greedy_slowly(engine: TorchEngine, source: list[int], limit: int) -> list[int]:
    target = [engine.bos]
    with torch.inference_mode():
        while len(target) <= limit:
            logits = engine.model(torch.tensor([source]), torch.tensor([target]))[0, -1]
            logits[engine.never] = -torch.inf
            best = int(logits.argmax())
            if best == engine.eos:
                break
            target.append(best)
    return target[1:]


def test_encoding_a_batch_is_encoding_its_sentences(by_torch: headway.Translator) -> None:
    for pool in (True, False):
        for together, source in zip(by_torch.encode(SOURCES, pool=pool), SOURCES, strict=True):
            torch.testing.assert_close(
                torch.tensor(together), torch.tensor(by_torch.encode([source], pool=pool)[0]), atol=1e-4, rtol=1e-3
            )


TEXT = "  Copy oak elm. Reverse ash fir!\n\nCopy yew?  Reverse pine ivy larch. \t"


def test_a_text_is_its_sentences(translator: headway.Translator) -> None:
    (whole,) = translator.translate([TEXT], beam=3, nbest=2, tokens=True, max_extra=6)
    alone = translator.translate(
        ["Copy oak elm.", "Reverse ash fir!", "Copy yew?", "Reverse pine ivy larch."], beam=3, nbest=2, tokens=True, max_extra=6
    )
    assert len({one.text for one in alone}) > 1
    assert [part.text for part in whole.sentences] == [one.text for one in alone]
    assert whole.text == join(
        ["  Copy oak elm. ", "Reverse ash fir!\n\n", "Copy yew?  ", "Reverse pine ivy larch. \t"], [one.text for one in alone]
    )
    assert whole.score == pytest.approx(sum(one.score for one in alone), abs=1e-3)
    assert _pieces(whole) == [piece for one in alone for piece in _pieces(one)]
    assert whole.alternatives[1].score == pytest.approx(sum(one.alternatives[1].score for one in alone), abs=1e-3)


@pytest.mark.parametrize("line", ["Copy oak elm. Reverse yew! ", "x"])
def test_a_line_of_a_hundred_thousand_characters_comes_back(by_ctranslate2: headway.Translator, line: str) -> None:
    text = (line * 100_000)[:100_000]
    (found,) = by_ctranslate2.translate([text], beam=1, max_extra=1)
    assert found.source == text
    assert "".join(part.source for part in found.sentences).split() == text.split()
    assert found.text.strip()


def test_long_texts_stream_as_they_translate(translator: headway.Translator) -> None:
    (whole,) = translator.translate([TEXT], beam=1, max_extra=6)
    assert "".join(translator.stream(TEXT, beam=1, max_extra=6)) == whole.text


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=60), max_size=4))
@example(["", " ", "\n", "\u200b", "\ufeff", "\x00", "\x85", "\u2028 \u2029"])
@example(["a\u0301" * 40, "\ud800", "<s> </s> <pad> <unk> <0x41>", "\u2581\u2581", "?!" * 300])
def test_whatever_comes_in_as_much_goes_out(by_ctranslate2: headway.Translator, texts: list[str]) -> None:
    found = by_ctranslate2.translate(texts, beam=2, max_extra=3, tokens=True)
    assert [one.source for one in found] == texts
    for text, one in zip(texts, found, strict=True):
        if not text.strip():
            assert (one.text, one.score) == ("", 0.0)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None)
@given(st.lists(st.text(max_size=40), max_size=4))
@example(SOURCES)
def test_whatever_comes_in_is_aligned(by_ctranslate2: headway.Translator, texts: list[str]) -> None:
    found = by_ctranslate2.translate(texts, beam=2, max_extra=3, min_length=1, alignment=True)
    for text, one in zip(texts, found, strict=True):
        assert all(left < len(text.split()) and right < len(one.text.split()) for left, right in one.alignment or [])
