"""Downloads, with the library's function in the hands of the test: what is asked for, and what is said when it fails."""

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from headway.errors import BundleError, HeadwayError, RequestError
from headway.imports.download import download

huggingface_hub = pytest.importorskip("huggingface_hub")
errors = pytest.importorskip("huggingface_hub.errors")


def answer(monkeypatch: pytest.MonkeyPatch, *, files: Any, download: Any) -> None:
    """Of the library's two functions; what is an exception is raised."""

    def say(given: Any) -> Any:
        if isinstance(given, Exception):
            raise given
        return given

    monkeypatch.setattr(huggingface_hub, "list_repo_files", lambda name: say(files))
    monkeypatch.setattr(
        huggingface_hub,
        "snapshot_download",
        lambda name, **options: download(name, **options) if callable(download) else say(download),
    )


def test_only_what_an_import_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def snapshot_download(name: str, **options: Any) -> str:
        asked.update(options, name=name)
        return str(tmp_path)

    answer(monkeypatch, files=["model.safetensors", "pytorch_model.bin"], download=snapshot_download)
    assert download("Helsinki-NLP/opus-mt-en-de") == tmp_path
    assert asked["name"] == "Helsinki-NLP/opus-mt-en-de"
    stored = ["config.json", "model.safetensors", "model-00001-of-00002.safetensors", "source.spm", "vocab.json"]
    others = ["pytorch_model.bin", "tf_model.h5", "rust_model.ot", "onnx/model.safetensors", "model.fp16.safetensors", "x.py"]
    chosen = list(huggingface_hub.utils.filter_repo_objects(stored + others, allow_patterns=asked["allow_patterns"]))
    assert chosen == stored


def make_error(kind: type[Exception]) -> Exception:
    """The library's errors want a response that nobody gave."""
    error = kind.__new__(kind)
    error.args = ("no answer",)
    return error


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (errors.RepositoryNotFoundError, RequestError, "no model"),
        (errors.HFValidationError, RequestError, "cannot be the name"),
        (errors.GatedRepoError, HeadwayError, "hf auth login"),
        (errors.LocalEntryNotFoundError, HeadwayError, "network"),
        (errors.OfflineModeIsEnabled, HeadwayError, "network"),
        (ConnectionError, HeadwayError, "network"),
    ],
)
def test_what_goes_wrong(error: type[Exception], kind: type[HeadwayError], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, files=make_error(error), download=make_error(error))
    with pytest.raises(kind, match=words) as refusal:
        download("some/model")
    assert type(refusal.value) is kind


def test_without_a_network_what_was_downloaded_before_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, files=make_error(errors.OfflineModeIsEnabled), download=str(tmp_path))
    assert download("some/model") == tmp_path


def test_only_pickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["config.json", "pytorch_model.bin", "onnx/model.safetensors", "source.spm"]
    answer(monkeypatch, files=files, download=AssertionError("nothing is to be downloaded"))
    with pytest.raises(BundleError, match=r"some/model has its weights in pytorch_model\.bin only") as refusal:
        download("some/model")
    assert 'name, new = "some/model", "model"' in str(refusal.value)
    program = str(refusal.value).partition("convert it:\n")[2].partition("Then:")[0]
    compile(textwrap.dedent(program), "the program", "exec")
    answer(monkeypatch, files=[*files, "model-00001-of-00002.safetensors"], download=str(tmp_path))
    assert download("some/model") == tmp_path


def test_a_name_that_cannot_be_one() -> None:
    with pytest.raises(RequestError, match="name"):
        download("a/b/c")


def test_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HeadwayError, match=r"headway\[huggingface\]"):
        download("some/model")
