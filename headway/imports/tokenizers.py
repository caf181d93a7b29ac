"""Tokenizer files as Hugging Face has them, into our tokenizers and back: for each kind of model those of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import BundleError, RequestError
from headway.models.huggingface_config import TARGET_TOKENIZER
from headway.text.json_tokenizer import JsonTokenizer, require_tokenizers
from headway.text.piece_list import PieceListTokenizer
from headway.text.tokenizer import Tokenizer, Tokenizers

if TYPE_CHECKING:
    from tokenizers import Tokenizer as LibraryTokenizer

_JSON, _SETTINGS, _SPECIAL = "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"
_SENTINELS = 100  # of T5, if nothing else is said
_NAMES = {
    "marian": {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"},
    "pegasus": {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"},
    "t5": {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"},
    "bert": {"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"},
    "gpt2": {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<|endoftext|>"},
}
_AS_IT_STANDS = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that do what tokenizer.json says, and no more
_COPY_AGAIN = "Take a whole copy of the model, with its tokenizer's files."


def read_tokenizers(directory: Path, config: dict[str, Any]) -> Tokenizers:
    """The tokenizers of a model whose config.json says `config`."""
    kind = config.get("model_type")
    read: dict[Any, Callable[[Path, dict[str, Any], dict[str, Any]], Tokenizers]] = {
        "marian": _read_marian,
        "pegasus": _read_own,
        "t5": _read_t5,
        "bert": _read_bert,
        "gpt2": _read_gpt2,
    }
    if kind not in read:
        raise RequestError(f"Headway knows no tokenizer of the model type {kind!r}.", f"It knows those of {', '.join(read)}.")
    tokenizers = read[kind](directory, _read_settings(directory), config)
    _check(tokenizers, directory, config)
    return tokenizers


def write_tokenizer(tokenizers: Tokenizers, directory: Path, config: dict[str, Any]) -> None:
    """The files that `transformers` looks for beside such a config.json; `read_tokenizers` reads them too."""
    kind, source, target = config.get("model_type"), tokenizers.source, tokenizers.target
    if kind == "marian" and isinstance(source, PieceListTokenizer) and isinstance(target, PieceListTokenizer):
        _write_marian(source, target, directory)
    elif isinstance(source, JsonTokenizer) and kind in ("marian", "pegasus"):
        _write_own(source, directory)
        if isinstance(target, JsonTokenizer) and not tokenizers.shared:
            (directory / TARGET_TOKENIZER).mkdir()
            _write_own(target, directory / TARGET_TOKENIZER)
    elif kind == "t5" and isinstance(source, PieceListTokenizer):
        (directory / "spiece.model").write_bytes(source.model)
        _write_settings(directory, "T5Tokenizer", _label(source.marks), extra_ids=len(source.sentinels))
    elif kind in ("t5", "bert", "gpt2") and isinstance(source, JsonTokenizer):
        write = {"t5": _write_t5, "bert": _write_bert, "gpt2": _write_gpt2}[kind]
        write(source, directory)
    else:
        raise RequestError(
            f"A {type(source).__name__} is no tokenizer of a model of the type {kind!r}.",
            "Tokenizers go back to Hugging Face's form for models that came from there.",
        )


def _read_settings(directory: Path) -> dict[str, Any]:
    return _read_json(directory / _SPECIAL, {}) | _read_json(directory / _SETTINGS, {})


def _read_own(directory: Path, settings: dict[str, Any], config: dict[str, Any]) -> Tokenizers:
    """As Headway exports its translators: tokenizer.json, and another for the target if it has a vocabulary of its own."""
    if settings.get("tokenizer_class") not in _AS_IT_STANDS:
        raise BundleError(
            f"{directory} has the tokenizer {settings.get('tokenizer_class')}, which Headway does not know.",
            f"Such a model is read with a {_JSON} that stands for itself, as `headway export` writes it.",
        )
    source = _load_own(directory, settings, config)
    place = directory / TARGET_TOKENIZER
    return Tokenizers(source, _load_own(place, _read_settings(place), config)) if place.is_dir() else _both(source)


def _load_own(directory: Path, settings: dict[str, Any], config: dict[str, Any]) -> JsonTokenizer:
    """Marks are those that the model's config.json numbers; a decoder that is not told its beginning begins with pad."""
    kind = str(config["model_type"])
    path = _find(directory, _JSON, kind)
    marks = _read_marks(kind, settings, "mask")
    plain = _load_json(path, marks, settings)
    numbers = {mark: config.get(f"{mark}_token_id") for mark in ("pad", "eos")} | {"bos": config.get("decoder_start_token_id")}
    for mark, number in numbers.items():
        if number is None:
            continue
        name = plain.name(number) if isinstance(number, int) else None
        if name is None:
            raise BundleError(f"By config.json {mark} is token {number}, which {path} has not.", _COPY_AGAIN)
        marks[mark] = name
    return _load_json(path, {"bos": marks["pad"], **marks}, settings)


