"""When training ends: the best model's CTranslate2 form, and how it computes fastest without loss."""

import math
import statistics
import time
from collections.abc import Callable

from headway.bundle import Bundle, Measured
from headway.data.prepare import Questions
from headway.engines.choice import ComputeType
from headway.engines.converted import make_form
from headway.engines.ctranslate2 import has_int8
from headway.evaluation.metrics import bleu, sentence_chrf
from headway.translator import Translator, load

SENTENCES = 500  # translated to find out, at most
MOST_LOST = 0.1  # chrF that int8 may lose, with a certainty of 95 %: BLEU of so few sentences moves by more by chance
LEAST_GAINED = 1.1  # times the speed of float32, for less is not worth a loss


def make_fast_form(bundle: Bundle, questions: Questions, on_progress: Callable[[int, int], None]) -> Measured | None:
    """Convert the bundle, and translate held-out pairs with both compute types, in turns, if the processor has both."""
    make_form(bundle)
    if not has_int8():
        return None
    some = questions[:SENTENCES]
    kinds: tuple[ComputeType, ...] = ("float32", "int8")
    translators = {kind: load(bundle.directory, engine="ctranslate2", compute_type=kind) for kind in kinds}
    for translator in translators.values():
        _translate(translator, some[:5])
    seconds, texts = dict.fromkeys(kinds, 0.0), {kind: list[str]() for kind in kinds}
    half = (len(some.pairs) + 1) // 2
    turns = [(kind, part) for part in (some[:half], some[half:]) for kind in kinds]
    for done, (kind, part) in enumerate(turns):
        on_progress(done, len(turns))
        start = time.monotonic()
        texts[kind] += _translate(translators[kind], part)
        seconds[kind] += time.monotonic() - start
    references = [some.references]
    scores = {kind: bleu(texts[kind], references) for kind in kinds}
    speeds = {kind: _count_tokens(bundle, texts[kind]) / seconds[kind] for kind in kinds}
    loses, at_most = _compare(texts["float32"], texts["int8"], references[0])
    worth_it = speeds["int8"] >= LEAST_GAINED * speeds["float32"] and at_most <= MOST_LOST
    return Measured(
        compute_type="int8" if worth_it else "float32",
        sentences=len(some.pairs),
        beam=bundle.manifest.decoding.beam,
        float32_tokens_per_second=round(speeds["float32"], 1),
        int8_tokens_per_second=round(speeds["int8"], 1),
        float32_bleu=round(scores["float32"], 2),
        int8_bleu=round(scores["int8"], 2),
        int8_loses=round(loses, 2),
        int8_loses_at_most=round(at_most, 2),
    )


def _translate(translator: Translator, some: Questions) -> list[str]:
    return [one.text for one in translator.translate(some.sources, to=some.to, from_=some.from_)]


def _compare(exact: list[str], rounded: list[str], references: list[str]) -> tuple[float, float]:
    """By how much chrF the second of two translations is worse, on average, and the upper bound of that (one-sided, 95 %)."""
    losses = [
        0.0 if one == other else sentence_chrf(one, reference) - sentence_chrf(other, reference)
        for one, other, reference in zip(exact, rounded, references, strict=True)
    ]
    error = statistics.stdev(losses) / math.sqrt(len(losses)) if len(losses) > 1 else math.inf
    return statistics.fmean(losses), min(statistics.fmean(losses) + 1.645 * error, 100.0)


def _count_tokens(bundle: Bundle, texts: list[str]) -> int:
    return sum(len(pieces) + 1 for pieces in bundle.tokenizers.target.encode(texts))
