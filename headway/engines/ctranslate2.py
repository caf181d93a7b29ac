"""The fast engine: CTranslate2, one replica a core with one thread each. Nothing here needs torch.

Its default layout, all cores in one replica, spends most of a small model's time on threads that wait for each other.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np

from headway.decoding.options import Options
from headway.decoding.ranking import Hypothesis
from headway.engines.batching import batches_by_length, size_batches
from headway.engines.engine import Job, Pieces
from headway.errors import RequestError
from headway.export.ctranslate2 import POSITIONS, name_pieces
from headway.text.tokenizer import Tokenizers

_NO_PENALTY = 1e-6  # with none at all it would stop at the first hypothesis that ends
_seed: int | None = None
_AHEAD = 3  # batches handed out to each replica before the first is waited for


class CTranslate2Engine:
    batch_tokens = 1024

    def __init__(self, form: Path, tokenizers: Tokenizers, *, compute_type: str = "float32", replicas: int = 1) -> None:
        self.replicas = replicas
        self._translator = ctranslate2.Translator(
            str(form), compute_type=compute_type, inter_threads=self.replicas, intra_threads=1, max_queued_batches=-1
        )
        source, target = tokenizers.source, tokenizers.target
        self._source, self._target = name_pieces(source, source.size), name_pieces(target, target.size)
        self._ids = {piece: number for number, piece in enumerate(self._target)}
        self._eos = self._target[target.eos]

    @property
    def compute_type(self) -> str:
        return self._translator.compute_type

    def translate(self, job: Job, batch_tokens: int) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        self.check(job)
        waiting: deque[tuple[list[int], int, list[Any]]] = deque()
        for places in _batches(job, batch_tokens):
            limit = max(job.limits[place] for place in places)
            waiting.append((places, limit, self._submit(job, places, limit)))
            if len(waiting) >= _AHEAD * self.replicas:
                yield self._collect(job, *waiting.popleft())
        while waiting:
            yield self._collect(job, *waiting.popleft())

    def check(self, job: Job) -> None:
        """Refuse at once what CTranslate2 cannot do."""
        if job.phrases and any(job.phrases):
            raise RequestError("CTranslate2 cannot force words into a translation.", "The torch engine can: --engine torch.")
        longest = max([*(len(source) + 1 for source in job.sources), *job.limits], default=0)
        if longest > POSITIONS:
            raise RequestError(
                f"CTranslate2 takes at most {POSITIONS:,} pieces; here are {longest:,}.",
                "The torch engine can: --engine torch.",
            )
        if job.options.sampling and job.options.sampling.seed is not None:
            _set_seed(job.options.sampling.seed)

    def _submit(self, job: Job, places: Sequence[int], limit: int, **more: Any) -> list[Any]:
        begun = job.prefixes and job.prefixes[places[0]]  # then all are: see `_batches`
        prefixes = [self._words(self._target, job.prefixes[place]) for place in places] if job.prefixes and begun else None
        return self._translator.translate_batch(
            [self._words(self._source, job.sources[place]) for place in places],
            target_prefix=prefixes,
            max_decoding_length=limit,
            asynchronous=True,
            **_search(job.options, len(self._target)),
            **more,
        )

    def _collect(self, job: Job, places: list[int], limit: int, results: list[Any]) -> tuple[list[int], list[list[Hypothesis]]]:
        """A batch has one limit, its sentences' largest. Who went beyond his own is cut off there, or, with a beam, in which
        others may have been alive at that step, translated again.
        """
        found = [result.result() for result in results]
        if job.options.beam == 1 and not job.options.sampling:
            return places, [
                [_cut_off(one, job.limits[place]) for one in self._read(job, result)]
                for place, result in zip(places, found, strict=True)
            ]
        again: dict[int, list[int]] = {}  # rows by their limit
        for row, place in enumerate(places):
            own = job.limits[place]
            if own < limit and max(map(len, found[row].hypotheses)) >= own:
                again.setdefault(own, []).append(row)
        coming = [(rows, self._submit(job, [places[row] for row in rows], own)) for own, rows in again.items()]
        for rows, answers in coming:
            for row, answer in zip(rows, answers, strict=True):
                found[row] = answer.result()
        return places, [self._read(job, result) for result in found]

    def _read(self, job: Job, result: Any) -> list[Hypothesis]:
        options = job.options
        known = not (options.bans or options.sampling or job.prefixes)
        hypotheses = []
        for number, pieces in enumerate(result.hypotheses):
            ended = bool(pieces) and pieces[-1] == self._eos
            tokens = [self._ids[piece] for piece in (pieces[:-1] if ended else pieces)]
            total = result.scores[number] * len(pieces) ** _alpha(options) if ended and known else None
            hypotheses.append(Hypothesis(tokens, total))
        return hypotheses

    def score(self, sources: Sequence[Pieces], targets: Sequence[Pieces], batch_tokens: int) -> list[list[float]]:
        scores: list[list[float]] = [[] for _ in sources]
        lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
        self.check(Job(sources, [len(target) + 1 for target in targets], Options()))
        waiting = []
        for places in batches_by_length(lengths, batch_tokens):
            results = self._translator.score_batch(
                [self._words(self._source, sources[place]) for place in places],
                [self._words(self._target, targets[place]) for place in places],
                max_input_length=0,
                asynchronous=True,
            )
            waiting.append((places, results))
        for places, results in waiting:
            for place, result in zip(places, results, strict=True):
                scores[place] = list(result.result().log_probs)
        return scores

    def align(self, sources: Sequence[Pieces], targets: Sequence[Pieces], batch_tokens: int) -> list[np.ndarray]:
        """Each target is forced on a greedy search: in a batch with a beam, CTranslate2 mixes up the first step's weights."""
        weights = [np.empty((0, len(source)), dtype=np.float32) for source in sources]
        job = Job(sources, [len(target) + 1 for target in targets], Options(beam=1), prefixes=targets)
        self.check(job)
        waiting = []
        for places in _batches(job, batch_tokens):
            limit = max(job.limits[place] for place in places)
            waiting.append((places, self._submit(job, places, limit, return_attention=True)))
        for places, results in waiting:
            for place, result in zip(places, results, strict=True):
                rows = np.array(result.result().attention[0][: len(targets[place])], dtype=np.float32)
                if len(rows):
                    weights[place] = rows[:, : len(sources[place])]
        return weights

    def stream(self, job: Job) -> Iterator[int]:
        self.check(job)
        options, sampling = job.options, job.options.sampling
        if options.beam > 1 and not sampling:
            raise RequestError(
                "CTranslate2 hands out tokens one by one only without a beam.",
                "Give --beam 1, or use the torch engine: --engine torch.",
            )
        search = _search(options, len(self._target))
        for name in ("beam_size", "patience", "num_hypotheses", "length_penalty", "return_scores", "return_end_token"):
            del search[name]
        steps = self._translator.generate_tokens(
            self._words(self._source, job.sources[0]),
            self._words(self._target, job.prefixes[0]) if job.prefixes else None,
            max_decoding_length=job.limits[0],
            **search,
        )
        yield from (step.token_id for step in steps if step.token != self._eos)

    @staticmethod
    def _words(vocabulary: list[str], pieces: Pieces) -> list[str]:
        return [vocabulary[piece] for piece in pieces]


