"""Translator: raw text in, raw text out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headway.bundle import Scope, read_bundle
from headway.config import DecodingSettings
from headway.decoding.search import Hypothesis
from headway.engines.torch import TorchEngine
from headway.errors import RequestError
from headway.models.transformer import Transformer
from headway.models.weights import set_weights
from headway.text.labels import label_pieces
from headway.text.tokenizer import Tokenizers

POSITIONS = 128  # rows of the position table that `inspect` shows
MOST_PIECES = 1000  # that `inspect` takes: each layer and head has as many weights as their square

OnProgress = Callable[[int, int], None]  # sentences done, sentences in all


@dataclass(frozen=True)
class Translation:
    """The best translation. `score` is its log-probability over the length penalty; `alternatives` are all that were asked."""

    source: str
    text: str
    score: float
    alternatives: list["Translation"] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"source": self.source, "text": self.text, "score": round(self.score, 4)}
        if self.alternatives:
            content["alternatives"] = [{"text": other.text, "score": round(other.score, 4)} for other in self.alternatives]
        return content


@dataclass(frozen=True)
class Inside:
    """What goes on inside while a sentence is translated. L layers, H heads, S source pieces, T steps of the decoder.

    At step t the decoder has read `read[: t + 1]` and writes `written[t]`. All weights of a row sum to one.
    """

    source: list[str]  # pieces as a person reads them, then the end mark
    read: list[str]  # the begin mark, then the pieces of the translation
    written: list[str]  # the pieces of the translation, then the end mark
    translation: str
    encoder: np.ndarray  # [L, H, S, S]
    decoder: np.ndarray  # [L, H, T, T]
    cross: np.ndarray  # [L, H, T, S]
    positions: np.ndarray | None  # [positions, d_model]; None for a model that cannot tell positions apart


class Translator:
    def __init__(
        self, engine: TorchEngine, tokenizers: Tokenizers, decoding: DecodingSettings, scope: Scope | None = None
    ) -> None:
        self.engine, self.tokenizers, self.decoding, self.scope = engine, tokenizers, decoding, scope

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = None,
        length_penalty: float | None = None,
        nbest: int = 1,
        batch_tokens: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> list[Translation]:
        """One translation for each text, in order, blank for blank. What is not given is as in the bundle."""
        beam = max(beam or self.decoding.beam, nbest)
        alpha = self.decoding.length_penalty if length_penalty is None else length_penalty
        pieces = self._cut(texts)
        results = [Translation(text, "", 0.0) for text in texts]
        rows = [row for row, text in enumerate(texts) if text.strip()]
        done = len(texts) - len(rows)
        for batch in batches_by_length([len(pieces[row]) for row in rows], batch_tokens or self.decoding.batch_tokens):
            chosen = [rows[place] for place in batch]
            found = self.engine.translate(
                [pieces[row] for row in chosen],
                beam=beam,
                nbest=nbest,
                length_penalty=alpha,
                limits=[len(pieces[row]) + self.decoding.max_extra for row in chosen],
            )
            for row, hypotheses in zip(chosen, found, strict=True):
                results[row] = self._translation(texts[row], hypotheses, nbest)
            done += len(batch)
            if on_progress:
                on_progress(done, len(texts))
        return results

    def encode(
        self,
        texts: Sequence[str],
        *,
        pool: bool = True,
        batch_tokens: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> list[np.ndarray]:
        """The encoder's view of each text: the mean over its pieces and its end [d_model], or a row for each [S, d_model]."""
        pieces = self._cut(texts)
        results: list[np.ndarray] = [np.empty(0)] * len(texts)
        done = 0
        for batch in batches_by_length([len(source) for source in pieces], batch_tokens or self.decoding.batch_tokens):
            for row, states in zip(batch, self.engine.encode([pieces[row] for row in batch]), strict=True):
                results[row] = states.mean(axis=0) if pool else states
            done += len(batch)
            if on_progress:
                on_progress(done, len(texts))
        return results

    def inspect(self, text: str, target: str | None = None) -> Inside:
        """Where every head looks while `text` becomes `target`, or, where none is given, the model's own best translation."""
        if not text.strip():
            raise RequestError("There is no sentence to look into.", "Give one with at least a word.")
        if target is not None and not target.strip():
            raise RequestError("The given translation is blank.", "Give one with at least a word, or leave it to the model.")
        (source,) = self.tokenizers.source.encode([text])
        if len(source) > MOST_PIECES:
            raise RequestError(
                f"A text of {len(source):,} pieces is too long to look into; {MOST_PIECES:,} are the most.",
                "Give one sentence of it.",
            )
        if target is None:
            ((best, *_),) = self.engine.translate(
                [source],
                beam=self.decoding.beam,
                length_penalty=self.decoding.length_penalty,
                limits=[len(source) + self.decoding.max_extra],
            )
            tokens = best.tokens
        else:
            (tokens,) = self.tokenizers.target.encode([target])
        weights = self.engine.attend(source, tokens)
        reads, writes = self.tokenizers.source, self.tokenizers.target
        return Inside(
            source=label_pieces(reads, [*source, reads.eos]),
            read=label_pieces(writes, [writes.bos, *tokens]),
            written=label_pieces(writes, [*tokens, writes.eos]),
            translation=writes.decode([tokens])[0],
            encoder=weights.encoder,
            decoder=weights.decoder,
            cross=weights.cross,
            positions=self.engine.positions(POSITIONS),
        )

    def warn(self, texts: Sequence[str]) -> str:
        """What a person should know before relying on the translations; nothing where the model is for any text."""
        others = self.scope.find_others(texts) if self.scope else []
        if not self.scope or not others:
            return ""
        named = ", ".join(others[:5]) + (f" and {len(others) - 5:,} more" if len(others) > 5 else "")
        return f"This model knows only {self.scope.name}; what it makes of other words is a guess: {named}."

    def _cut(self, texts: Sequence[str]) -> list[list[int]]:
        if isinstance(texts, str):  # a sequence too, of letters, and never meant
            raise TypeError("texts is a list of strings; for one text give [text]")
        return self.tokenizers.source.encode(texts)

    def _translation(self, source: str, hypotheses: list[Hypothesis], nbest: int) -> Translation:
        texts = self.tokenizers.target.decode([hypothesis.tokens for hypothesis in hypotheses[:nbest]])
        all_found = [Translation(source, text, h.score) for text, h in zip(texts, hypotheses, strict=False)]
        return Translation(source, all_found[0].text, all_found[0].score, all_found if nbest > 1 else [])


def load(directory: str | Path) -> Translator:
    """Read a bundle, check it, and build its translator."""
    bundle = read_bundle(Path(directory))
    model = Transformer(bundle.manifest.architecture, pad=bundle.tokenizers.source.pad)
    set_weights(model, bundle.weights())
    manifest = bundle.manifest
    return Translator(TorchEngine(model, bundle.tokenizers.target), bundle.tokenizers, manifest.decoding, manifest.scope)


def batches_by_length(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Places of sequences of like length, longest first (so that memory is asked for once), at most `tokens` with padding."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 1) > tokens:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
