"""BLEU in the manner of the paper: it counted the parts of compounds as words of their own.

The script of tensor2tensor (get_ende_bleu.sh) writes `well-known` as `well ##AT##-##AT## known` on both sides first. More
n-grams are right then, and the figure is mostly higher than the honest one: it is for a comparison with the paper's, and no
other.
"""

import re
from collections.abc import Sequence

import numpy as np

from headway.evaluation.evaluation import System
from headway.evaluation.formulas import compute_bleu
from headway.evaluation.metrics import Score
from headway.evaluation.resampling import average_seeds, estimate_interval, resample

_HYPHEN = re.compile(r"(\S)-(\S)")


def split_compounds(texts: Sequence[str]) -> list[str]:
    """Tokenised as sacreBLEU does (13a, where the script took Moses's), then put apart at hyphens."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenize = Tokenizer13a()
    return [_HYPHEN.sub(r"\1 ##AT##-##AT## \2", tokenize(text.rstrip())) for text in texts]


def score_split(system: System, references: Sequence[Sequence[str]], *, lowercase: bool, weights: np.ndarray) -> Score:
    """BLEU of text that is cut already, without smoothing, as multi-bleu counts it; the mean over seeds.

    `weights` are those of `draw_seeds`; without draws there is no interval.
    """
    from sacrebleu.metrics.bleu import BLEU

    split = [split_compounds(stream) for stream in references]
    metric = BLEU(lowercase=lowercase, force=True, tokenize="none", smooth_method="none", references=split)
    counts = [metric._extract_corpus_statistics(split_compounds(output), None) for output in system.outputs]
    score = sum(float(metric._aggregate_and_compute(rows).score) for rows in counts) / len(counts)
    interval = None
    if len(weights):
        drawn = resample([np.array(rows, dtype=np.float64) for rows in counts], len(weights))
        interval = estimate_interval(average_seeds([compute_bleu(sums, smooth=False) for sums in drawn], weights))
    signature = str(metric.get_signature()).replace("tok:none", "tok:13a+compound-split")
    return Score(score, f"{signature}|not comparable with sacreBLEU's BLEU", interval)
