"""What both engines are told."""

import pytest

from headway.decoding.options import Options


@pytest.mark.parametrize(
    ("beam", "patience", "finished"),
    [(1, 1.0, 1), (5, 1.0, 5), (5, 2.0, 10), (4, 0.5, 2), (5, 0.5, 3), (5, 0.3, 2), (2, 0.1, 1)],
)
def test_the_patience_counts_in_beams_and_waits_for_one_at_least(beam: int, patience: float, finished: int) -> None:
    assert Options(beam=beam, patience=patience).finished == finished


def test_only_what_forbids_tokens_bans() -> None:
    assert not Options(beam=3, alpha=1.0, nbest=2).bans
    assert Options(min_length=1).bans
    assert Options(no_repeat_ngram=2).bans
