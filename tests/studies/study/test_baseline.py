"""Tests of studies.study.baseline: speed-ups over a baseline, on equal terms."""

from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.parse import parse_topology
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from studies.study.run import Summary, run_study
from studies.study.store import open_store
from tests.written import written

from .engines import Inline
from .studies import planned

SLOW = "kind: mesh\ncolumns: 2\nrows: 2\nnpu: {peak_flops: 1.0e+12}\n"
IDEAL = "kind: mesh\ncolumns: 2\nrows: 2\nprotocol: ideal\n"
SPACE: dict[str, Any] = {
    "topology": ["mesh:4x1", "mesh:2x2", "mesh:3x2"],
    "workload": "resnet-50",
    "strategy": ["MP1-DP4-PP1", "MP1-DP6-PP1"],
    "npu.peak_flops": [None, 4e15],
}


def compared(folder: Path, space: dict[str, Any] = SPACE, **keys: Any) -> Summary:
    """Run a study whose baseline is mesh:2x2, unless another one is given."""
    plan = planned(folder, space, **{"baseline": "mesh:2x2", **keys})
    return run_study(plan, folder / "store", Inline)


def test_speedups_are_over_the_baseline_with_all_other_fields_equal(tmp_path: Path) -> None:
    rows = compared(tmp_path).speedups
    job = load_workload("resnet-50")
    for row in rows:
        rates = {} if row["npu.peak_flops"] is None else {"peak_flops": row["npu.peak_flops"]}
        base, there = (
            estimate(Request.of(parse_topology(name).with_npu(rates), job, row["strategy"]))
            for name in ("mesh:2x2", row["topology"])
        )
        assert row["iteration_time_s"] == there.iteration_time_s
        assert row["speedup"] == base.iteration_time_s / there.iteration_time_s
    # Six workers fit one of the meshes, which then has nothing to be compared with.
    assert {row["strategy"] for row in rows} == {"MP1-DP4-PP1"}
    assert len(rows) == 6 and len({row["speedup"] for row in rows}) == 3
    table = open_store(tmp_path / "store").query("select * from speedups").to_pylist()
    assert [row["speedup"] for row in table] == [row["speedup"] for row in rows]


def test_fields_of_the_group_of_the_topology_are_those_of_its_step(tmp_path: Path) -> None:
    space = {**SPACE, "topology.link_bytes_per_s": [1e10, None, None]}
    zipped = [["topology", "topology.link_bytes_per_s"]]
    rows = compared(tmp_path, space, zip=zipped, baseline="mesh:2x2").speedups
    speedup = {row["topology"]: row["speedup"] for row in rows}
    assert speedup["mesh:2x2"] == 1.0 > speedup["mesh:4x1"]


def test_a_point_is_compared_with_a_baseline_that_a_constraint_removes(tmp_path: Path) -> None:
    known = compared(tmp_path).speedups
    rows = compared(tmp_path, constraints=["npus != 4 or mp == 2 or workers > 4"]).speedups
    assert [row["topology"] for row in rows] == ["mesh:3x2"] * 2
    assert rows == [row for row in known if row["topology"] == "mesh:3x2"]


def test_topologies_with_different_npus_are_refused_unless_asked_for(tmp_path: Path) -> None:
    written(tmp_path / "slow.yaml", SLOW)
    space = {**SPACE, "topology": ["mesh:2x2", "slow.yaml"], "strategy": "MP1-DP4-PP1"}
    line = (
        r"study\.yaml: space\.topology: must have equal NPUs unless npu_from or as_is is given, "
        r"not peak_flops 9\.894e\+14 and 1e\+12 of mesh:2x2 and slow\.yaml$"
    )
    with pytest.raises(InputError, match=line):
        compared(tmp_path, space)
    faster = {**space, "npu.peak_flops": [4e15]}
    assert [row["speedup"] for row in compared(tmp_path, faster).speedups] == [1.0, 1.0]
    own = compared(tmp_path, space, as_is=True).speedups
    assert [row["speedup"] < 1 for row in own] == [False, False, True, False]
    slow = compared(tmp_path, space, npu_from="slow.yaml").speedups
    assert [row["speedup"] for row in slow] == [1.0] * 4
    times = [row["iteration_time_s"] for row in slow]
    assert times[0] == own[2]["iteration_time_s"] > times[1]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (
            {"baseline": "fred-d"},
            r"baseline: must be one of mesh:4x1, mesh:2x2, mesh:3x2, not 'fred-d'$",
        ),
        ({"npu_from": "fred-z"}, r"npu_from: must be one of .*, not 'fred-z'"),
        ({"npu_from": "fred-d", "as_is": True}, r"npu_from: must not be given if NPUs are "),
        ({"baseline": None, "as_is": True}, r"as_is: must be given with baseline alone$"),
        (
            {"zip": [["topology", "topology.link_bytes_per_s"]]},
            r"baseline: must have one step of its group in zip, not 2 as mesh:2x2$",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_bad_keys_are_refused(tmp_path: Path, keys: dict[str, Any], line: str) -> None:
    space = dict(SPACE)
    if "zip" in keys:
        space |= {"topology": ["mesh:2x2", "mesh:2x2"], "topology.link_bytes_per_s": [1e9, 1e12]}
    with pytest.raises(InputError, match=rf"study\.yaml: {line}"):
        compared(tmp_path, space, **keys)


def test_a_model_of_compute_that_cannot_compare_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "ideal.yaml", IDEAL)
    space = {**SPACE, "topology": ["ideal.yaml", "mesh:2x2"], "compute": "calibrated"}
    line = r"space\.compute: must be first-principles for fabrics some of whose .* are ideal"
    with pytest.raises(InputError, match=line):
        compared(tmp_path, space)
