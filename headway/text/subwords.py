"""SentencePiece behind the tokenizer protocol, with its traps taken out.

It treats U+2581 as its own sign for a space, skips training lines that hold NUL or U+2585, skips or dies of long ones, and
draws from one generator a thread that only a fresh thread seeds anew. Each is handled here, and nowhere else.
"""

import io
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import sentencepiece

from headway.errors import BundleError, DataError, RequestError
from headway.text.normalize import normalize

MAX_TRAINING_LINES = 5_000_000  # a vocabulary learns nothing from more, and training holds them all in memory
_SLICE = 1_000  # characters; SentencePiece skips lines over its limit of bytes, and aborts on words of 65,536 characters
_MAX_SLICE_BYTES = 4 * (2 * _SLICE + 1)  # each character of a slice may be escaped, and has up to 4 bytes
_COVERAGE = 0.9999  # of the corpus's characters have a piece of their own; the rarest are spelled in bytes
_THREADS = 4  # fixed: sums, and so pieces, must not depend on the machine
_MANY = 64  # texts from which on threads pay

_SPACE = "\u2581"
_ESCAPE = "\ufdd0"  # a noncharacter, set aside by Unicode for such internal use
_UNTRAINABLE = str.maketrans({"\0": " ", "\u2585": " ", "\n": " "})

T = TypeVar("T")
_seeding = threading.Lock()
sentencepiece.set_min_log_level(2)


class VocabularyTooSmall(RequestError):
    """`least` is the smallest size that works for the corpus."""

    def __init__(self, asked: int, least: int) -> None:
        super().__init__(
            f"A vocabulary of {asked:,} pieces is too small: bytes and characters of this corpus take {least:,}.",
            f"Give --vocab-size {least} or more, or leave it out.",
        )
        self.least = least


class SentencePieceTokenizer:
    pad, bos, eos, unk = 0, 1, 2, 3

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(model)
        self.size: int = self._processor.get_piece_size()

    @classmethod
    def train(cls, lines: Iterable[str], *, kind: Literal["bpe", "unigram"], vocab_size: int) -> "SentencePieceTokenizer":
        """Learn a vocabulary. It comes out smaller than asked (`size`) where the corpus allows no more.

        The same lines give the same vocabulary: of a huge corpus, SentencePiece always draws the same lines.
        """
        model = io.BytesIO()
        failure: list[BaseException] = []
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_training_lines(lines, failure),
                model_writer=model,
                model_type=kind,
                vocab_size=vocab_size,
                hard_vocab_limit=False,
                byte_fallback=True,
                character_coverage=_COVERAGE,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                max_sentence_length=_MAX_SLICE_BYTES,
                input_sentence_size=MAX_TRAINING_LINES,
                shuffle_input_sentence=True,
                num_threads=_THREADS,
                pad_id=cls.pad,
                bos_id=cls.bos,
                eos_id=cls.eos,
                unk_id=cls.unk,
                minloglevel=2,
            )
        except RuntimeError as error:
            if failure:
                raise failure[0] from None
            if "sentences_.empty()" in str(error):
                raise DataError("There is no text to learn a vocabulary from.", "Check that the corpus is not blank.") from None
            if least := re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error)):
                raise VocabularyTooSmall(vocab_size, int(least[1])) from None
            raise
        if failure:
            raise failure[0]
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: Path) -> "SentencePieceTokenizer":
        try:
            model = path.read_bytes()
        except OSError as error:
            raise BundleError(f"The tokenizer {path} cannot be read: {error.strerror}.", "Take a whole copy of it.") from None
        try:
            return cls(model)
        except RuntimeError:
            raise BundleError(
                f"The tokenizer {path} is truncated or no SentencePiece model ({len(model):,} bytes).",
                "Take a whole copy of it.",
            ) from None

    def save(self, path: Path) -> None:
        path.write_bytes(self._model)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        threads = 1 if len(texts) < _MANY else -1  # -1: every core
        return self._processor.encode([_escape(normalize(text)) for text in texts], num_threads=threads)

    def sample(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        """BPE-dropout, with `alpha` the share of merges left out; or unigram sampling, with `alpha` its smoothing."""
        escaped = [_escape(normalize(text)) for text in texts]
        # nbest_size -1: from all cuts. One thread: with several, which one draws for which text is a matter of luck.
        return _in_fresh_thread(
            seed,
            lambda: self._processor.encode(escaped, enable_sampling=True, alpha=alpha, nbest_size=-1, num_threads=1),
        )

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        if not ids:
            return []
        plain = [[int(i) for i in sentence if i > self.unk] for sentence in ids]
        return [_unescape(text) for text in self._processor.decode(plain)]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._processor.id_to_piece(int(i)) for i in ids]


def _escape(text: str) -> str:
    """Write U+2581, which SentencePiece would hand back as a space, in two characters; and the escape sign itself also."""
    if _SPACE not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, _ESCAPE + "0").replace(_SPACE, _ESCAPE + "1")


def _unescape(text: str) -> str:
    if _ESCAPE not in text:
        return text
    return re.sub(f"{_ESCAPE}([01])", lambda found: _ESCAPE if found[1] == "0" else _SPACE, text)


def _training_lines(lines: Iterable[str], failure: list[BaseException]) -> Iterator[str]:
    """Lines as the trainer can bear them. An exception must not cross its C++ code: it is put into `failure` instead."""
    try:
        for line in lines:
            text = normalize(line)
            for start in range(0, len(text), _SLICE):
                yield _escape(text[start : start + _SLICE].translate(_UNTRAINABLE))
    except BaseException as error:
        failure.append(error)


def _in_fresh_thread(seed: int, work: Callable[[], T]) -> T:
    """Run `work` with SentencePiece's generator seeded: the seed is the process's, and takes hold in a new thread only."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    with _seeding:
        sentencepiece.set_random_generator_seed(seed % 2**31)  # 2**32 - 1 would mean "random"
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
    if errors:
        raise errors[0]
    return results[0]
