"""Tests of studies.api."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from studies.api import open_store
from studies.study.store import create_store


def test_the_store_of_a_run_is_opened(tmp_path: Path) -> None:
    row = {"key": "a", "error": None, "records": "", "version": "1", "seed": 1}
    create_store(tmp_path / "store").append([{**row, "host": "h", "duration_s": 0.5, "x": 2.0}])
    store = open_store(str(tmp_path / "store"))
    assert store.query("select x from points").to_pylist() == [{"x": 2.0}]
    assert store.to_pandas()["x"].tolist() == [2.0]
    with pytest.raises(InputError, match="none: must be the store of a study, not without one"):
        open_store(tmp_path / "none")
