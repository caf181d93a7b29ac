"""Translators as Marian releases them: random weights whose choices are clear, in the files of an OPUS-MT release."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml
from foreign_tokenizers import learn_pieces, list_pieces

PLAIN: dict[str, Any] = {
    "type": "transformer",
    "dim-emb": 16,
    "enc-depth": 2,
    "dec-depth": 2,
    "transformer-heads": 2,
    "transformer-dim-ffn": 24,
    "transformer-ffn-depth": 2,
    "transformer-ffn-activation": "swish",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-no-projection": False,
    "transformer-train-position-embeddings": False,
    "transformer-tied-layers": [],
    "tied-embeddings": False,
    "tied-embeddings-all": True,
    "tied-embeddings-src": False,
    "transformer-depth-scaling": True,
    "skip": False,
    "layer-normalization": False,
    "right-left": False,
    "input-types": [],
    "ulr": False,
    "version": "v1.9.0 ba94c5b9 2020-05-17 10:42:17 +0100",
}
PRENORM = {"transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n"}
SEPARATE = {"tied-embeddings-all": False, "tied-embeddings": True}
UNTIED = {"tied-embeddings-all": False}
MODEL, VOCABULARY = "opus.spm32k-spm32k.transformer.model1.npz.best-perplexity.npz", "opus.spm32k-spm32k.vocab.yml"


def list_vocabularies(*, separate: bool) -> list[list[str]]:
    """Marian's own: the end and the unknown first, then whatever came up, and "null" and numbers are words like any other."""
    english, german = ([p for p in list_pieces(learn_pieces(side)) if p[0] != "<"] for side in (False, True))
    first = ["</s>", "<unk>", "null", "10", ">>deu<<"]
    if separate:
        return [first + english, first[:-1] + german]
    return [first + list(dict.fromkeys(english + german))] * 2


def make_arrays(config: dict[str, Any], sizes: list[int], *, seed: int, sharpness: float) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    d, ff = config["dim-emb"], config["transformer-dim-ffn"]
    arrays: dict[str, np.ndarray] = {}

    def add(name: str, *shape: int, scale: float = 1.0, mean: float = 0.0) -> None:
        arrays[name] = (mean + scale * random.standard_normal(shape)).astype(np.float32)

    def add_norms(prefix: str, *, layer: bool) -> None:
        before, after = (config[f"transformer-{end}"] for end in ("preprocess", "postprocess"))
        suffixes = (["_pre"] if "n" in before else []) + ([""] if "n" in after else [])
        for suffix in suffixes if layer else [""]:
            add(f"{prefix}_ln_scale{suffix}", 1, d, scale=0.3, mean=1.0)
            add(f"{prefix}_ln_bias{suffix}", 1, d, scale=0.3)

    for stack, parts in (("encoder", ["self"]), ("decoder", ["self", "context"])):
        for layer in range(1, config[f"{stack[:3]}-depth"] + 1):
            for part in parts:
                for letter in "qkvo":
                    add(f"{stack}_l{layer}_{part}_W{letter}", d, d, scale=sharpness / d**0.5)
                    add(f"{stack}_l{layer}_{part}_b{letter}", 1, d, scale=0.3)
                add_norms(f"{stack}_l{layer}_{part}_Wo", layer=True)
            for number, (width, out) in enumerate([(d, ff), (ff, d)], start=1):
                add(f"{stack}_l{layer}_ffn_W{number}", width, out, scale=sharpness / width**0.5)
                add(f"{stack}_l{layer}_ffn_b{number}", 1, out, scale=0.3)
            add_norms(f"{stack}_l{layer}_ffn_ffn", layer=True)
        if config["transformer-postprocess-top"] == "n":
            add_norms(f"{stack}_top", layer=False)
    if config["tied-embeddings-all"]:
        add("Wemb", sizes[0], d, scale=sharpness / d**0.5)
    else:
        rows = 1.0 if config["tied-embeddings"] else 0.3  # small ones let positions count, so that outputs have an end
        add("encoder_Wemb", sizes[0], d, scale=rows * sharpness / d**0.5)
        add("decoder_Wemb", sizes[1], d, scale=rows * sharpness / d**0.5)
        if not config["tied-embeddings"]:
            add("decoder_ff_logit_out_W", d, sizes[1], scale=4 * sharpness / d**0.5)
    add("decoder_ff_logit_out_b", 1, sizes[1], scale=0.5)
    return arrays


def write_release(directory: Path, *, seed: int = 1, sharpness: float = 1.5, ends: float = 0.0, **shape: Any) -> Path:
    """`ends` raises the logit of the end."""
    config = PLAIN | shape
    directory.mkdir(parents=True, exist_ok=True)
    separate = not config["tied-embeddings-all"]
    vocabularies = list_vocabularies(separate=separate)
    sizes = [len(words) for words in vocabularies]
    arrays = make_arrays(config, sizes, seed=seed, sharpness=sharpness)
    arrays["decoder_ff_logit_out_b"][0, 0] += ends
    write_arrays(directory / MODEL, config | {"dim-vocabs": sizes}, arrays)
    names = ["source.vocab.yml", "target.vocab.yml"] if separate else [VOCABULARY, VOCABULARY]
    for name, words in zip(names, vocabularies, strict=True):
        ids = {word: number for number, word in enumerate(words)}
        (directory / name).write_text(yaml.safe_dump(ids, allow_unicode=True, sort_keys=False), encoding="utf-8")
    (directory / "source.spm").write_bytes(learn_pieces(False))
    (directory / "target.spm").write_bytes(learn_pieces(True))
    decoder = {"models": [MODEL], "vocabs": names, "beam-size": 6, "normalize": 1, "word-penalty": 0, "relative-paths": True}
    (directory / "decoder.yml").write_text(yaml.safe_dump(decoder))
    return directory


def write_arrays(path: Path, config: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    text = yaml.safe_dump(config).encode() + b"\0"
    np.savez(path, **{"special:model.yml": np.frombuffer(text, dtype=np.int8)}, **arrays)
