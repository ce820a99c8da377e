"""Tests of studies.api."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.api import Wafer
from studies.api import open_store, run_study
from studies.study.store import create_store

from .study.studies import study_file


def test_the_store_of_a_run_is_opened(tmp_path: Path) -> None:
    row = {"key": "a", "error": None, "records": "", "version": "1", "seed": 1}
    create_store(tmp_path / "store").append([{**row, "host": "h", "duration_s": 0.5, "x": 2.0}])
    store = open_store(str(tmp_path / "store"))
    assert store.query("select x from points").to_pylist() == [{"x": 2.0}]
    assert store.to_pandas()["x"].tolist() == [2.0]
    with pytest.raises(InputError, match="none: must be the store of a study, not without one"):
        open_store(tmp_path / "none")


def test_a_study_is_run_and_its_store_returned(tmp_path: Path) -> None:
    space = {"topology": "mesh:2x2", "workload": "resnet-50", "strategy": ["MP1-DP4-PP1"]}
    store = run_study(str(study_file(tmp_path, space)), tmp_path / "store", workers=1)
    model = Wafer.named("mesh:2x2").estimate("resnet-50", "MP1-DP4-PP1")
    [row] = store.query("select * from points").to_pylist()
    assert (row["strategy"], row["error"]) == ("MP1-DP4-PP1", None)
    assert row["iteration_time_s"] == model.iteration_time_s
    assert open_store(tmp_path / "store").query("select * from points").to_pylist() == [row]
    with pytest.raises(InputError, match="must be an existing file"):
        run_study(tmp_path / "none.yaml", tmp_path / "none")
    assert not (tmp_path / "none").exists()
