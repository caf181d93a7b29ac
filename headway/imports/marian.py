"""OPUS-MT's own release form as a bundle: a Marian model (`.npz`), `decoder.yml`, its vocabulary and its SentencePiece files.

Marian has matrices as [in, out], where torch has [out, in]. Its position table is not the paper's: all sines come first, and
its wavelengths end at 10,000 * 2 pi exactly. So the table goes into the bundle as it is, as positions that were learned.
Its decoder begins with a vector of zeros, which no row of its embedding is: the bundle has one row more for it, the pad mark.
"""

import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from headway.architectures import Architecture
from headway.bundle import Manifest, Provenance, write_bundle
from headway.config import DecodingSettings, TokenizerSettings
from headway.errors import BundleError, RequestError
from headway.imports.tokenizers import check_ends
from headway.text.piece_list import PieceListTokenizer
from headway.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from torch import Tensor

DECODER = "decoder.yml"
POSITIONS = 2048  # rows of the position table; what comes after takes the last one
_CONFIG = "special:model.yml"
_MARKS = ["<pad>", "</s>", "<unk>"]
_COPY_AGAIN = "Take a whole copy of the release."

# Options of a Marian model that change what it computes, with what each must be; absent ones are as they should be.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-postprocess-emb": ("", "d"),
    "transformer-ffn-activation": ("relu", "swish", "gelu"),
    "transformer-attention-mask": ("default",),
    "transformer-tied-layers": ([],),
    "input-types": ([], ["sequence"], ["sequence", "sequence"]),
    "lemma-dim-emb": (0,),
}
_OFF = (
    "transformer-train-position-embeddings",
    "transformer-train-positions",
    "transformer-disable-position-embeddings",
    "transformer-no-projection",
    "transformer-no-bias",
    "transformer-no-affine",
    "transformer-pool",
    "transformer-alibi-shift",
    "output-omit-bias",
    "right-left",
    "ulr",
)


@dataclass(frozen=True)
class _Release:
    """What `decoder.yml` says, its files found."""

    model: Path
    vocabularies: list[Path]  # of the source and of the target
    decoding: DecodingSettings


def is_marian(directory: Path) -> bool:
    return (directory / DECODER).is_file() or any(directory.glob("*.npz"))


def import_marian(directory: Path, out: Path, *, source_language: str, target_language: str) -> None:
    """Read a release, and write it as a bundle."""
    release = _read_release(directory)
    config, arrays = _read_model(release.model)
    architecture = _read_architecture(config, release.model)
    _check_tensors(architecture, arrays, release.model)
    weights = _convert(architecture, arrays)
    tokenizers = _read_tokenizers(directory, release, architecture)
    manifest = Manifest(
        architecture=architecture,
        source_language=source_language,
        target_language=target_language,
        tokenizer=TokenizerSettings(kind="unigram", shared=tokenizers.shared),
        decoding=release.decoding,
        provenance=Provenance(settings={"marian": {"model": release.model.name, "version": str(config.get("version", ""))}}),
    )
    write_bundle(out, manifest, weights, tokenizers)


def _read_release(directory: Path) -> _Release:
    path = directory / DECODER
    if not path.is_file():
        raise BundleError(f"{directory} has no {DECODER}, which names a Marian model's files.", _COPY_AGAIN)
    content = _read_yaml(path)
    models, vocabularies = (_listed(path, content, name) for name in ("models", "vocabs"))
    if len(models) != 1:
        raise RequestError(f"{path} names {len(models)} models; Headway reads one.", "Leave one of them in it.")
    if not vocabularies:
        raise BundleError(f"{path} names no vocabs.", _COPY_AGAIN)
    if _number(path, content, "word-penalty", 0.0) != 0:
        raise RequestError(
            f"{path} has a word-penalty of {content['word-penalty']}, which Headway's search does not know.",
            "Set it to 0 there; translations may then have another length.",
        )
    files = [directory / Path(name).name for name in (models[0], vocabularies[0], vocabularies[-1])]
    for file in files:
        if not file.is_file():
            raise BundleError(f"{path} names {file.name}, which is not beside it.", _COPY_AGAIN)
    return _Release(files[0], files[1:], _read_decoding(path, content))