def _read_marian(directory: Path, settings: dict[str, Any], config: dict[str, Any]) -> Tokenizers:
    if (directory / _JSON).is_file() and settings.get("tokenizer_class") in _AS_IT_STANDS:
        return _read_own(directory, settings, config)
    ids = _read_ids(_find(directory, "vocab.json", "marian"))
    target_ids = ids
    if settings.get("separate_vocabs"):
        target_ids = _read_ids(_find(directory, "target_vocab.json", "marian"))
    source_model, target_model = (_find(directory, f"{side}.spm", "marian") for side in ("source", "target"))
    marks = list(_read_marks("marian", settings).values())
    source = _load_pieces(source_model, ids, marks, languages=True)
    if target_ids == ids and target_model.read_bytes() == source.model:
        return Tokenizers(source, source)
    return Tokenizers(source, _load_pieces(target_model, target_ids, marks, languages=True))


def _read_t5(directory: Path, settings: dict[str, Any], config: dict[str, Any]) -> Tokenizers:
    marks = _read_marks("t5", settings)
    model = directory / "spiece.model"
    if not model.exists() and (directory / _JSON).exists():
        return _both(_load_own(directory, settings, config))
    model = _find(directory, "spiece.model", "t5", _JSON)
    names = list_pieces(model)
    names += [f"<extra_id_{number}>" for number in reversed(range(int(settings.get("extra_ids", _SENTINELS))))]
    return _both(_load_pieces(model, {name: number for number, name in enumerate(names)}, list(marks.values())))


def _read_bert(directory: Path, settings: dict[str, Any], config: dict[str, Any]) -> Tokenizers:
    found = _read_marks("bert", settings)
    marks = {"pad": found["pad"], "bos": found["cls"], "eos": found["sep"], "unk": found["unk"], "mask": found["mask"]}
    if (directory / _JSON).exists():
        return _both(_load_json(directory / _JSON, marks, settings, _cut_as_bert))
    return _both(_build(_find(directory, "vocab.txt", "bert", _JSON), lambda path: _build_bert(path, settings, marks), marks))


def _read_gpt2(directory: Path, settings: dict[str, Any], config: dict[str, Any]) -> Tokenizers:
    marks = _read_marks("gpt2", settings, "pad", "mask")
    if (directory / _JSON).exists():
        return _both(_load_json(directory / _JSON, marks, settings, _cut_as_gpt2))
    merges = _find(directory, "merges.txt", "gpt2", _JSON)
    vocabulary = _find(directory, "vocab.json", "gpt2", _JSON)
    return _both(_build(vocabulary, lambda path: _build_gpt2(path, merges, settings), marks))


def _build_bert(vocabulary: Path, settings: dict[str, Any], marks: dict[str, str]) -> "LibraryTokenizer":
    from tokenizers import Tokenizer, models

    tokenizer = Tokenizer(models.WordPiece(models.WordPiece.read_file(str(vocabulary)), unk_token=marks["unk"]))
    _cut_as_bert(tokenizer, settings)
    return tokenizer


def _cut_as_bert(tokenizer: "LibraryTokenizer", settings: dict[str, Any]) -> None:
    from tokenizers import decoders, normalizers, pre_tokenizers

    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")


def _build_gpt2(vocabulary: Path, merges: Path, settings: dict[str, Any]) -> "LibraryTokenizer":
    from tokenizers import Tokenizer, models

    tokenizer = Tokenizer(models.BPE(*models.BPE.read_file(str(vocabulary), str(merges))))
    _cut_as_gpt2(tokenizer, settings)
    return tokenizer


def _cut_as_gpt2(tokenizer: "LibraryTokenizer", settings: dict[str, Any]) -> None:
    from tokenizers import decoders, pre_tokenizers

    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=settings.get("add_prefix_space", False))
    tokenizer.decoder = decoders.ByteLevel()


