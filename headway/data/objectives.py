"""What a model learns from: how stored examples become what it reads and what it should say.

An objective is told which examples, and whence to draw what is random in them: an example drawn for one update is the same in
whichever process and batch it is computed. How many positions an example takes is known from its lengths alone.
B batch, S positions read, T positions predicted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headway.data.batching import IGNORED, Batch, Indices, Sentence, collate, pad_rows
from headway.data.store import Ids, Lengths
from headway.errors import RequestError
from headway.text.tokenizer import Tokenizer, Tokenizers

Draw = Callable[[int], np.random.Generator]  # an example's own generator


class Examples(Protocol):
    """Pairs of ids: a `Store`, or some that were encoded just now."""

    @property
    def source_lengths(self) -> Lengths: ...
    @property
    def target_lengths(self) -> Lengths: ...

    def source(self, index: int) -> Ids: ...
    def target(self, index: int) -> Ids: ...


class Encoded:
    """A few examples in memory."""

    def __init__(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> None:
        self._sources, self._targets = ([np.array(ids, np.uint32) for ids in side] for side in (sources, targets))
        self.source_lengths, self.target_lengths = (np.array([len(ids) for ids in side]) for side in (sources, targets))

    def source(self, index: int) -> Ids:
        return self._sources[index]

    def target(self, index: int) -> Ids:
        return self._targets[index]


@dataclass(frozen=True)
class Sizes:
    """Of each example: positions that are read, those that fill the budget of a batch, and predictions that are judged."""

    read: Lengths
    written: Lengths
    judged: Lengths


class Objective(Protocol):
    def sizes(self, examples: Examples) -> Sizes: ...
    def collate(self, examples: Examples, rows: Indices, draw: Draw) -> Batch: ...


class Translation:
    """The target from the source (section 5)."""

    def __init__(self, target: Tokenizer, source: Tokenizer | None = None) -> None:
        """`source`: the sources' own tokenizer, if they have one."""
        self._target, self._source_pad = target, (source or target).pad

    def sizes(self, examples: Examples) -> Sizes:
        written = examples.target_lengths + 1
        return Sizes(examples.source_lengths + 1, written, written)

    def collate(self, examples: Examples, rows: Indices, draw: Draw) -> Batch:
        return self.put_together([examples.source(row) for row in rows], [examples.target(row) for row in rows])

    def put_together(self, sources: Sequence[Sentence], targets: Sequence[Sentence]) -> Batch:
        marks = {"pad": self._target.pad, "bos": self._target.bos, "eos": self._target.eos}
        return collate(sources, targets, **marks, source_pad=self._source_pad)


class Denoising(Translation):
    """A text from what is left of it when spans are hidden, each behind one mark (Lewis et al., 2020)."""

    def __init__(self, tokenizer: Tokenizer, *, hidden: float, span: float) -> None:
        super().__init__(tokenizer)
        self._mask, self._hidden, self._span = _require_mask(tokenizer), hidden, span

    def collate(self, examples: Examples, rows: Indices, draw: Draw) -> Batch:
        return self.put_together([self._hide(examples.source(r), draw(r)) for r in rows], [examples.target(r) for r in rows])

    def _hide(self, text: Ids, random: np.random.Generator) -> NDArray[np.int64]:
        gaps, spans = draw_spans(len(text), *count_spans(len(text), self._hidden, self._span), random)
        parts: list[Sentence] = []
        at = 0
        for gap, span in zip(gaps, [*spans, 0], strict=True):
            parts += [text[at : at + gap], [self._mask]]
            at += gap + span
        return np.concatenate(parts[:-1])