def _read_decoding(path: Path, content: dict[str, Any]) -> DecodingSettings:
    beam, power = _number(path, content, "beam-size", 12), _number(path, content, "normalize", 0.0)
    try:
        return DecodingSettings(beam=int(beam), penalty="power", length_penalty=power, patience=1.0)
    except (ValueError, OverflowError):  # pydantic's is one of the first
        raise BundleError(
            f"{path} has beam-size: {beam:g} and normalize: {power:g}; no search has these.",
            "A beam-size is at least 1, and normalize at least 0: correct it there.",
        ) from None


def _read_model(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A model's options and its tensors, without what training left beside them."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise BundleError(f"{path} cannot be read: {error}.", _COPY_AGAIN) from None
    if _CONFIG not in arrays:
        raise BundleError(f"{path} is no Marian model: it has no {_CONFIG}.", _COPY_AGAIN)
    try:
        config = yaml.safe_load(arrays[_CONFIG].tobytes().rstrip(b"\0").decode())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BundleError(f"{_CONFIG} in {path} cannot be read: {error}.", _COPY_AGAIN) from None
    if not isinstance(config, dict):
        raise BundleError(f"{_CONFIG} in {path} holds no options.", _COPY_AGAIN)
    return config, {name: array for name, array in arrays.items() if not name.startswith("special:")}


def _read_architecture(config: dict[str, Any], path: Path) -> Architecture:
    _refuse_others(config, path)
    try:
        d_model, heads = int(config["dim-emb"]), int(config["transformer-heads"])
        depths = int(config["enc-depth"]), int(config["dec-depth"])
        d_ff, (source, target) = int(config["transformer-dim-ffn"]), (int(size) for size in config["dim-vocabs"])
    except (KeyError, TypeError, ValueError) as error:
        raise BundleError(f"The options in {path} are not all there: {error}.", _COPY_AGAIN) from None
    if heads < 1 or d_model % heads:
        raise BundleError(f"{path} has dim-emb {d_model}, which its {heads} transformer-heads do not divide.", _COPY_AGAIN)
    everything = config.get("tied-embeddings-all") or (config.get("tied-embeddings") and config.get("tied-embeddings-src"))
    return Architecture(
        source_vocab=source + 1,
        target_vocab=target + 1,
        n_layers=depths[0],
        n_decoder_layers=depths[1],
        d_model=d_model,
        d_ff=d_ff,
        n_heads=heads,
        d_k=d_model // heads,
        d_v=d_model // heads,
        dropout=float(config.get("transformer-dropout", 0.1)),
        norm="pre" if "n" in config.get("transformer-preprocess", "") else "post",
        positions="learned",
        epsilon=1e-6,
        max_positions=POSITIONS,
        activation=config.get("transformer-ffn-activation", "swish"),
        tie="all" if everything else "target" if config.get("tied-embeddings") else "none",
        output_bias=True,
    )


def _refuse_others(config: dict[str, Any], path: Path) -> None:
    """Name every option that makes another model than the paper's of this one."""
    wrong = [name for name, allowed in _PLAIN.items() if name in config and config[name] not in allowed]
    wrong += [name for name in _OFF if config.get(name)]
    if config.get("transformer-decoder-dim-ffn") not in (None, 0, config.get("transformer-dim-ffn")):
        wrong.append("transformer-decoder-dim-ffn")
    if config.get("tied-embeddings-src") and not (config.get("tied-embeddings") or config.get("tied-embeddings-all")):
        wrong.append("tied-embeddings-src")
    stages = ("transformer-preprocess", "transformer-postprocess", "transformer-postprocess-top")
    usual = ("", "dan", "")
    norms = tuple(str(config.get(name, usual[place])).replace("d", "") for place, name in enumerate(stages))
    if norms not in (("", "an", ""), ("n", "a", "n")):
        wrong += [name for name in stages if name in config]
    if wrong:
        said = ", ".join(f"{name}: {config[name]!r}" for name in wrong)
        raise RequestError(
            f"The Marian model {path} has options that Headway has no blocks for: {said}.", "Take another model."
        )


def _check_tensors(a: Architecture, arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Name all that are missing, too many, or of another shape, at once."""
    shapes = _list_shapes(a, arrays)
    wrong = [f"{name} {list(shape)} is missing" for name, shape in shapes.items() if name not in arrays]
    wrong += [f"{name} {list(array.shape)} has no place" for name, array in arrays.items() if name not in shapes]
    for name in shapes.keys() & arrays.keys():
        if arrays[name].shape != shapes[name]:
            wrong.append(f"{name} is {list(arrays[name].shape)}, the options say {list(shapes[name])}")
        elif arrays[name].dtype.kind != "f":
            wrong.append(f"{name} has numbers of type {arrays[name].dtype}, not floating point")
    if wrong:
        raise BundleError(f"The tensors of {path} do not fit its options: {'; '.join(sorted(wrong))}.", _COPY_AGAIN)


def _list_shapes(a: Architecture, arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """What a model of this shape has, by Marian's names."""
    d, source, target = a.d_model, a.source_vocab - 1, a.target_vocab - 1
    shapes: dict[str, tuple[int, ...]] = {"decoder_ff_logit_out_b": (1, target)}
    if a.tie == "all":
        shapes["Wemb"] = (target, d)
    else:
        shapes |= {"encoder_Wemb": (source, d), "decoder_Wemb": (target, d)}
    if a.tie == "none" and "decoder_ff_logit_out_Wt" in arrays:
        shapes["decoder_ff_logit_out_Wt"] = (target, d)
    elif a.tie == "none":
        shapes["decoder_ff_logit_out_W"] = (d, target)
    norms = [f"{stack}_top_ln" for stack in ("encoder", "decoder")] if a.norm == "pre" else []
    for prefix, theirs, _ in _list_sublayers(a):
        norms.append(f"{prefix}_{theirs}_ln")
        if theirs == "Wo":
            shapes |= {f"{prefix}_W{letter}": (d, d) for letter in "qkvo"} | {
                f"{prefix}_b{letter}": (1, d) for letter in "qkvo"
            }
        else:
            shapes |= {
                f"{prefix}_W1": (d, a.d_ff),
                f"{prefix}_b1": (1, a.d_ff),
                f"{prefix}_W2": (a.d_ff, d),
                f"{prefix}_b2": (1, d),
            }
    for norm in norms:
        shapes |= {_name_norm(a, norm, kind): (1, d) for kind in ("scale", "bias")}
    return shapes


def _convert(a: Architecture, arrays: Mapping[str, np.ndarray]) -> dict[str, "Tensor"]:
    """The tensors by our names."""
    import torch

    weights = {
        "positions.weight": position_table(POSITIONS, a.d_model),
        "output.bias": _add_pad(arrays["decoder_ff_logit_out_b"].T)[:, 0],
    }
    if a.tie == "all":
        weights["source_embedding.weight"] = _add_pad(arrays["Wemb"])
    else:
        weights["source_embedding.weight"] = _add_pad(arrays["encoder_Wemb"])
        weights["target_embedding.weight"] = _add_pad(arrays["decoder_Wemb"])
    if a.tie == "none":
        own = arrays.get("decoder_ff_logit_out_Wt")
        weights["output.weight"] = _add_pad(arrays["decoder_ff_logit_out_W"].T if own is None else own)

    def convert_linear(name: str, prefix: str, letters: str) -> None:
        weights[f"{name}.weight"] = np.concatenate([arrays[f"{prefix}_W{letter}"].T for letter in letters])
        weights[f"{name}.bias"] = np.concatenate([arrays[f"{prefix}_b{letter}"][0] for letter in letters])

    def convert_norm(name: str, norm: str) -> None:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = (
            arrays[_name_norm(a, norm, kind)][0] for kind in ("scale", "bias")
        )

    for prefix, theirs, ours in _list_sublayers(a):
        convert_norm(f"{ours}_residual.norm", f"{prefix}_{theirs}_ln")
        if theirs == "Wo":
            convert_linear(f"{ours}.input", prefix, "qkv")
            convert_linear(f"{ours}.output", prefix, "o")
        else:
            convert_linear(f"{ours}.inner", prefix, "1")
            convert_linear(f"{ours}.outer", prefix, "2")
    if a.norm == "pre":
        convert_norm("encoder.norm", "encoder_top_ln")
        convert_norm("decoder.norm", "decoder_top_ln")
    return {name: torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)) for name, array in weights.items()}


