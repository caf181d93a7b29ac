"""sacreBLEU's test sets, without a network."""

import logging
import socket
import urllib.request
from pathlib import Path

import pytest
from sacrebleu.dataset import DATASETS

from headway.errors import HeadwayError, RequestError
from headway.evaluation.testsets import find_testset


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sacreBLEU keeps wmt14: empty."""
    monkeypatch.setattr(DATASETS["wmt14"], "_outdir", str(tmp_path / "wmt14"))
    monkeypatch.setattr(DATASETS["wmt14"], "_rawdir", str(tmp_path / "wmt14" / "raw"))
    return tmp_path / "wmt14"


def test_a_test_set_that_is_there(folder: Path) -> None:
    folder.mkdir()
    for field in ("src", "ref", "docid", "genre", "origlang"):
        (folder / f"wmt14.en-de.{field}").write_text(f"{field}\n")
    found = find_testset("wmt14", "en", "de")
    assert found.source.read_text() == "src\n"
    assert [path.read_text() for path in found.references] == ["ref\n"]


@pytest.mark.parametrize("error", [urllib.error.URLError("no route to host"), TimeoutError("timed out"), SystemExit(1)])
def test_a_download_that_fails(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd, error: BaseException) -> None:
    waited: list[float | None] = []

    def fail(*_: object) -> None:
        waited.append(socket.getdefaulttimeout())
        raise error

    monkeypatch.setattr(urllib.request, "urlopen", fail)
    with pytest.raises(HeadwayError, match="The test set wmt14") as caught:
        find_testset("wmt14", "en", "de")
    assert str(folder) in caught.value.remedy
    assert waited[0] and waited[0] < 60 and socket.getdefaulttimeout() is None
    assert not logging.getLogger("sacrebleu").disabled
    assert capfd.readouterr() == ("", "")
    assert list(folder.rglob("*.lock")) == []


def test_names_that_are_not_there() -> None:
    with pytest.raises(RequestError, match=r"no test set wmt2014\. Did you mean wmt\d+") as caught:
        find_testset("wmt2014", "en", "de")
    assert "wmt14" in caught.value.remedy
    with pytest.raises(RequestError, match="wmt14 has no en-xx") as caught:
        find_testset("wmt14", "en", "xx")
    assert "en-de" in caught.value.remedy
    with pytest.raises(RequestError, match="Which languages of wmt14"):
        find_testset("wmt14", "en", "")