def _build(path: Path, make: Callable[[Path], "LibraryTokenizer"], marks: dict[str, str]) -> JsonTokenizer:
    require_tokenizers()
    from tokenizers import AddedToken

    try:
        tokenizer = make(path)
        missing = [mark for mark in marks.values() if tokenizer.token_to_id(mark) is None]
        if missing:
            raise ValueError(f"it has no {', '.join(dict.fromkeys(missing))}")
        tokenizer.add_special_tokens(
            [AddedToken(mark, special=True, normalized=False) for mark in dict.fromkeys(marks.values())]
        )
        return JsonTokenizer(tokenizer.to_str(), marks)
    except Exception as error:  # the library raises nothing narrower
        raise _damaged(path, error) from None


def _write_marian(source: PieceListTokenizer, target: PieceListTokenizer, directory: Path) -> None:
    (directory / "source.spm").write_bytes(source.model)
    (directory / "target.spm").write_bytes(target.model)
    _write_json(directory / "vocab.json", source.ids)
    separate = target.ids != source.ids
    if separate:
        _write_json(directory / "target_vocab.json", target.ids)
    _write_settings(directory, "MarianTokenizer", _label(source.marks), separate_vocabs=separate)


def _write_own(tokenizer: JsonTokenizer, directory: Path) -> None:
    _write_whole(tokenizer, directory, _AS_IT_STANDS[0], _label_all(tokenizer))


def _write_t5(tokenizer: JsonTokenizer, directory: Path) -> None:
    if tokenizer.bos != tokenizer.pad:  # a vocabulary that Headway learned
        _write_own(tokenizer, directory)
        return
    marks = _label([tokenizer.marks[mark] for mark in ("pad", "eos", "unk")])
    _write_whole(tokenizer, directory, "T5Tokenizer", marks, extra_ids=len(tokenizer.sentinels))


def _write_bert(tokenizer: JsonTokenizer, directory: Path) -> None:
    names = {"pad": "pad", "bos": "cls", "eos": "sep", "unk": "unk", "mask": "mask"}
    marks = {f"{theirs}_token": tokenizer.marks[ours] for ours, theirs in names.items()}
    cleaning = tokenizer.settings.get("normalizer") or {}
    if cleaning.get("type") != "BertNormalizer":  # transformers' own class would put one in its place
        _write_whole(tokenizer, directory, _AS_IT_STANDS[0], marks)
        return
    _write_whole(
        tokenizer,
        directory,
        "BertTokenizer",
        marks,
        do_lower_case=cleaning["lowercase"],
        strip_accents=cleaning["strip_accents"],
        tokenize_chinese_chars=cleaning["handle_chinese_chars"],
    )


def _write_gpt2(tokenizer: JsonTokenizer, directory: Path) -> None:
    cutting = tokenizer.settings.get("pre_tokenizer") or {}
    if cutting.get("type") != "ByteLevel":  # as above
        _write_own(tokenizer, directory)
        return
    space = bool(cutting.get("add_prefix_space", False))
    _write_whole(tokenizer, directory, "GPT2Tokenizer", _label_all(tokenizer), add_prefix_space=space)


def _write_whole(tokenizer: JsonTokenizer, directory: Path, kind: str, marks: dict[str, str], **more: Any) -> None:
    (directory / _JSON).write_text(tokenizer.content, encoding="utf-8")
    _write_settings(directory, kind, marks, **more, split_special_tokens=not tokenizer.spelled)


def _label_all(tokenizer: JsonTokenizer) -> dict[str, str]:
    return {f"{name}_token": mark for name, mark in tokenizer.marks.items()}


def _write_settings(directory: Path, kind: str, marks: dict[str, str], **more: Any) -> None:
    _write_json(directory / _SETTINGS, {"tokenizer_class": kind, **marks, **more, "clean_up_tokenization_spaces": False})


def _label(marks: list[str]) -> dict[str, str]:
    return dict(zip(("pad_token", "eos_token", "unk_token"), marks, strict=True))


def list_pieces(model: Path) -> list[str]:
    """The pieces of a SentencePiece model, in the order of its own ids."""
    import sentencepiece

    try:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    except (RuntimeError, OSError) as error:
        raise _damaged(model, error) from None
    return [processor.id_to_piece(number) for number in range(processor.get_piece_size())]


def _both(tokenizer: Tokenizer) -> Tokenizers:
    return Tokenizers(tokenizer, tokenizer)


