"""Files in any packing, and pipes."""

import gzip
import io
import os
from pathlib import Path

import pytest

from headway.errors import DataError
from headway.jobs.streams import CHUNK, PipeLines, check_input, open_input, pack

ENDINGS = ["", ".gz", ".zst"]


def read(path: Path) -> bytes:
    with open_input(path) as source:
        return b"".join(source.text)


@pytest.mark.parametrize("ending", ENDINGS)
def test_members_and_frames_that_were_put_together(tmp_path: Path, ending: str):
    path = tmp_path / f"text{ending}"
    texts = [b"one\n", b"", b"two\n" * CHUNK, b"three"]
    path.write_bytes(b"".join(pack(text, path) for text in texts))
    assert read(path) == b"".join(texts)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_the_same_text_is_packed_to_the_same_bytes_smaller(ending: str):
    path, text = Path(f"x{ending}"), b"again and " * 1000
    assert pack(text, path) == pack(text, path)
    assert len(pack(text, path)) < len(text) / 10


def test_other_programs_read_what_is_packed():
    zstandard = pytest.importorskip("zstandard")
    assert gzip.decompress(pack(b"a\n", Path("x.gz")) + pack(b"b\n", Path("x.gz"))) == b"a\nb\n"
    packed = pack(b"a\n", Path("x.zst")) + pack(b"b\n", Path("x.zst"))
    assert zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read() == b"a\nb\n"


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("harm", ["cut off", "no such format", "changed"])
def test_a_damaged_file_is_not_taken_for_a_short_one(tmp_path: Path, ending: str, harm: str):
    path = tmp_path / f"text{ending}"
    whole = pack(b"first\n", path) + pack(os.urandom(1000) + b"\n", path)
    changed = bytearray(whole)
    changed[-200] ^= 1
    path.write_bytes({"cut off": whole[:-20], "no such format": b"plain text\n" * 9, "changed": bytes(changed)}[harm])
    with pytest.raises(DataError, match=f"text{ending} cannot be unpacked"):
        read(path)


def test_position_counts_the_bytes_on_the_disk(tmp_path: Path):
    path = tmp_path / "text.gz"
    path.write_bytes(pack(b"line\n" * 100_000, path))
    with open_input(path) as source:
        assert source.position() == 0
        source.text.read()
        assert source.position() == path.stat().st_size


def test_what_cannot_be_read_is_told_before_any_work(tmp_path: Path):
    with pytest.raises(DataError, match="no file"):
        check_input(tmp_path / "none")
    with pytest.raises(DataError, match="is a directory"):
        check_input(tmp_path)


@pytest.mark.parametrize("size", [1, 3, CHUNK])
def test_lines_of_a_pipe_however_they_come(size: int):
    class Slow(io.BytesIO):
        def read1(self, _: int = -1) -> bytes:
            return super().read1(size)

    text = b"a\n\nlonger line\r\n\x0c\xe2\x80\xa8\nlast"
    assert list(PipeLines(Slow(text))) == list(io.BytesIO(text))
