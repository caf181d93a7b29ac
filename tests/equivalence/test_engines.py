"""Torch against CTranslate2 in float32: with the same options both find the same, whatever the model's shape."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copy_reverse import make_pairs
from small_models import write_model

import headway
from headway.decoding.options import Options
from headway.decoding.ranking import length_penalty
from headway.engines.engine import Engine, Job
from headway.errors import RequestError
from headway.translation import Translation

SOURCES = [*(source for source, _ in make_pairs(8, seed=9)), "ash", "x y z", "éß", "copy yew " * 6]
PREFIXES = ["oak", "", "birch el", "", "fir", "Überall ", "", "x", "", "larch", "y", "oak oak"]
KINDS: dict[str, dict[str, Any]] = {
    "pre-norm": {"seed": 4, "ends": 5.0, "sharpness": 0.5},
    "post-norm, gelu, learned positions, two vocabularies": {
        "seed": 3,
        "ends": 7.0,
        "sharpness": 0.3,
        "norm": "post",
        "activation": "gelu",
        "tie": "target",
        "positions": "learned",
        "max_positions": 8,
    },
    "no positions, three embeddings, other heads": {
        "seed": 2,
        "ends": 11.0,
        "sharpness": 0.5,
        "positions": "none",
        "tie": "none",
        "d_k": 5,
        "d_v": 5,
        "n_decoder_layers": 3,
    },
    "post-norm, one head, one decoder layer": {
        "seed": 6,
        "ends": 6.0,
        "sharpness": 0.5,
        "norm": "post",
        "activation": "gelu",
        "n_layers": 3,
        "n_decoder_layers": 1,
        "n_heads": 1,
        "d_k": 16,
        "d_v": 16,
    },
}
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "paper": {"beam": 4},
    "power": {"beam": 4, "penalty": "power", "length_penalty": 1.3},
    "no penalty": {"beam": 4, "length_penalty": 0.0},
    "n-best": {"beam": 4, "nbest": 4},
    "n-best of more than the beam": {"beam": 2, "nbest": 5},
    "patience": {"beam": 3, "patience": 2.0, "nbest": 3},
    "impatience": {"beam": 5, "patience": 0.5},
    "the first to end, without a penalty": {"beam": 5, "patience": 0.2, "length_penalty": 0.0},
    "no pair twice": {"beam": 4, "no_repeat_ngram": 2, "nbest": 2},
    "no piece twice": {"beam": 1, "no_repeat_ngram": 1},
    "not too short": {"beam": 4, "min_length": 5, "nbest": 2},
    "longer than the limit": {"beam": 3, "min_length": 30},
    "cut off": {"beam": 4, "max_extra": 1, "nbest": 3},
    "cut off greedily": {"beam": 1, "max_extra": 1},
}


@dataclass(frozen=True)
class Pair:
    torch: headway.Translator
    ctranslate2: headway.Translator

    def both(self) -> tuple[headway.Translator, headway.Translator]:
        return self.torch, self.ctranslate2

    def engines(self) -> tuple[Engine, Engine]:
        return self.torch.engines.torch, self.ctranslate2.engines.ctranslate2

    def translate(self, texts: Sequence[str] = SOURCES, **more: Any) -> tuple[list[headway.Translation], ...]:
        return tuple(one.translate(texts, **{"max_extra": 12, **more}) for one in self.both())


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pair]:
    found = {}
    for kind, shape in KINDS.items():
        path = write_model(tmp_path_factory.mktemp("pair") / "model", **shape)
        found[kind] = Pair(headway.load(path, engine="torch"), headway.load(path, engine="ctranslate2", compute_type="float32"))
    return found


@pytest.fixture(params=KINDS)
def pair(pairs: dict[str, Pair], request: pytest.FixtureRequest) -> Pair:
    return pairs[request.param]


@pytest.fixture
def plain(pairs: dict[str, Pair]) -> Pair:
    return pairs["pre-norm"]


def pieces(translation: headway.Translation) -> list[str]:
    assert translation.tokens is not None
    return [piece for piece, _ in translation.tokens]


def scores(translation: headway.Translation) -> list[float]:
    assert translation.tokens is not None
    return [score for _, score in translation.tokens]


def assert_same(found: Sequence[headway.Translation], wanted: Sequence[headway.Translation]) -> None:
    assert [one.text for one in found] == [one.text for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-3)
        assert [alternative.text for alternative in one.alternatives] == [
            alternative.text for alternative in other.alternatives
        ]
        assert [a.score for a in one.alternatives] == pytest.approx([a.score for a in other.alternatives], abs=1e-3)
        if one.tokens is not None:
            assert pieces(one) == pieces(other)
            assert scores(one) == pytest.approx(scores(other), abs=1e-3)


@pytest.mark.parametrize("search", SEARCHES)
def test_both_engines_find_the_same(pair: Pair, search: str) -> None:
    by_torch, by_ctranslate2 = pair.translate(tokens=True, **SEARCHES[search])
    assert len({one.text for one in by_torch}) > 3  # or the next line would say little
    assert_same(by_ctranslate2, by_torch)


@pytest.mark.parametrize("search", ["greedy", "no piece twice", "cut off greedily"])
def test_both_go_on_alike_from_a_given_beginning(pair: Pair, search: str) -> None:
    by_torch, by_ctranslate2 = pair.translate(tokens=True, prefixes=PREFIXES, **SEARCHES[search])
    assert_same(by_ctranslate2, by_torch)
    for prefix, found in zip(PREFIXES, by_ctranslate2, strict=True):
        assert found.text.startswith(prefix.strip())


@pytest.mark.parametrize("search", ["paper", "n-best", "patience", "no pair twice", "not too short", "cut off"])
def test_both_go_on_alike_from_a_given_beginning_with_a_beam(pairs: dict[str, Pair], search: str) -> None:
    for pair in pairs.values():
        by_torch, by_ctranslate2 = pair.translate(tokens=True, prefixes=PREFIXES, **SEARCHES[search])
        assert_same(by_ctranslate2, by_torch)
        for prefix, found in zip(PREFIXES, by_ctranslate2, strict=True):
            assert found.text.startswith(prefix.strip())


def test_an_empty_beginning_is_none(pairs: dict[str, Pair]) -> None:
    for pair in pairs.values():
        for translator in pair.both():
            begun = translator.translate(SOURCES, prefixes=PREFIXES, beam=4, nbest=4, max_extra=12)
            free = translator.translate(SOURCES, beam=4, nbest=4, max_extra=12)
            places = [place for place, prefix in enumerate(PREFIXES) if not prefix]
            assert_same([begun[place] for place in places], [free[place] for place in places])


@pytest.mark.parametrize("search", ["greedy", "n-best", "power", "no pair twice", "longer than the limit", "cut off"])
def test_a_translation_has_the_score_of_its_pieces(pair: Pair, search: str) -> None:
    options = {"penalty": "paper", "length_penalty": 0.6, **SEARCHES[search]}
    for translations in pair.translate(tokens=True, **options):
        for one in translations:
            penalty = length_penalty(len(scores(one)), options["length_penalty"], options["penalty"])
            assert sum(scores(one)) / penalty == pytest.approx(one.score, abs=1e-3)


@pytest.mark.parametrize("options", [Options(beam=1), Options(beam=4), Options(beam=3, patience=2.0, alpha=0.0)])
def test_what_a_search_knows_is_what_scoring_finds(pair: Pair, options: Options) -> None:
    sources = pair.torch.tokenizers.source.encode(SOURCES)
    job = Job(sources, [len(source) + 5 for source in sources], options)
    for engine in pair.engines():
        for places, found in engine.translate(job, 64):
            known = [(place, one) for place, some in zip(places, found, strict=True) for one in some if one.log_probability]
            scored = engine.score([sources[place] for place, _ in known], [one.tokens for _, one in known], 64)
            assert list(map(sum, scored)) == pytest.approx([one.log_probability for _, one in known], abs=1e-3)


def test_scores_of_given_pairs(pair: Pair) -> None:
    sources, targets = [*SOURCES, "copy oak", "", ""], [source for source, _ in make_pairs(12, seed=3)] + ["", "elm", ""]
    by_torch, by_ctranslate2 = (
        one.score(sources, targets, penalty="power", length_penalty=1.0, batch_tokens=64) for one in pair.both()
    )
    assert [one.text for one in by_torch] == targets
    assert_same(by_ctranslate2, by_torch)


def test_both_engines_look_at_the_same_words(pair: Pair) -> None:
    beginnings = [target for _, target in make_pairs(len(SOURCES), seed=5)]
    by_torch, by_ctranslate2 = pair.translate(alignment=True, beam=1, prefixes=beginnings)
    assert sum(len(one.alignment or []) for one in by_torch) > 3 * len(SOURCES)

    def name_words(found: Sequence[Translation]) -> list[list[tuple[int, str]]]:
        """A word that comes twice is the same to a model without positions: rounding decides which of the two it looks at."""
        words = [source.split() for source in SOURCES]
        return [sorted((to, own[at]) for at, to in one.alignment or []) for one, own in zip(found, words, strict=True)]

    assert name_words(by_ctranslate2) == name_words(by_torch)


def test_words_are_aligned_while_other_batches_are_translated(plain: Pair) -> None:
    """With several threads at work, of which only one looks inside."""
    wanted = [one.alignment for one in plain.torch.translate(SOURCES, alignment=True, beam=2, batch_tokens=10_000)]
    for _ in range(3):
        found = plain.torch.translate(SOURCES, alignment=True, beam=2, batch_tokens=20)
        assert [one.alignment for one in found] == wanted


def test_draws_depend_on_the_line_and_not_on_the_block(plain: Pair) -> None:
    texts = ["copy oak elm"] * 6
    whole = [one.text for one in plain.torch.translate(texts, seed=5, max_extra=5)]
    assert len(set(whole)) > 1
    assert whole == [plain.torch.translate([text], seed=5, max_extra=5, first=n)[0].text for n, text in enumerate(texts)]


def test_alignment_weights(pair: Pair) -> None:
    sources = pair.torch.tokenizers.source.encode(SOURCES)
    targets = pair.torch.tokenizers.target.encode([target for _, target in make_pairs(12, seed=5)])
    for found, wanted, source, target in zip(
        *(engine.align(sources, targets, 100) for engine in pair.engines()), sources, targets, strict=True
    ):
        assert found.shape == (len(target), len(source))
        np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_an_empty_translation_has_no_links(plain: Pair) -> None:
    for found in plain.translate(alignment=True, beam=4):
        assert "" in [one.text for one in found]
        assert all(one.alignment == [] for one in found if not one.text)


def test_streaming_hands_out_the_translation(pair: Pair) -> None:
    for text, *wanted in zip(SOURCES[4:10], *pair.translate(SOURCES[4:10], beam=1), strict=True):
        for translator, translation in zip(pair.both(), wanted, strict=True):
            assert "".join(translator.stream(text, beam=1, max_extra=12)) == translation.text


@pytest.mark.parametrize("search", ["paper", "power", "patience", "no pair twice", "cut off"])
def test_streaming_with_a_beam_hands_out_the_translation(plain: Pair, search: str) -> None:
    asked = {"max_extra": 12, **SEARCHES[search]}
    for text in SOURCES[:6]:
        (whole,) = plain.torch.translate([text], **asked)
        assert "".join(plain.torch.stream(text, **asked)) == whole.text


def test_the_batch_changes_nothing_in_either_engine(pair: Pair) -> None:
    """CTranslate2 has one limit a batch: who is longer than his own is translated again."""
    asked: dict[str, Any] = {"beam": 3, "nbest": 2, "max_extra": 2, "tokens": True}
    for translator in pair.both():
        alone = [translator.translate([source], **asked)[0] for source in SOURCES]
        for batch_tokens in (40, 10_000):
            assert_same(translator.translate(SOURCES, batch_tokens=batch_tokens, **asked), alone)


def test_the_table_of_positions_ends_where_requests_are_refused(plain: Pair) -> None:
    """CTranslate2 throws past its table's end, so nothing may come that far."""
    engine = plain.ctranslate2.engines.ctranslate2
    job = Job([[5] * 2047], [2048], Options(beam=1, min_length=2048))
    ((_, ((found,),)),) = engine.translate(job, 10_000)
    assert len(found.tokens) == 2048
    for too_long in (replace(job, limits=[2049]), replace(job, sources=[[5] * 2048])):
        with pytest.raises(RequestError, match="--engine torch"):
            list(engine.translate(too_long, 10_000))


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_streaming_is_not_too_short(plain: Pair, engine: str) -> None:
    translator = plain.torch if engine == "torch" else plain.ctranslate2
    asked: dict[str, Any] = {"beam": 1, "max_extra": 1, "min_length": 30}
    (whole,) = translator.translate(["copy oak"], **asked)
    assert "".join(translator.stream("copy oak", **asked)) == whole.text


