"""Translator: raw text in, raw text out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from headway.architectures import Architecture, T5Architecture
from headway.bundle import read_bundle
from headway.config import override
from headway.decoding.options import Options, choose_sampling
from headway.decoding.ranking import Hypothesis, Ranked, rank
from headway.decoding.ranking import length_penalty as length_penalty_of
from headway.engines.batching import batches_by_length
from headway.engines.choice import ComputeType, EngineName, Engines
from headway.engines.engine import Engine, Job
from headway.errors import RequestError
from headway.export.ctranslate2 import POSITIONS as LONGEST
from headway.family.kinds import require
from headway.reading import Part, Reader, check_texts
from headway.text.glossary import Glossary
from headway.text.labels import label_pieces
from headway.text.sentences import join
from headway.text.words import align_words, number_words
from headway.translation import Translation, put_together

__all__ = ["Inside", "Translation", "Translator", "load"]

POSITIONS = 128  # rows of the position table that `inspect` shows
MOST_PIECES = 1000  # that `inspect` takes: each layer and head has as many weights as their square

CHUNK = 10_000  # pairs scored before progress is told

OnProgress = Callable[[int, int], None]  # sentences done, sentences in all


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
    scaled: bool = True  # dot products are divided by sqrt(d_k), as in the paper
    biased: bool = False  # something is added to them by distance (T5)


class Translator:
    """What is not given to a method is as in the bundle. Several threads may use one."""

    def __init__(self, engines: Engines) -> None:
        manifest = engines.bundles[0].manifest
        self.engines, self.tokenizers = engines, engines.bundles[0].tokenizers
        self.decoding, self.scope, self.directions = manifest.decoding, manifest.scope, manifest.directions
        known = manifest.provenance.from_the_start
        self.reader = Reader(self.tokenizers.source, manifest.directions, manifest.prefixes, manifest.lines, known=known)

    def translate(
        self,
        texts: Sequence[str],
        *,
        to: Sequence[str] | str = "",
        from_: Sequence[str] | str = "",
        source_prefix: str = "",
        prefixes: Sequence[str] | str | None = None,
        required: Sequence[Sequence[str]] | None = None,
        terms: Mapping[str, str] | None = None,
        tokens: bool = False,
        alignment: bool = False,
        batch_tokens: int | None = None,
        on_progress: OnProgress | None = None,
        first: int = 0,
        **search: Any,
    ) -> list[Translation]:
        """One translation for each text, in order, blank for blank; a text of several sentences, sentence by sentence.

        `to` and `from_` are languages, one for all or one for each: they choose one of the model's directions, where it has
        several. `source_prefix` is put before each sentence, as `--prefix` in training was. `prefixes` are the beginnings of
        the translations, one for all or one for each; `required` are words and phrases that must appear in each; `terms` is
        a glossary: where a text has one of its words, the translation has its translation. `tokens` and `alignment` ask for
        scores by piece and for links between words. `first` is the first text's number in a larger request, on which draws
        depend. `search` is what `options` takes.
        """
        options = self.options(**search)
        prefixes = [prefixes] * len(texts) if isinstance(prefixes, str) else prefixes
        check_texts(texts, prefixes=prefixes, required=required)
        whole = [bool(prefixes and prefixes[n]) or bool(required and required[n]) for n in range(len(texts))]
        parts = self.reader.segment(texts, to, from_, source_prefix, whole)
        rows = [(number, part.text) for number, some in enumerate(parts) for part in some]
        reads = [part.read for some in parts for part in some]
        chosen = [row for row, text in enumerate(reads) if text]
        sources = self.tokenizers.source.encode([reads[row] for row in chosen])
        beginnings = self.tokenizers.target.encode([prefixes[rows[row][0]] for row in chosen]) if prefixes else None
        extra = search.get("max_extra") or self.decoding.max_extra
        begun = [len(beginning) for beginning in beginnings] if beginnings else [0] * len(sources)
        limits = [max(options.min_length, len(source) + extra) + n for source, n in zip(sources, begun, strict=True)]
        room = [limit - n for limit, n in zip(limits, begun, strict=True)]
        phrases = self._phrases([rows[row] for row in chosen], room, required, terms)
        numbers = [(first + number, part) for number, some in enumerate(parts) for part in range(len(some))]
        keys = [numbers[row] for row in chosen]
        job = Job(sources, limits, options, prefixes=beginnings, phrases=phrases, keys=keys)
        if options.sampling and (required or terms):
            raise RequestError("Words cannot be forced into what is drawn.", "Leave out either the words or the drawing.")
        engine = self.engines.choose(_only_torch(job, forced=bool(required or terms)), seeded=options.seed is not None)
        size = batch_tokens or self.decoding.batch_tokens or engine.batch_tokens
        translated = [Translation(part, "", 0.0) for _, part in rows]
        done = len(rows) - len(chosen)
        for places, found in engine.translate(job, size):
            given = [(rows[chosen[place]][1], reads[chosen[place]]) for place in places]
            for place, one in zip(places, self._read(engine, job, places, found, given, tokens, alignment, size), strict=True):
                translated[chosen[place]] = one
            done += len(places)
            if on_progress:
                on_progress(done * len(texts) // len(rows), len(texts))
        remaining = iter(translated)
        return [put_together(text, [next(remaining) for _ in some]) for text, some in zip(texts, parts, strict=True)]

    def options(
        self,
        *,
        beam: int | None = None,
        length_penalty: float | None = None,
        penalty: str | None = None,
        patience: float | None = None,
        nbest: int = 1,
        max_extra: int | None = None,
        min_length: int | None = None,
        no_repeat_ngram: int | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> Options:
        """How to search. Any of `top_k`, `top_p`, `temperature` and `seed` draws instead.

        `max_extra` bounds the length: a translation has at most so many pieces more than its source.
        """
        sampling = choose_sampling(top_k=top_k, top_p=top_p, temperature=temperature, seed=seed)
        if sampling and ((beam or 1) > 1 or patience):
            raise RequestError(
                "What is drawn is not searched for with a beam.", "Leave out --beam and --patience, or what draws."
            )
        given = {"beam": beam, "length_penalty": length_penalty, "penalty": penalty, "patience": patience}
        given |= {"max_extra": max_extra, "min_length": min_length, "no_repeat_ngram": no_repeat_ngram}
        d = override(self.decoding, {name: value for name, value in given.items() if value is not None})
        return Options(
            beam=max(d.beam, nbest),
            penalty=d.penalty,
            alpha=d.length_penalty,
            patience=max(d.patience, nbest / max(d.beam, nbest)),
            nbest=nbest,
            min_length=d.min_length,
            no_repeat_ngram=d.no_repeat_ngram,
            sampling=sampling,
        )

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        to: Sequence[str] | str = "",
        from_: Sequence[str] | str = "",
        source_prefix: str = "",
        length_penalty: float | None = None,
        penalty: str | None = None,
        batch_tokens: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> list[Translation]:
        """What the model thinks of given pairs: the score that `translate` would report, and that of each piece.

        Each pair is taken whole, however many sentences it has.
        """
        options = self.options(length_penalty=length_penalty, penalty=penalty)
        check_texts(sources, targets=targets)
        cut = self.reader.cut_whole([text.strip() for text in sources], to, from_, source_prefix)
        written = self.tokenizers.target.encode([text.strip() for text in targets])
        longest = max([*map(len, cut), *map(len, written)], default=0)
        engine = self.engines.choose([f"take {longest:,} pieces at once"] if longest >= LONGEST else [])
        size = batch_tokens or self.decoding.batch_tokens or engine.batch_tokens
        scored: list[Translation] = []
        for start in range(0, len(sources), CHUNK):
            some = slice(start, start + CHUNK)
            for source, target, pieces, found in zip(
                sources[some], targets[some], written[some], engine.score(cut[some], written[some], size), strict=True
            ):
                score = sum(found) / length_penalty_of(len(found), options.alpha, options.penalty)
                scored.append(Translation(source, target, score, tokens=self._name_tokens(pieces, found)))
            if on_progress:
                on_progress(len(scored), len(sources))
        return scored

    def stream(self, text: str, *, to: str = "", from_: str = "", source_prefix: str = "", **search: Any) -> Iterator[str]:
        """The translation of one text, piece by piece, as soon as each is certain; together they are what `translate` gives."""
        options = self.options(**search)
        check_texts([text])
        (parts,) = self.reader.segment([text], to, from_, source_prefix)
        beamed = options.beam > 1 and not options.sampling
        engine = self.engines.choose(
            ["hand out pieces one by one with a beam"] if beamed else [], seeded=options.seed is not None
        )
        extra = search.get("max_extra") or self.decoding.max_extra
        return self._stream(engine, parts, options, extra)

    def _stream(self, engine: Engine, some: list[Part], options: Options, extra: int) -> Iterator[str]:
        told, parts = "", [part.text for part in some]
        texts: list[str] = []
        for number, part in enumerate(some):
            pieces: list[int] = []
            (source,) = self.tokenizers.source.encode([part.read])
            job = Job([source], [max(options.min_length, len(source) + extra)], options, keys=[(0, number)])
            for piece in engine.stream(job) if source else ():
                pieces.append(piece)
                (so_far,) = self.tokenizers.target.decode([pieces])
                written = join(parts[: number + 1], [*texts, so_far]).rstrip()
                if written.startswith(told) and not so_far.endswith("\ufffd"):  # half a character may still become whole
                    yield written[len(told) :]
                    told = written
            texts += self.tokenizers.target.decode([pieces])
            written = join(parts[: number + 1], texts)
            yield written[len(told) :]
            told = written

    def encode(
        self,
        texts: Sequence[str],
        *,
        to: Sequence[str] | str = "",
        from_: Sequence[str] | str = "",
        source_prefix: str = "",
        pool: bool = True,
        batch_tokens: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> list[np.ndarray]:
        """The encoder's view of each text: the mean over its pieces and its end [d_model], or a row for each [S, d_model].

        The tag of the direction is one of the pieces.
        """
        check_texts(texts)
        self.engines.choose(["show the encoder's output"])
        engine = self.engines.torch
        pieces = self.reader.cut_whole(texts, to, from_, source_prefix)
        results: list[np.ndarray] = [np.empty(0)] * len(texts)
        done = 0
        size = batch_tokens or self.decoding.batch_tokens or engine.batch_tokens
        for batch in batches_by_length([len(source) for source in pieces], size):
            for row, states in zip(batch, engine.encode([pieces[row] for row in batch]), strict=True):
                results[row] = states.mean(axis=0) if pool else states
            done += len(batch)
            if on_progress:
                on_progress(done, len(texts))
        return results

    def inspect(
        self, text: str, target: str | None = None, *, to: str = "", from_: str = "", source_prefix: str = ""
    ) -> Inside:
        """Where every head looks while `text` becomes `target`, or, where none is given, the model's own best translation."""
        if not text.strip():
            raise RequestError("There is no sentence to look into.", "Give one with at least a word.")
        if target is not None and not target.strip():
            raise RequestError("The given translation is blank.", "Give one with at least a word, or leave it to the model.")
        source = self.cut_source(text, to=to, from_=from_, source_prefix=source_prefix)
        if len(source) > MOST_PIECES:
            raise RequestError(
                f"A text of {len(source):,} pieces is too long to look into; {MOST_PIECES:,} are the most.",
                "Give one sentence of it.",
            )
        self.engines.choose(["show what goes on inside a model"])
        engine = self.engines.torch
        if target is None:
            job = Job([source], [len(source) + self.decoding.max_extra], self.options())
            ((_, found),) = engine.translate(job, engine.batch_tokens)
            ((best, *_),) = self._rank(engine, job, [0], found, engine.batch_tokens)
            tokens = best.tokens
        else:
            (tokens,) = self.tokenizers.target.encode([target])
        weights = engine.attend(source, tokens)
        reads, writes, shape = self.tokenizers.source, self.tokenizers.target, engine.model.architecture
        return Inside(
            source=label_pieces(reads, [*source, reads.eos]),
            read=label_pieces(writes, [writes.bos, *tokens]),
            written=label_pieces(writes, [*tokens, writes.eos]),
            translation=writes.decode([tokens])[0],
            encoder=weights.encoder,
            decoder=weights.decoder,
            cross=weights.cross,
            positions=engine.positions(POSITIONS),
            scaled=isinstance(shape, Architecture) and shape.scale_attention,
            biased=isinstance(shape, T5Architecture),
        )

    def warn(self, texts: Sequence[str]) -> str:
        """What a person should know before relying on the translations; nothing where the model is for any text."""
        others = self.scope.find_others(texts) if self.scope else []
        if not self.scope or not others:
            return ""
        named = ", ".join(others[:5]) + (f" and {len(others) - 5:,} more" if len(others) > 5 else "")
        return f"This model knows only {self.scope.name}; what it makes of other words is a guess: {named}."

    def cut_source(self, text: str, *, to: str = "", from_: str = "", source_prefix: str = "") -> list[int]:
        """The pieces that the model reads of a text that is taken whole."""
        return self.reader.cut_whole([text], to, from_, source_prefix)[0]

    def _phrases(
        self,
        rows: Sequence[tuple[int, str]],
        limits: Sequence[int],
        required: Sequence[Sequence[str]] | None,
        terms: Mapping[str, str] | None,
    ) -> list[list[tuple[int, ...]]] | None:
        """The pieces of what must appear in the translation of each part, if anything must."""
        if not required and not terms:
            return None
        glossary = Glossary(terms or {})
        found = []
        for (number, part), limit in zip(rows, limits, strict=True):
            words = list(dict.fromkeys([*(required[number] if required else []), *glossary.find(part)]))
            phrases = [tuple(pieces) for pieces in self.tokenizers.target.encode([word.strip() for word in words]) if pieces]
            if (needed := sum(map(len, phrases))) > limit:
                raise RequestError(
                    f"{', '.join(words)} cannot all appear in the translation of {part.strip()[:60]!r}: they have {needed:,} "
                    f"pieces, and it may have {limit:,}.",
                    "Ask for fewer words, or for a longer translation: --max-extra.",
                )
            found.append(phrases)
        return found

    def _read(
        self,
        engine: Engine,
        job: Job,
        places: list[int],
        found: list[list[Hypothesis]],
        given: list[tuple[str, str]],
        tokens: bool,
        alignment: bool,
        size: int,
    ) -> list[Translation]:
        """What the engine found for these places of the job, with what was asked for besides.

        Their text is given as the user wrote it and as the model read it.
        """
        ranked = [some[: job.options.nbest] for some in self._rank(engine, job, places, found, size)]
        texts = iter(self.tokenizers.target.decode([one.tokens for some in ranked for one in some]))
        translations = []
        for (text, _), some in zip(given, ranked, strict=True):
            all_found = [Translation(text, next(texts), one.score) for one in some]
            best = all_found[0]
            translations.append(best if job.options.nbest == 1 else replace(best, alternatives=all_found))
        sources, targets = [job.sources[place] for place in places], [best.tokens for best, *_ in ranked]
        if tokens:
            scores = engine.score(sources, targets, size)
            named = map(self._name_tokens, targets, scores)
            translations = [replace(one, tokens=pairs) for one, pairs in zip(translations, named, strict=True)]
        if alignment:
            added = [len(read.split()) - len(text.split()) for text, read in given]
            links = map(self._align, sources, targets, engine.align(sources, targets, size), added)
            translations = [replace(one, alignment=found) for one, found in zip(translations, links, strict=True)]
        return translations

    def _rank(
        self, engine: Engine, job: Job, places: list[int], found: list[list[Hypothesis]], size: int
    ) -> list[list[Ranked]]:
        """Best first; what the search did not come to know is scored now."""
        unknown = [(row, n) for row, some in enumerate(found) for n, one in enumerate(some) if one.log_probability is None]
        if unknown:
            scores = engine.score(
                [job.sources[places[row]] for row, _ in unknown], [found[row][n].tokens for row, n in unknown], size
            )
            found = [list(some) for some in found]
            for (row, n), score in zip(unknown, scores, strict=True):
                found[row][n] = replace(found[row][n], log_probability=sum(score))
        return [rank(some, alpha=job.options.alpha, penalty=job.options.penalty) for some in found]

    def _name_tokens(self, pieces: Sequence[int], scores: Sequence[float]) -> list[tuple[str, float]]:
        target = self.tokenizers.target
        return list(zip(target.pieces([*pieces, target.eos]), scores, strict=True))

    def _align(self, source: Sequence[int], target: Sequence[int], attention: np.ndarray, added: int) -> list[tuple[int, int]]:
        """Links between words; those that were added before the user's own do not count."""
        reads = self.tokenizers.source
        pieces = [f"\u2581{name}" if i in reads.tags else name for i, name in zip(source, reads.pieces(source), strict=True)]
        words = [None if word is None or word < added else word - added for word in number_words(pieces)]
        return align_words(attention, words, number_words(self.tokenizers.target.pieces(target)))


def load(
    directory: str | Path | Sequence[str | Path],
    *,
    engine: EngineName = "auto",
    compute_type: ComputeType = "auto",
    threads: int | None = None,
) -> Translator:
    """Read a bundle, check it, and build its translator; of several bundles, one whose probabilities are their mean.

    It works with as many threads as there are cores, unless told otherwise.
    """
    given = [directory] if isinstance(directory, str | Path) else directory
    bundles = [read_bundle(Path(one)) for one in given]
    for bundle in bundles:
        require(bundle, "translate")
    return Translator(Engines(bundles, engine, compute_type, threads))


def _only_torch(job: Job, forced: bool) -> list[str]:
    """What CTranslate2 cannot do of what is asked."""
    asked = ["force words into a translation"] if forced else []
    longest = max([*map(len, job.sources), *job.limits], default=0)
    if longest >= LONGEST:
        asked.append(f"take {longest:,} pieces at once")
    return asked