def _cut_off(found: Hypothesis, limit: int) -> Hypothesis:
    """As if the search had ended at the limit: an end just behind it did not come."""
    return found if len(found.tokens) < limit else Hypothesis(found.tokens[:limit], None)


def has_int8() -> bool:
    return "int8" in ctranslate2.get_supported_compute_types("cpu")


def _set_seed(seed: int) -> None:
    """Once for the process: its threads draw from what was set before they first drew."""
    global _seed
    if _seed is None:
        ctranslate2.set_random_seed(seed)
        _seed = seed
    elif _seed != seed:
        raise RequestError(
            f"CTranslate2 draws with one seed for the process, {_seed} here; {seed} was asked for.",
            "The torch engine has a seed for each request: --engine torch.",
        )


def _batches(job: Job, batch_tokens: int) -> Iterator[list[int]]:
    """Sentences with a given beginning and those without apart: beside others, CTranslate2 takes no beginning for one too."""
    for begun in (False, True):
        group = [place for place in range(len(job.sources)) if bool(job.prefixes and job.prefixes[place]) is begun]
        lengths = [len(job.sources[place]) for place in group]
        for batch in batches_by_length(lengths, size_batches(lengths, batch_tokens), alike=True):
            yield [group[row] for row in batch]


def _alpha(options: Options) -> float:
    return options.alpha or _NO_PENALTY


def _count_hypotheses(options: Options) -> int:
    if options.sampling:
        return 1 if options.sampling.top_k == 1 else options.nbest  # from one token all draws are the same
    return options.finished if options.beam > 1 else 1


def _search(options: Options, vocabulary: int) -> dict[str, Any]:
    """Our options in CTranslate2's words. All hypotheses that ended are asked for, to be ranked here."""
    sampling = options.sampling
    drawn = {"sampling_topk": 1} if sampling is None else {
        "sampling_topk": min(sampling.top_k, vocabulary),
        "sampling_topp": sampling.top_p,
        "sampling_temperature": sampling.temperature,
    }  # fmt: skip
    beam = 1 if sampling else options.beam
    return {
        "beam_size": beam,
        "patience": options.patience if beam > 1 else 1,
        "num_hypotheses": _count_hypotheses(options),
        "length_penalty": _alpha(options),
        "no_repeat_ngram_size": options.no_repeat_ngram,
        "min_decoding_length": options.min_length,
        "max_input_length": 0,
        "return_scores": True,
        "return_end_token": True,
        **drawn,
    }