def test_streaming_what_is_drawn(plain: Pair) -> None:
    (whole,) = plain.torch.translate(["copy oak"], seed=3, max_extra=5)
    assert "".join(plain.torch.stream("copy oak", seed=3, max_extra=5)) == whole.text


def test_streaming_what_is_drawn_of_several_sentences(plain: Pair) -> None:
    text = "Copy oak elm. Reverse ash fir. Copy yew."
    (whole,) = plain.torch.translate([text], seed=3, max_extra=5)
    assert "".join(plain.torch.stream(text, seed=3, max_extra=5)) == whole.text


@pytest.mark.parametrize("beam", [1, 4])
def test_what_must_appear_does(plain: Pair, beam: int) -> None:
    required = [["elm"], [], ["yew", "oak oak"], *([["Überall"]] * (len(SOURCES) - 3))]
    found = plain.torch.translate(SOURCES, required=required, beam=beam, nbest=2, max_extra=30)
    for words, one in zip(required, found, strict=True):
        assert all(word in alternative.text for word in words for alternative in one.alternatives)
    (free,) = plain.torch.translate(SOURCES[1:2], beam=beam, nbest=2, max_extra=30)
    assert_same(found[1:2], [free])


def test_a_glossary_forces_its_words_where_they_stand(plain: Pair) -> None:
    found = plain.torch.translate(["copy oak", "copy elm", "Copy oak. Copy elm."], terms={"Oak": "Eiche"}, max_extra=12)
    assert ["Eiche" in one.text for one in found] == [True, False, True]
    assert ["Eiche" in one.text for one in found[2].sentences] == [True, False]