class SpanCorruption(Translation):
    """T5's: hidden spans stand behind a sentinel each, and the target is the sentinels with what they hide."""

    def __init__(self, tokenizer: Tokenizer, *, hidden: float, span: float) -> None:
        super().__init__(tokenizer)
        if not tokenizer.sentinels:
            raise RequestError(
                "The vocabulary has no marks for hidden spans.", "Take a model that was trained with --task span."
            )
        self._sentinels, self._hidden, self._span = list(tokenizer.sentinels), hidden, span

    def sizes(self, examples: Examples) -> Sizes:
        n = examples.source_lengths
        lengths, place = np.unique(n, return_inverse=True)
        counts = np.array([self._count(length) for length in lengths.tolist()], np.int32).reshape(-1, 2)
        hidden, spans = counts[place].T
        written = hidden + spans + 1
        return Sizes(n - hidden + spans + 1, written, written)

    def _count(self, length: int) -> tuple[int, int]:
        hidden, spans = count_spans(length, self._hidden, self._span)
        return hidden, min(spans, len(self._sentinels))

    def collate(self, examples: Examples, rows: Indices, draw: Draw) -> Batch:
        both = [self._corrupt(examples.source(row), draw(row)) for row in rows]
        return self.put_together([source for source, _ in both], [target for _, target in both])

    def _corrupt(self, text: Ids, random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        gaps, spans = draw_spans(len(text), *self._count(len(text)), random)
        source: list[Sentence] = []
        target: list[Sentence] = []
        at = 0
        for gap, span, sentinel in zip(gaps[:-1], spans, self._sentinels, strict=False):
            source += [text[at : at + gap], [sentinel]]
            target += [[sentinel], text[at + gap : at + gap + span]]
            at += gap + span
        return np.concatenate([*source, text[at:]]), np.concatenate(target)


class NextToken:
    """Each token of a passage from those before it. A passage begins with the last token of the one before."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._pad = max(tokenizer.pad, 0)

    def sizes(self, examples: Examples) -> Sizes:
        written = examples.target_lengths - 1
        return Sizes(np.zeros_like(written), written, written)

    def collate(self, examples: Examples, rows: Indices, draw: Draw) -> Batch:
        passages = [examples.target(row) for row in rows]
        tokens, _ = pad_rows([passage[:-1] for passage in passages], self._pad)
        target, lengths = pad_rows([passage[1:] for passage in passages], IGNORED)
        return Batch((tokens,), target, int(lengths.sum()))


class MaskedTokens:
    """BERT's: a share of the tokens is to be told, of which 80 % are hidden, 10 % replaced by any other, 10 % left."""

    def __init__(self, tokenizer: Tokenizer, *, hidden: float, whole_words: bool, longest: int) -> None:
        self._marks, self._mask = _Marks(tokenizer, longest), _require_mask(tokenizer)
        self._hidden, self._whole_words = hidden, whole_words
        names = tokenizer.pieces(range(tokenizer.size))
        marks = {tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unk, self._mask, *tokenizer.sentinels}
        self._plain = np.array(sorted(set(range(tokenizer.size)) - marks))
        by_sharps = any(name.startswith("##") for name in names)  # WordPiece marks what goes on, SentencePiece what begins
        self._begins = np.array([not name.startswith("##") if by_sharps else name.startswith("\u2581") for name in names])

    def sizes(self, examples: Examples) -> Sizes:
        n = self._marks.cut(examples.source_lengths)
        return Sizes(n + 2, n + 2, self._count(n))

    def _count(self, n: Lengths) -> Lengths:
        return np.minimum(n, np.maximum(1, np.rint(n * self._hidden))).astype(np.int64)

    def collate(self, examples: Examples, rows: Indices, draw: Draw) -> Batch:
        texts = [examples.source(row)[: self._marks.longest].astype(np.int64) for row in rows]
        targets = []
        for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
            texts[number], target = self._hide(text, draw(row))
            targets.append(np.concatenate([[IGNORED], target, [IGNORED]]))
        target, _ = pad_rows(targets, IGNORED)
        return Batch((self._marks.surround(texts),), target, int((target != IGNORED).sum()))

    def _hide(self, text: NDArray[np.int64], random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        chosen = self._choose(text, random)
        target = np.full(len(text), IGNORED)
        target[chosen] = text[chosen]
        fate, others = random.random(len(chosen)), random.choice(self._plain, len(chosen))
        text = text.copy()
        text[chosen] = np.where(fate < 0.8, self._mask, np.where(fate < 0.9, others, text[chosen]))
        return text, target

    def _choose(self, text: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """Places, as many as the length allows; with whole words, one word after the other."""
        count = int(self._count(np.array([len(text)]))[0])
        if not self._whole_words or not len(text):
            return random.permutation(len(text))[:count]
        begins = self._begins[text]
        begins[:1] = True
        word = np.cumsum(begins) - 1
        order = random.permutation(int(word[-1]) + 1)
        return np.argsort(order[word], kind="stable")[:count]


class TextClasses:
    """The class of a text."""

    def __init__(self, tokenizer: Tokenizer, *, longest: int) -> None:
        self._marks = _Marks(tokenizer, longest)

    def sizes(self, examples: Examples) -> Sizes:
        n = self._marks.cut(examples.source_lengths) + 2
        return Sizes(n, n, np.ones_like(n))

    def collate(self, examples: Examples, rows: Indices, draw: Draw) -> Batch:
        texts = [examples.source(row)[: self._marks.longest] for row in rows]
        target = np.array([examples.target(row) for row in rows], np.int64)
        return Batch((self._marks.surround(texts),), target, len(target))


class PictureClasses:
    """The class of a picture, which is moved by up to `shift` pixels each time that it is seen."""

    def __init__(
        self, *, channels: int, size: int, patches: int, mean: Sequence[float], deviation: Sequence[float], shift: int = 0
    ) -> None:
        self._shape, self._patches, self._shift = (channels, size, size), patches, shift
        self._mean, self._deviation = (np.array(numbers, np.float32)[:, None, None] for numbers in (mean, deviation))

    def sizes(self, examples: Examples) -> Sizes:
        n = np.full(len(examples.source_lengths), self._patches + 1)
        return Sizes(n, n, np.ones_like(n))

    def collate(self, examples: Examples, rows: Indices, draw: Draw) -> Batch:
        pictures = np.stack([examples.source(row).reshape(self._shape) for row in rows])
        if self._shift:
            pictures = np.stack([self._move(picture, draw(row)) for picture, row in zip(pictures, rows, strict=True)])
        pixels = (pictures.astype(np.float32) / 255 - self._mean) / self._deviation
        return Batch((pixels,), np.array([examples.target(row) for row in rows], np.int64), len(pixels))

    def _move(self, picture: Ids, random: np.random.Generator) -> Ids:
        """What comes in from outside is what stands at the edge."""
        s = self._shift
        down, right = random.integers(0, 2 * s + 1, 2)
        height, width = picture.shape[1:]
        wide = np.pad(picture, ((0, 0), (s, s), (s, s)), mode="edge")
        return wide[:, down : down + height, right : right + width]


class _Marks:
    """What an encoder alone reads: a text between two marks, as long as it has positions for."""

    def __init__(self, tokenizer: Tokenizer, longest: int) -> None:
        self._pad, self._bos, self._eos, self.longest = tokenizer.pad, tokenizer.bos, tokenizer.eos, longest - 2

    def cut(self, lengths: Lengths) -> Lengths:
        return np.minimum(lengths, self.longest)

    def surround(self, texts: Sequence[Sentence]) -> NDArray[np.int64]:
        rows, _ = pad_rows([np.concatenate([[self._bos], text, [self._eos]]) for text in texts], self._pad)
        return rows


def count_spans(length: int, hidden: float, span: float) -> tuple[int, int]:
    """How many tokens of a text are hidden, and in how many spans of about `span` tokens; never two spans side by side."""
    tokens = min(length, max(1, round(hidden * length)))
    return tokens, max(1, min(round(tokens / span), length - tokens + 1))


def draw_spans(length: int, hidden: int, spans: int, random: np.random.Generator) -> tuple[list[int], list[int]]:
    """Lengths of the gaps, one more than spans, of which the first and the last may be empty; and of the spans."""
    cuts = np.sort(random.choice(hidden - 1, spans - 1, replace=False)) + 1 if spans > 1 else np.empty(0, np.int64)
    lengths = np.diff([0, *cuts, hidden])
    free = length - hidden - (spans - 1)  # tokens of the gaps beyond the one that each inner gap must have
    bars = np.sort(random.choice(free + spans, spans, replace=False))
    gaps = np.diff([-1, *bars, free + spans]) - 1
    gaps[1:-1] += 1
    return gaps.tolist(), lengths.tolist()


def _require_mask(tokenizer: Tokenizer) -> int:
    if tokenizer.mask is None:
        raise RequestError(
            "The vocabulary has no mark for what is hidden.", "Take a model that was trained with --task mlm or denoise."
        )
    return tokenizer.mask


def build_objective(
    task: Literal["translate", "denoise", "span", "lm", "mlm", "classify"],
    tokenizers: Tokenizers,
    *,
    hidden: float,
    span: float,
    whole_words: bool,
    longest: int,
) -> Objective:
    """Of a task on text. `hidden` is a share of the tokens, `span` how many are hidden at a stretch, `longest` how many
    positions a model of texts has.
    """
    if task == "translate":
        return Translation(tokenizers.target, tokenizers.source)
    if task == "denoise":
        return Denoising(tokenizers.source, hidden=hidden, span=span)
    if task == "span":
        return SpanCorruption(tokenizers.source, hidden=hidden, span=span)
    if task == "lm":
        return NextToken(tokenizers.source)
    if task == "mlm":
        return MaskedTokens(tokenizers.source, hidden=hidden, whole_words=whole_words, longest=longest)
    return TextClasses(tokenizers.source, longest=longest)
