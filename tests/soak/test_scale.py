"""Memory by the number of pairs: what ten million would take follows from what one million more takes."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headway.data.store import StoreWriter

pytestmark = [pytest.mark.soak, pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what is in memory")]
FEW, MANY = 250_000, 1_000_000
TELL = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('{}')))\n"
ANONYMOUS, MOST = TELL.format("RssAnon"), TELL.format("VmHWM")
PREPARE = """
import sys
from pathlib import Path
from headway.config import build_settings
from headway.data.prepare import prepare
from headway.text import subwords
subwords.MAX_CHARACTERS["bpe"] = 1_000_000  # so that what grows with the corpus is not hidden behind what does not
data = {"train": [sys.argv[1]], "from": "en", "to": "de"}
prepare(build_settings({"data": data, "tokenizer": {"vocab_size": 4000}}), Path(sys.argv[1] + ".data"))
"""
SHUFFLE = """
import sys
from pathlib import Path
from headway.data.batching import epoch_batches
from headway.data.store import Store
store = Store(Path(sys.argv[1] + ".data") / "train")
for epoch in range(3):
    updates = epoch_batches(
        store.source_lengths + 1, store.target_lengths + 1, store.segments, batch_tokens=2048, accumulate=1, seed=1, epoch=epoch
    )
"""
READ = """
import sys
from pathlib import Path
from headway.data.store import Store
store = Store(Path(sys.argv[1]))
for pair in range(len(store)):
    store.source(pair).max() + store.target(pair).max()
"""
LEARN = """
from random import Random
from headway.text.tokenizer import SentencePieceTokenizer
letters = Random(1)
lines = (" ".join("".join(letters.choices("abcdefghij", k=8)) for _ in range(10)) for _ in range(30_000))
SentencePieceTokenizer.train(lines, kind="bpe", vocab_size=1000)
"""


def run(script: str, *arguments: object) -> tuple[int, int]:
    """Bytes of anonymous memory of a process when it has done its work, and of all memory that it ever held at once."""
    command = [sys.executable, "-c", script + ANONYMOUS + MOST, *map(str, arguments)]
    anonymous, most = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.split()
    return 1024 * int(anonymous), 1024 * int(most)


def load_generator() -> Callable[[Path, int], None]:
    spec = importlib.util.spec_from_file_location("scale", Path(__file__).parents[2] / "benchmarks" / "scale.py")
    assert spec and spec.loader
    module = sys.modules["scale"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate


def test_preparing_and_shuffling_take_few_bytes_a_pair(tmp_path: Path) -> None:
    generate = load_generator()
    prepare, shuffle = [], []
    for pairs in (FEW, MANY):
        generate(tmp_path / str(pairs), pairs)
        prepare.append(run(PREPARE, tmp_path / str(pairs)))
        shuffle.append(run(SHUFFLE, tmp_path / str(pairs)))

    def more(few: int, many: int) -> float:
        """Bytes for each pair more."""
        return (many - few) / (MANY - FEW)

    anonymous, most = map(more, *shuffle)
    assert anonymous < 40 and most < 56, shuffle  # the difference is offsets, which stay in their file
    assert more(prepare[0][1], prepare[1][1]) < 64, prepare


def test_reading_a_large_store_keeps_little_of_it(tmp_path: Path) -> None:
    sentence = np.arange(10_000, dtype=np.uint16)
    with StoreWriter(tmp_path, source_vocab=10_000, target_vocab=10_000) as writer:
        for _ in range(20):
            writer.append([sentence] * 1_000, [sentence] * 1_000)  # 400 MB a side in all
    assert run(READ, tmp_path)[1] < 300 * 2**20


def test_what_learning_a_vocabulary_took_is_handed_back() -> None:
    after, most = run(LEARN)
    assert most > 150 * 2**20 and after < most / 2