def _list_sublayers(a: Architecture) -> list[tuple[str, str, str]]:
    """Each with Marian's name, with what its norm is called after, and with ours."""
    parts = [("self", "Wo", "attention"), ("context", "Wo", "cross_attention"), ("ffn", "ffn", "feed_forward")]
    return [
        (f"{stack}_l{number + 1}_{theirs}", norm, f"{stack}.layers.{number}.{ours}")
        for stack, depth in (("encoder", a.n_layers), ("decoder", a.n_decoder_layers))
        for number in range(depth)
        for theirs, norm, ours in parts
        if stack == "decoder" or theirs != "context"
    ]


def _name_norm(a: Architecture, norm: str, kind: str) -> str:
    return f"{norm}_{kind}_pre" if a.norm == "pre" and "_top_" not in norm else f"{norm}_{kind}"


def _add_pad(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows, np.zeros_like(rows[:1])])


def position_table(positions: int, d_model: int) -> np.ndarray:
    """Marian's: sines in the first half, cosines in the second, of wavelengths from 2 pi to 10,000 * 2 pi."""
    half = d_model // 2
    wavelengths = np.exp(np.arange(half) * (-math.log(10_000) / max(half - 1, 1)))
    angles = np.arange(positions)[:, None] * wavelengths
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def _read_tokenizers(directory: Path, release: _Release, a: Architecture) -> Tokenizers:
    sides = []
    for side, path, rows in zip(("source", "target"), release.vocabularies, (a.source_vocab, a.target_vocab), strict=True):
        model = directory / f"{side}.spm"
        if not model.is_file():
            raise BundleError(f"{directory} has no {model.name}, the SentencePiece model of the {side}.", _COPY_AGAIN)
        ids = _read_vocabulary(path)
        if max(ids.values()) >= rows - 1:
            raise BundleError(f"{path} has {len(ids):,} pieces, the model {rows - 1:,} rows for them.", _COPY_AGAIN)
        try:
            sides.append(PieceListTokenizer(model.read_bytes(), ids | {"<pad>": rows - 1}, marks=_MARKS, languages=True))
        except KeyError as error:
            raise BundleError(f"{path} has no {error.args[0]}.", _COPY_AGAIN) from None
        except (RuntimeError, OSError) as error:
            raise BundleError(f"{model} cannot be read: {error}.", _COPY_AGAIN) from None
    source, target = sides
    check_ends(Tokenizers(source, target), directory)
    same = source.model == target.model and source.ids == target.ids
    return Tokenizers(source, source if same else target)


