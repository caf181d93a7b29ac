"""The reference engine: torch, one batch at a time. B batch, L layers, H heads, S source, T target, V vocabulary."""

import math
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from torch import Tensor

from headway.decoding.constraints import constrained_search
from headway.decoding.ranking import Hypothesis, rank
from headway.decoding.rules import Rules
from headway.decoding.sampling import Sampler
from headway.decoding.scoring import token_scores
from headway.decoding.search import Pick, Settled, beam_search, beam_steps, greedy_search, greedy_steps, take_likeliest
from headway.engines.batching import batches_by_length, size_batches
from headway.engines.engine import AttentionWeights, Job, Pieces
from headway.models.encoder_decoder import EncoderDecoder
from headway.nn.attention import record_attention
from headway.nn.cache import DecoderCache
from headway.nn.layers import DecoderLayer
from headway.nn.positions import LearnedPositions, NoPositions
from headway.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Caches:
    """One cache a model."""

    caches: tuple[DecoderCache, ...]

    def select(self, rows: Tensor, sentences: Tensor | None) -> "Caches":
        return Caches(tuple(cache.select(rows, sentences) for cache in self.caches))


class TorchEngine:
    """One model, or several whose probabilities are averaged, and what they must know of the target's vocabulary."""

    batch_tokens = 2048

    def __init__(
        self, models: EncoderDecoder | Sequence[EncoderDecoder], target: Tokenizer, workers: int | None = None
    ) -> None:
        """`workers` threads translate a batch each: small kernels lose more to a second thread inside them than they gain.

        Without a number, one translates with the threads that torch has.
        """
        self.models = [models] if isinstance(models, EncoderDecoder) else list(models)
        for model in self.models:
            model.eval()
        self.workers = workers
        self._recording = threading.Lock()  # one at a time can look inside
        self._busy = threading.Lock()  # who asks while another is served waits, for there are no cores left
        self.bos, self.eos, self.pad = target.bos, target.eos, target.pad
        nameless = range(target.size, len(self.model.output.weight))  # an embedding may have more rows than there are pieces
        self.never = [target.pad, target.bos, target.unk, *nameless]

    @property
    def model(self) -> EncoderDecoder:
        return self.models[0]

    def translate(self, job: Job, batch_tokens: int) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        lengths = [len(source) for source in job.sources]
        batches = batches_by_length(lengths, size_batches(lengths, batch_tokens) if self.workers else batch_tokens)
        if self.workers is None:
            yield from ((places, self._translate_batch(job, places)) for places in batches)
            return
        with self._busy, _one_thread_each(), ThreadPoolExecutor(self.workers) as pool:
            waiting = deque[tuple[list[int], Future[list[list[Hypothesis]]]]]()
            for places in batches:
                waiting.append((places, pool.submit(self._translate_batch, job, places)))
                if len(waiting) > self.workers:
                    first, found = waiting.popleft()
                    yield first, found.result()
            yield from ((places, found.result()) for places, found in waiting)

    @torch.inference_mode()
    def _translate_batch(self, job: Job, places: list[int]) -> list[list[Hypothesis]]:
        free = [place for place in places if not (job.phrases and job.phrases[place])]
        found = dict(zip(free, self._search(job, free), strict=True))
        found |= {place: self._search_constrained(job, place) for place in places if place not in found}
        if job.options.bans or job.options.sampling or job.prefixes:
            found = {place: [replace(one, log_probability=None) for one in some] for place, some in found.items()}
        return [found[place] for place in places]

    def _search(self, job: Job, places: list[int]) -> list[list[Hypothesis]]:
        if not places:
            return []
        options = job.options
        limits, rules = self._bounds(job, places)
        state = self._start([job.sources[place] for place in places])
        if options.sampling is None:
            return beam_search(self.step, state, bos=self.bos, eos=self.eos, limits=limits, options=options, rules=rules)
        n = options.nbest  # as many draws of each sentence, side by side
        repeated = [place for place in places for _ in range(n)]
        rows = torch.arange(len(places), device=self.model.device).repeat_interleave(n)
        state = state.select(rows, rows)
        limits, rules = self._bounds(job, repeated)
        sampler = Sampler(options.sampling, [(*job.keys[place], draw) for place in places for draw in range(n)])
        drawn = greedy_search(self.step, state, bos=self.bos, eos=self.eos, limits=limits, rules=rules, pick=sampler)
        return [drawn[start : start + n] for start in range(0, len(drawn), n)]

    def _search_constrained(self, job: Job, place: int) -> list[Hypothesis]:
        assert job.phrases
        return constrained_search(
            self.step,
            self._start([job.sources[place]]),
            bos=self.bos,
            eos=self.eos,
            limit=job.limits[place],
            phrases=job.phrases[place],
            options=job.options,
            rules=self._bounds(job, [place])[1],
        )

    def _bounds(self, job: Job, places: Sequence[int]) -> tuple[Tensor, Rules | None]:
        limits = torch.tensor([job.limits[place] for place in places], device=self.model.device)
        prefixes = [job.prefixes[place] for place in places] if job.prefixes else None
        return limits, Rules.of(job.options, self.eos, prefixes)

    def _start(self, sources: Sequence[Pieces]) -> Caches:
        padded = self._pad(sources)
        return Caches(tuple(model.start(padded) for model in self.models))

    def step(self, tokens: Tensor, state: Caches) -> tuple[Tensor, Caches]:
        """Log-probabilities of what follows the tokens [B]: [B, V]. Of several models, those of their mean probability."""
        found, caches = [], []
        for model, cache in zip(self.models, state.caches, strict=True):
            x, cache = model.decode(tokens[:, None].to(model.device), cache)
            logits = model.output.logits(x[:, 0])
            logits[:, self.never] = -torch.inf
            found.append(logits.log_softmax(dim=-1))
            caches.append(cache)
        mean = found[0] if len(found) == 1 else torch.stack(found).logsumexp(dim=0) - math.log(len(found))
        return mean, Caches(tuple(caches))

    @torch.inference_mode()
    def score(self, sources: Sequence[Pieces], targets: Sequence[Pieces], batch_tokens: int) -> list[list[float]]:
        scores: list[list[float]] = [[] for _ in sources]
        for places in batches_by_length(_longer(sources, targets), batch_tokens):
            padded, some = self._pad([sources[place] for place in places]), [targets[place] for place in places]
            several = [
                token_scores(model(padded, self._read(some)), self._pad(some, self.pad), self.never) for model in self.models
            ]
            mean = torch.stack(several).logsumexp(dim=0) - math.log(len(several))
            for place, row in zip(places, mean.tolist(), strict=True):
                scores[place] = row[: len(targets[place]) + 1]
        return scores

    @torch.inference_mode()
    def logits(self, source: Pieces, target: Pieces) -> np.ndarray:
        """What the model gives for each next piece of a pair, the end included [T + 1, V]."""
        return self.model(self._pad([source]), self._read([target]))[0].float().cpu().numpy()

    @torch.inference_mode()
    def align(self, sources: Sequence[Pieces], targets: Sequence[Pieces], batch_tokens: int) -> list[np.ndarray]:
        weights: list[np.ndarray] = [np.empty((0, 0))] * len(sources)
        layer = cast(DecoderLayer, self.model.decoder.layers[self.model.architecture.alignment_layer])
        for places in batches_by_length(_longer(sources, targets), batch_tokens):
            assert layer.cross_attention
            with self._recording, record_attention(layer.cross_attention) as recorded:
                self.model(self._pad([sources[place] for place in places]), self._read([targets[place] for place in places]))
            (heads,) = recorded.values()  # [B, H, T, S]
            for place, rows in zip(places, heads.mean(dim=1).float().cpu().numpy(), strict=True):
                weights[place] = rows[: len(targets[place]), : len(sources[place])]
        return weights

    @torch.inference_mode()
    def stream(self, job: Job) -> Iterator[int]:
        limits, rules = self._bounds(job, [0])
        state, options, known = self._start(job.sources[:1]), job.options, 0
        steps: Generator[Settled, None, list[Hypothesis] | list[list[Hypothesis]]]
        if options.sampling or options.beam == 1:
            pick: Pick = Sampler(options.sampling, [(*job.keys[0], 0)]) if options.sampling else take_likeliest
            steps = greedy_steps(self.step, state, bos=self.bos, eos=self.eos, limits=limits, rules=rules, pick=pick)
        else:
            steps = beam_steps(self.step, state, bos=self.bos, eos=self.eos, limits=limits, options=options, rules=rules)
        while True:
            try:
                settled = next(steps)()
            except StopIteration as stop:
                yield from self._best(job, stop.value[0])[known:]
                return
            yield from settled[known:]
            known = max(known, len(settled))

    def _best(self, job: Job, found: Hypothesis | list[Hypothesis]) -> list[int]:
        if isinstance(found, Hypothesis):
            return found.tokens
        some = [self._with_score(job, one) for one in found]
        return rank(some, alpha=job.options.alpha, penalty=job.options.penalty)[0].tokens

    def _with_score(self, job: Job, found: Hypothesis) -> Hypothesis:
        if found.log_probability is not None and not job.options.bans and not job.prefixes:
            return found
        return replace(found, log_probability=sum(self.score(job.sources[:1], [found.tokens], 1)[0]))

    @torch.inference_mode()
    def encode(self, sources: Sequence[Pieces]) -> list[np.ndarray]:
        """The encoder's output of each source, one row a piece and a last one for its end: [S, d_model]."""
        memory, _ = self.model.encode(self._pad(sources))
        return [rows[: len(source) + 1].cpu().numpy() for rows, source in zip(memory, sources, strict=True)]

    @torch.inference_mode()
    def attend(self, source: Pieces, target: Pieces) -> AttentionWeights:
        """The attention of one pair (its pieces, without marks), in one pass: the decoder reads the target, by whomever."""
        with self._recording, record_attention(self.model) as weights:
            self.model(self._pad([source]), torch.tensor([[self.bos, *target]], device=self.model.device))

        def stack(part: str, name: str, layers: int) -> np.ndarray:
            return torch.cat([weights[f"{part}.layers.{layer}.{name}"] for layer in range(layers)]).float().cpu().numpy()

        architecture = self.model.architecture
        return AttentionWeights(
            encoder=stack("encoder", "attention", architecture.n_layers),
            decoder=stack("decoder", "attention", architecture.n_decoder_layers),
            cross=stack("decoder", "cross_attention", architecture.n_decoder_layers),
        )

    @torch.inference_mode()
    def positions(self, length: int) -> np.ndarray | None:
        """What is added to the embeddings of the first positions [length, d_model]; a learned table may end before that."""
        positions = self.model.positions
        if isinstance(positions, NoPositions):
            return None
        if isinstance(positions, LearnedPositions):
            length = min(length, len(positions.weight))
        return positions(0, length).float().cpu().numpy()

    def _read(self, targets: Sequence[Pieces]) -> Tensor:
        """What the decoder reads of the targets: the begin mark, then all but their ends [B, T]."""
        ended = self._pad(targets, self.pad)
        return torch.cat([torch.full_like(ended[:, :1], self.bos), ended[:, :-1]], dim=1)

    def _pad(self, sequences: Sequence[Pieces], pad: int | None = None) -> Tensor:
        """The sequences with their ends [B, S]: sources, or with another pad, where the vocabularies differ, targets."""
        length = max(map(len, sequences)) + 1
        padded = torch.full((len(sequences), length), self.model.pad if pad is None else pad)
        for row, sequence in zip(padded, sequences, strict=True):
            row[: len(sequence) + 1] = torch.tensor([*sequence, self.eos])
        return padded.to(self.model.device)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Inside an operation, that is; new threads take over what is set here."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _longer(sources: Sequence[Pieces], targets: Sequence[Pieces]) -> list[int]:
    return [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
