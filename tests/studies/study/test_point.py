"""Tests of studies.study.point."""

import socket
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.parse import shared_topology
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from studies.study.file import FIGURES
from studies.study.inputs import TrainingResolver
from studies.study.point import (
    OtherVersionError,
    Point,
    evaluate,
    evaluate_batch,
    lost_row,
)
from studies.study.training import TRAINING
from studies.study.version import model_version
from tests.written import written

from .studies import SPACE, planned


def point(**changes: Any) -> Point:
    values = {"topology": "mesh:2x2", "workload": "resnet-50", "strategy": "MP1-DP4-PP1"}
    values |= {name.replace("__", "."): value for name, value in changes.items()}
    inputs = TrainingResolver(Path("s.yaml")).inputs(values)
    return Point(TRAINING, TRAINING.key(inputs, ""), values, inputs, "", 7)


def test_a_row_has_the_figures_of_the_estimate() -> None:
    row = evaluate(point(npu__peak_flops=2e15, algorithm="auto"))
    fabric = shared_topology("mesh:2x2").with_npu({"peak_flops": 2e15})
    alone = estimate(
        Request.of(fabric, load_workload("resnet-50"), "MP1-DP4-PP1", algorithm="auto")
    )
    assert row["error"] is None
    assert row["iteration_time_s"] == alone.iteration_time_s
    assert row["exposed_s.dp"] == alone.exposed_s.dp
    assert row["memory.total_bytes"] == alone.memory.total_bytes
    assert (row["npus"], row["npu.peak_flops"], row["dp"]) == (4, 2e15, 4)
    assert (row["version"], row["seed"], row["algorithm"]) == (model_version(), 7, "auto")
    assert {*FIGURES} - {*TRAINING.needs} <= row.keys()
    assert "cost" not in row
    assert row["duration_s"] > 0
    assert row["host"] == socket.gethostname()


def test_a_row_has_the_timing_records_of_its_topology() -> None:
    row = evaluate(point(topology="fred-d", strategy="MP1-DP20-PP1"))
    measured = shared_topology("fred-d", "measured")
    alone = estimate(Request.of(measured, load_workload("resnet-50"), "MP1-DP20-PP1"))
    assert row["error"] is None
    assert row["records"] == "; ".join(alone.provenance.said_records) != ""
    ideal = evaluate(point(topology="fred-d", topology__protocol="ideal", strategy="MP1-DP20-PP1"))
    assert ideal["records"] != row["records"]


def test_files_of_options_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples, study = Path("examples").resolve(), tmp_path / "study"
    study.mkdir()
    written(study / "e.yaml", (examples / "energy.yaml").read_text())
    written(study / "a.yaml", (examples / "endpoint.yaml").read_text())
    space = {**SPACE, "energy": "e.yaml", "endpoint": "core-driven:a.yaml"}
    monkeypatch.chdir(tmp_path)
    one = planned(Path("study"), space).point(0)
    monkeypatch.chdir("/")  # as on another machine
    row = evaluate(one)
    alone = estimate(
        Request.of(
            shared_topology("mesh:2x2").with_npu({"peak_flops": 1e15}),
            load_workload("resnet-50"),
            "MP1-DP4-PP1",
            energy=str(study / "e.yaml"),
            endpoint=f"core-driven:{study / 'a.yaml'}",
        )
    )
    assert (row["error"], row["energy"], row["endpoint"]) == (None, *list(space.values())[-2:])
    assert alone.energy is not None
    assert row["energy.total_j"] == alone.energy.total_j
    assert row["iteration_time_s"] == alone.iteration_time_s


def test_a_point_that_cannot_run_has_the_reason() -> None:
    row = evaluate(point(strategy="MP1-DP8-PP1"))
    assert row["error"] == "strategy: must fit the 4 NPUs of mesh:2x2, not need 8 as MP1-DP8-PP1"
    assert "iteration_time_s" not in row
    assert row["dp"] == 8


def test_a_point_whose_values_do_not_go_together_has_the_reason() -> None:
    row = evaluate(
        Point(TRAINING, "k", {"topology": "mesh:2x2", "strategy.mp": 2}, None, "too bad", 1)
    )
    assert (row["key"], row["error"], row["mp"]) == ("k", "too bad", 2)


def test_a_lost_point_has_its_fields() -> None:
    row = lost_row(point(), "the worker process ended")
    assert (row["error"], row["duration_s"]) == ("the worker process ended", 0.0)
    assert row["topology"] == "mesh:2x2"


def test_a_lost_point_that_cannot_be_derived_has_the_reason(tmp_path: Path) -> None:
    mesh = written(tmp_path / "mesh.yaml", {"kind": "mesh", "columns": 1, "rows": 1})
    found = point(topology=str(mesh))
    with pytest.raises(InputError):
        assert found.derived
    assert lost_row(found, "the worker process ended")["error"] == "the worker process ended"


def test_constraints_see_what_follows_from_inputs() -> None:
    small = point(npu__hbm_bytes=1e6)
    assert small.value_of("npus") == 4
    assert (small.value_of("fits_memory"), point().value_of("fits_memory")) == (False, True)
    assert point(strategy="MP1-DP8-PP1").value_of("fits_memory") is False
    assert (small.value_of("strategy.dp"), small.value_of("dp")) == (4, 4)
    assert small.value_of("npu.peak_flops") == point().derived["npu.peak_flops"]
    assert small.value_of("other") is None


def test_a_worker_of_another_version_refuses_a_batch() -> None:
    assert len(evaluate_batch(model_version(), [point()])) == 1
    with pytest.raises(OtherVersionError):
        evaluate_batch("0.0.0+0", [point()])


def test_a_remote_memory_is_part_of_a_point(tmp_path: Path) -> None:
    pool = {"memory-type": "MEMORY_POOL", "remote-mem-bw": 2.0}
    path = written(tmp_path / "pool.yaml", pool)
    fast, slow = (
        evaluate(point(**{"remote_memory": str(path), "remote_memory.remote-mem-bw": rate}))
        for rate in (20.0, 2.0)
    )
    assert (fast["error"], fast["remote_memory.remote-mem-bw"]) == (None, 20.0)
    assert fast["communication_s.input_load"] < slow["communication_s.input_load"]
    odd = evaluate(point(**{"remote_memory": str(path), "remote_memory.piece-size": 4}))
    assert "piece-size: must be left out with MEMORY_POOL" in odd["error"]
