"""A hundred kills, each followed by the same bits as without them."""

import random
from pathlib import Path

import pytest
from kills import STEPS, digest, kill_at_random, newest_step, run_to_the_end


@pytest.mark.soak
@pytest.mark.parametrize(("processes", "wanted"), [(1, 33), (2, 34), (3, 33)])
def test_killed_a_hundred_times(tmp_path: Path, corpus: Path, processes: int, wanted: int):
    more = ("--processes", processes)
    run_to_the_end(corpus, tmp_path / "whole", *more)
    moments, kills, run = random.Random(), [], 0
    while len(kills) < wanted:
        run += 1
        out = tmp_path / str(run)
        while newest_step(out) < STEPS - 10 and len(kills) < wanted:
            kills.append(kill_at_random(corpus, out, moments, *more))
        run_to_the_end(corpus, out, *more)
        assert digest(out) == digest(tmp_path / "whole"), kills
    assert sum(begun > 0 for begun, _ in kills) > wanted / 2
    assert sum(saving for _, saving in kills) > wanted / 4
