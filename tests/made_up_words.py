"""Small corpora of made-up words, and what was prepared of them."""

import random
from pathlib import Path
from typing import Any

from headway.config import Settings, build_settings
from headway.data.prepare import Prepared

WORDS = ["".join(random.Random(i).choices("abcdefghijklmnopqrstuvwxyz", k=5)) for i in range(80)]


def make_pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    sentences = [" ".join(draw.choices(WORDS, k=draw.randint(4, 9))) for _ in range(count)]
    return [(sentence, sentence.upper()) for sentence in sentences]


def write_corpus(stem: Path, pairs: list[tuple[str, str]]) -> str:
    for language, side in (("en", 0), ("de", 1)):
        Path(f"{stem}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return str(stem)


def make_settings(train: str | list[str], *, tokenizer: dict[str, Any] | None = None, seed: int = 1, **data: Any) -> Settings:
    return build_settings(
        {
            "data": {"train": [train] if isinstance(train, str) else train, "from": "en", "to": "de", **data},
            "tokenizer": {"vocab_size": 400, **(tokenizer or {})},
            "training": {"seed": seed},
        }
    )


def files_of(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def training_text(prepared: Prepared) -> list[tuple[str, str]]:
    store, tokenizers = prepared.train, prepared.tokenizers
    sources = tokenizers.source.decode([store.source(i) for i in range(len(store))])
    return list(zip(sources, tokenizers.target.decode([store.target(i) for i in range(len(store))]), strict=True))