def _read_vocabulary(path: Path) -> dict[str, int]:
    try:
        ids = {str(piece): int(number) for piece, number in _read_yaml(path).items()}
    except (TypeError, ValueError) as error:
        raise BundleError(f"{path} is no vocabulary of pieces and their ids: {error}.", _COPY_AGAIN) from None
    if not ids:
        raise BundleError(f"{path} has no pieces.", _COPY_AGAIN)
    return ids


def _read_yaml(path: Path) -> dict[str, Any]:
    """All of it as text: a piece may be "null" or "10"."""
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise BundleError(f"{path} cannot be read: {reason}.", _COPY_AGAIN) from None
    if not isinstance(content, dict):
        raise BundleError(f"{path} is not as Marian writes it.", _COPY_AGAIN)
    return content


def _listed(path: Path, content: dict[str, Any], name: str) -> list[str]:
    value = content.get(name, [])
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in names):
        raise BundleError(f"{path} has {name}: {value}, which are no names of files.", _COPY_AGAIN)
    return names


def _number(path: Path, content: dict[str, Any], name: str, usual: float) -> float:
    value = {"true": "1", "false": "0"}.get(str(content.get(name, usual)), content.get(name, usual))
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BundleError(f"{path} has {name}: {value}, which is no number.", _COPY_AGAIN) from None