@pytest.mark.parametrize("asked", [{"prefixes": ["fir"]}, {"min_length": 25}, {"no_repeat_ngram": 1}])
def test_what_must_appear_does_under_rules_too(plain: Pair, asked: dict[str, Any]) -> None:
    (found,) = plain.torch.translate(["copy oak"], required=[["elm"]], max_extra=30, tokens=True, **asked)
    assert "elm" in found.text
    assert found.text.startswith("fir" if "prefixes" in asked else "")
    assert len(pieces(found)) > asked.get("min_length", 0)
    assert "no_repeat_ngram" not in asked or len(set(pieces(found))) == len(pieces(found))


def test_an_ensemble_of_one_model_is_the_model(plain: Pair) -> None:
    (bundle,) = plain.torch.engines.bundles
    thrice = headway.load([bundle.directory] * 3)
    for search in ("greedy", "n-best", "no pair twice"):
        asked = {"max_extra": 12, **SEARCHES[search]}
        assert_same(thrice.translate(SOURCES, tokens=True, **asked), plain.torch.translate(SOURCES, tokens=True, **asked))


def test_an_ensemble_of_two_has_the_mean_of_their_probabilities(plain: Pair, tmp_path: Path) -> None:
    (bundle,) = plain.torch.engines.bundles
    other = write_model(tmp_path / "other", seed=8, ends=5.0, n_layers=1)
    models = [headway.load(path, engine="torch") for path in ([bundle.directory], [other], [bundle.directory, other])]
    targets = [target for _, target in make_pairs(len(SOURCES), seed=5)]
    for one, two, both in zip(*(model.score(SOURCES, targets) for model in models), strict=True):
        wanted = [math.log((math.exp(a) + math.exp(b)) / 2) for a, b in zip(scores(one), scores(two), strict=True)]
        assert scores(both) == pytest.approx(wanted, abs=1e-3)
    for found in models[2].translate(SOURCES, tokens=True, beam=3, max_extra=12):
        assert sum(scores(found)) / length_penalty(len(scores(found)), 0.6) == pytest.approx(found.score, abs=1e-3)
