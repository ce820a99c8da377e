"""Tests of perfmodel.studies.sweep."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.memory.file import load_tier
from perfmodel.studies.strategies import feasible, sweep
from perfmodel.studies.sweep import SweepRow, run_sweep
from perfmodel.studies.sweep_points import load_sweep
from perfmodel.topology.parse import shared_topology
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload, with_batch
from tests.written import written


def swept(folder: Path, **keys: Any) -> tuple[SweepRow, ...]:
    path = written(folder / "sweep.yaml", yaml.safe_dump(keys))
    return run_sweep(load_sweep(path))


@pytest.mark.slow
def test_every_point_is_what_an_estimate_of_it_is(tmp_path: Path) -> None:
    faster = {"peak_flops": 4e15, "efficiency": {"matmul": 0.5}}
    rows = swept(
        tmp_path,
        topologies=["mesh:5x4", "fred-d"],
        workloads=["transformer-17b", "resnet-152"],
        strategies=["MP1-DP4-PP5", "MP1-DP10-PP2"],
        compute_models=["first-principles", "scaled:0.5"],
        algorithms=["published", "auto"],
        placements=["linear", "auto"],
        protocols=["ideal", "measured"],
        npus=[{}, faster],
    )
    assert len(rows) == len({row.point for row in rows}) == 2**8
    rates = {"": {}, "peak_flops=4e+15 efficiency.matmul=0.5": faster}
    for row in rows[::17]:
        point = row.point
        fabric = shared_topology(point.topology, point.protocol)  # type: ignore[arg-type]
        fabric, job = fabric.with_npu(rates[point.npu]), load_workload(point.workload)
        alone = estimate(Request.of(fabric, job, point.strategy, **point.options))
        assert row.estimate == alone
    figures = {row.estimate.iteration_time_s for row in rows if row.estimate}
    assert len(figures) > 60  # each list matters


@pytest.mark.slow
def test_speedups_are_over_the_baseline_in_all_else_alike(tmp_path: Path) -> None:
    given: dict[str, Any] = {"topologies": ["fred-c", "mesh:5x4", "fred-d"]}
    given |= {"workloads": ["transformer-17b"], "protocols": ["ideal", "measured"]}
    for baseline in (None, "mesh:5x4"):
        keys = given | ({"baseline": baseline} if baseline else {})
        for row in (rows := swept(tmp_path, **keys)):
            [base] = (
                one.estimate
                for one in rows
                if one.point.topology == (baseline or "fred-c")
                and one.point.protocol == row.point.protocol
            )
            assert base and row.estimate
            assert row.speedup == base.iteration_time_s / row.estimate.iteration_time_s
        assert len({row.speedup for row in rows}) == 5


POOL = {"memory-type": "MEMORY_POOL", "remote-mem-bw": 2.0}
NODES = {"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-bw": 900.0, "num-nodes": 5}


def test_remote_memories_meet_all_else_and_what_has_no_room_says_so(tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(yaml.safe_dump(POOL))
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(NODES | {"num-npus-per-node": 1}))
    memories = ["pool.yaml", "none", "nodes.yaml"]
    given: dict[str, Any] = {"topologies": ["mesh:2x2", "mesh:3x2"], "workloads": ["resnet-152"]}
    rows = swept(tmp_path, **given, strategies=["MP1-DP4-PP1"], memories=memories)
    assert [(row.point.topology, row.point.remote_memory) for row in rows] == [
        (name, memory)
        for memory in ("pool.yaml", "", "nodes.yaml")
        for name in ("mesh:2x2", "mesh:3x2")
    ]
    assert [bool(row.problem) for row in rows] == 5 * [False] + [True]
    assert "num-nodes: must be enough for the 6 NPUs" in rows[-1].problem
    job, tier = load_workload("resnet-152"), load_tier(tmp_path / "pool.yaml", 4)
    mesh = shared_topology("mesh:2x2")
    assert rows[0].estimate == estimate(Request.of(mesh, job, "MP1-DP4-PP1", memory=tier))
    assert rows[2].estimate == estimate(Request.of(mesh, job, "MP1-DP4-PP1"))
    loads = [row.estimate and row.estimate.communication_s["input_load"] for row in rows[:5:2]]
    assert loads[0] and loads[1] and loads[2] and loads[0] > loads[1] > loads[2]


def test_what_cannot_run_has_the_reason_and_the_others_run(tmp_path: Path) -> None:
    rows = swept(
        tmp_path,
        topologies=["mesh:2x2", "mesh:5x4"],
        workloads=["resnet-152"],
        strategies=["MP1-DP4-PP1", "MP1-DP20-PP1", "MP2-DP2-PP1"],
    )
    splits = "strategy: must have MP1, as the layers of resnet-152 do not split, not MP2-DP2-PP1"
    assert [(row.estimate is not None, row.speedup is not None, row.problem) for row in rows] == [
        (True, True, ""),
        (True, True, ""),
        (False, False, "strategy: must fit the 4 NPUs of mesh:2x2, not need 20 as MP1-DP20-PP1"),
        (True, False, ""),  # nothing to compare with
        *2 * [(False, False, splits)],
    ]


def test_what_does_not_fit_the_memory_is_estimated_and_says_so(tmp_path: Path) -> None:
    keys = {"topologies": ["mesh:5x4"], "workloads": ["transformer-17b"]}
    rows = swept(tmp_path, **keys, npus=[{"hbm_bytes": 1e9}, {}])
    assert [row.estimate and row.estimate.memory_verdict for row in rows] == [
        "weights do not fit",
        "fits",
    ]
    times = [row.estimate.iteration_time_s for row in rows if row.estimate]
    assert times[0] > times[1]  # what does not fit is recomputed


def test_all_strategies_are_those_of_the_smallest_topology(tmp_path: Path) -> None:
    names, job = ["mesh:5x4", "mesh:3x2"], load_workload("resnet-152")
    keys = {"topologies": names, "workloads": [job.name], "strategies": "all"}
    rows = swept(tmp_path, **keys, least_npus=6, samples=16)
    choices = feasible(job, 6, 6)
    assert [Strategy.parse(row.point.strategy) for row in rows[::2]] == choices
    batch = with_batch(job, 16, 1)
    same = sweep([Request.of(shared_topology(name), batch) for name in names], choices)
    by_name = {(one.estimate.topology, one.estimate.strategy): one.estimate for one in same}
    for row in rows:
        assert row.estimate == by_name[row.point.topology, row.point.strategy]
    usual = swept(tmp_path, **keys)
    assert {Strategy.parse(row.point.strategy).workers for row in usual} == {6}
    assert {row.estimate.minibatch for row in usual if row.estimate} == {
        job.samples_per_replica * Strategy.parse(row.point.strategy).dp for row in usual
    }


def test_samples_are_those_of_the_workload_or_given(tmp_path: Path) -> None:
    keys = {"topologies": ["mesh:5x4"], "workloads": ["resnet-152", "transformer-17b"]}
    for samples in (None, 8):
        for row in swept(tmp_path, **keys, **({"samples": samples} if samples else {})):
            job = load_workload(row.point.workload)
            each = samples or job.samples_per_replica
            assert row.estimate and row.estimate.minibatch == each * job.strategy.dp


def test_calibrated_compute_runs_where_it_is_known(tmp_path: Path) -> None:
    rows = swept(
        tmp_path,
        topologies=["mesh:5x4", "fred-c"],
        workloads=["resnet-152"],
        compute_models=["calibrated"],
        protocols=["measured", "ideal"],
        npus=[{}, {"peak_flops": 2e15}],
    )
    ran = [row for row in rows if row.estimate]
    assert [row.point.npu for row in ran] == 4 * [""]
    assert {round(row.speedup, 2) for row in ran[1::2] if row.speedup} == {1.41}
    assert {row.problem for row in rows if not row.estimate} == {
        "npu: peak_flops: must be 9.894e+14 where compute is calibrated, not 2e+15"
    }


def test_sweep_of_which_no_point_can_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^.*sweep\.yaml: must have a point that can run; the first cannot: st"
    ):
        swept(tmp_path, topologies=["mesh:2x2"], workloads=["gpt-3"])
