"""Tokenizers of Hugging Face's `tokenizers` library: BERT's WordPiece, GPT-2's bytes, and whatever else its JSON holds."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import BundleError, HeadwayError, RequestError
from headway.text.normalize import replace_surrogates

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TOKENIZER, _MARKS, _SPELLED = "tokenizer.json", "marks.json", "spelled"


class JsonTokenizer:
    """`marks` names pad, bos, eos, unk and mask, each a token of the tokenizer; bos, pad and unk may be missing.

    What is missing is eos: GPT-2 has one mark for everything. `spelled`: "</s>" in a text is that mark; else it is text.
    """

    SUFFIX = ".tokenizers"
    tags: Sequence[int] = ()

    def __init__(self, content: str, marks: Mapping[str, str], *, spelled: bool = True) -> None:
        self.content, self.marks, self.spelled = content, dict(marks), spelled
        self._tokenizer = _build(content)
        self._tokenizer.encode_special_tokens = not spelled
        self._names = {number: token for token, number in self._tokenizer.get_vocab(with_added_tokens=True).items()}
        self.size = max(self._names) + 1
        self.eos = self._find("eos")
        self.pad, self.bos, self.unk = (self._find(mark if mark in self.marks else "eos") for mark in ("pad", "bos", "unk"))
        self.mask = self._find("mask") if "mask" in self.marks else None
        self.sentinels = _find_sentinels(self._tokenizer)
        self._special = {self.pad, self.bos, self.eos, self.unk, self.mask, *self.sentinels}
        self._special |= {number for number, token in self._tokenizer.get_added_tokens_decoder().items() if token.special}
        self._bytes = (json.loads(content).get("decoder") or {}).get("type") == "ByteLevel"

    def _find(self, mark: str) -> int:
        number = self._tokenizer.token_to_id(self.marks[mark])
        if number is None:
            raise KeyError(f"its {mark} mark, {self.marks[mark]!r}, is not in it")
        return number

    def name(self, number: int) -> str | None:
        """Of a token, as it stands in the vocabulary."""
        return self._names.get(number)

    @property
    def settings(self) -> dict[str, Any]:
        """What tokenizer.json says, but for its vocabulary."""
        whole = json.loads(self.content)
        return {name: value for name, value in whole.items() if name not in ("model", "added_tokens")}

    def change(self, alter: Callable[["Tokenizer"], None]) -> str:
        """What tokenizer.json would say if its tokenizer were altered so."""
        tokenizer = _build(self.content)
        alter(tokenizer)
        return tokenizer.to_str()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        clean = [replace_surrogates(text) for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)]

    def sample(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        raise RequestError(
            "This tokenizer cannot cut text in other ways: the library `tokenizers` draws without a seed.",
            "Leave --sampling out.",
        )

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        plain = [[int(i) for i in some if i in self._names and i not in self._special] for some in ids]
        return self._tokenizer.decode_batch(plain)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        names = [self._names.get(int(i), f"<{int(i)}>") for i in ids]
        if not self._bytes:
            return names
        texts = self._tokenizer.decode_batch([[int(i)] for i in ids], skip_special_tokens=False)
        return [
            name if "\ufffd" in text or not text else text.replace(" ", "\u2581")
            for name, text in zip(names, texts, strict=True)
        ]

    def cut(self, pieces: Sequence[str]) -> list[list[int]]:
        from tokenizers.pre_tokenizers import ByteLevel

        words = list(pieces)
        if self._bytes:  # its pieces are spelled in signs for bytes
            spell = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str
            words = ["".join(part for part, _ in spell(piece.replace("\u2581", " "))) for piece in words]
        return [[token.id for token in self._tokenizer.model.tokenize(word)] for word in words]

    def save(self, path: Path) -> None:
        path.mkdir()
        (path / _TOKENIZER).write_text(self.content, encoding="utf-8")
        marks = self.marks if self.spelled else {**self.marks, _SPELLED: False}
        (path / _MARKS).write_text(json.dumps(marks, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "JsonTokenizer":
        try:
            marks = json.loads((path / _MARKS).read_text(encoding="utf-8"))
            spelled = marks.pop(_SPELLED, True)
            return cls((path / _TOKENIZER).read_text(encoding="utf-8"), marks, spelled=spelled)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise BundleError(f"The tokenizer {path} cannot be read: {error}.", "Take a whole copy of it.") from None


def require_tokenizers() -> None:
    try:
        import tokenizers  # noqa: F401
    except ImportError:
        raise HeadwayError("tokenizers is not installed.", "Install it: pip install 'headway[huggingface]'") from None


def _build(content: str) -> "Tokenizer":
    require_tokenizers()
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(content)
    except Exception as error:  # the library raises nothing narrower
        raise ValueError(str(error)) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _find_sentinels(tokenizer: "Tokenizer") -> list[int]:
    """T5's: <extra_id_0>, <extra_id_1> and so on, which stand at the end of its vocabulary, the last first."""
    found: list[int] = []
    while (number := tokenizer.token_to_id(f"<extra_id_{len(found)}>")) is not None:
        found.append(number)
    return found
