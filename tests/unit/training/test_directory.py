"""Which directories a run may be made in."""

from pathlib import Path

import pytest

from headway.errors import RequestError
from headway.training.directory import check_directory


@pytest.mark.parametrize("name", ["data", "text"])
def test_what_a_run_would_make_anew_is_not_the_users(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    check_directory(tmp_path)
    (tmp_path / name / "train.en").write_text("mine\n")
    with pytest.raises(RequestError, match=f"holds something that is no run: {name}"):
        check_directory(tmp_path)