def _read_marks(kind: str, settings: dict[str, Any], *others: str) -> dict[str, str]:
    """`others` are marks that a tokenizer of this kind may have besides."""
    marks = {mark: _name(settings.get(f"{mark}_token")) or usual for mark, usual in _NAMES[kind].items()}
    return marks | {mark: name for mark in others if (name := _name(settings.get(f"{mark}_token")))}


def _name(token: Any) -> str | None:
    """A token is a text, or a dictionary with one."""
    return token.get("content") if isinstance(token, dict) else token


def _find(directory: Path, name: str, kind: str, instead: str = "") -> Path:
    if not (directory / name).is_file():
        others = f" and no {instead}" if instead else ""
        raise BundleError(f"{directory} has no {name}{others}, which the tokenizer of a {kind} model needs.", _COPY_AGAIN)
    return directory / name


def _load_pieces(model: Path, ids: dict[str, int], marks: list[str], *, languages: bool = False) -> PieceListTokenizer:
    try:
        return PieceListTokenizer(model.read_bytes(), ids, marks=marks, languages=languages)
    except KeyError as error:
        raise BundleError(f"The vocabulary beside {model} has no {error.args[0]}.", _COPY_AGAIN) from None
    except (RuntimeError, OSError) as error:
        raise _damaged(model, error) from None


def _load_json(
    path: Path,
    marks: dict[str, str],
    settings: dict[str, Any],
    cut: Callable[["LibraryTokenizer", dict[str, Any]], None] | None = None,
) -> JsonTokenizer:
    """`cut`: how the model's own class cuts texts by its settings, whatever else tokenizer.json says of that."""
    spelled = not settings.get("split_special_tokens", False)
    try:
        tokenizer = JsonTokenizer(path.read_text(encoding="utf-8"), marks, spelled=spelled)
        if cut is None or settings.get("tokenizer_class") in _AS_IT_STANDS:
            return tokenizer
        return JsonTokenizer(tokenizer.change(lambda whole: cut(whole, settings)), marks, spelled=spelled)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(path, error) from None


def _read_ids(path: Path) -> dict[str, int]:
    ids = _read_json(path)
    if not ids or not all(isinstance(number, int) and number >= 0 for number in ids.values()):
        raise _damaged(path, ValueError("it is no list of pieces with their ids"))
    return ids


def _read_json(path: Path, missing: dict[str, Any] | None = None) -> dict[str, Any]:
    if missing is not None and not path.exists():
        return missing
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from None
    if not isinstance(content, dict):
        raise _damaged(path, ValueError("it holds no object"))
    return content


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _damaged(path: Path, error: Exception) -> BundleError:
    reason = " ".join(str(error).split()).strip("'\"") or type(error).__name__
    return BundleError(f"{path} cannot be read: {reason}.", _COPY_AGAIN)


def _check(tokenizers: Tokenizers, directory: Path, config: dict[str, Any]) -> None:
    """Every id must have a row in the embedding, and a translator's marks must be those that the model knows."""
    source_rows = config.get("vocab_size")
    target_rows = config.get("decoder_vocab_size") or source_rows
    for side, tokenizer, rows in (("source", tokenizers.source, source_rows), ("target", tokenizers.target, target_rows)):
        if rows is not None and tokenizer.size > rows:
            which = "" if tokenizers.shared else f" for the {side}"
            raise BundleError(
                f"The tokenizer in {directory} has {tokenizer.size:,} pieces{which}, the model's config.json only {rows:,}.",
                "Tokenizer and model do not belong together; copy both from the same place.",
            )
    if config["model_type"] not in ("marian", "pegasus", "t5"):
        return
    begin, bos = config.get("decoder_start_token_id"), tokenizers.target.bos
    if begin is not None and begin != bos:
        raise BundleError(
            f"The model in {directory} begins its translations with token {begin}, its tokenizer has {bos}.",
            "Tokenizer and model do not belong together; copy both from the same place.",
        )
    check_ends(tokenizers, directory)


def check_ends(tokenizers: Tokenizers, directory: Path) -> None:
    """Both sides of a translator have one mark for the end of a text."""
    ends = tokenizers.source.eos, tokenizers.target.eos
    if ends[0] != ends[1]:
        raise BundleError(
            f"In {directory} a source ends with token {ends[0]}, a target with token {ends[1]}.",
            "Headway has one number for both: take a model whose vocabularies begin alike.",
        )
