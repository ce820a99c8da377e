"""Tests of perfmodel.training.iteration."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from fred_hw.published import MESH_LINK_BYTES_PER_S
from perfmodel.constants import HBM_BYTES
from perfmodel.published import IO_BYTES_PER_S
from perfmodel.topology.fred_file import FredFile, L1Entry
from perfmodel.topology.graph import Topology
from perfmodel.topology.mesh import MeshFile
from perfmodel.topology.parse import FABRICS, shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.iteration import Iteration, simulate_iteration
from perfmodel.training.operations import Operations
from perfmodel.training.parts import PARTS, WAITS
from perfmodel.training.placement.place import place
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import WORKLOADS, Workload, load_workload

SMALL = replace(load_workload("transformer-17b"), network=transformer(10, 4256, 28, 1024, 50257))
"""Twelve layers, where their number does not matter."""


@cache
def run(
    topology: str,
    workload: str | Workload,
    strategy: str | None = None,
    hbm_bytes: float = HBM_BYTES,
    **more: object,
) -> Iteration:
    job = load_workload(workload) if isinstance(workload, str) else workload
    job = replace(job, **more)
    wanted = Strategy.parse(strategy) if strategy else job.strategy
    fabric = shared_topology(topology, "ideal")
    placed = default_placement(Request.of(fabric, job, wanted))
    return simulate_iteration(fabric, job, placed, Npu(hbm_bytes=hbm_bytes))


def test_activations_that_do_not_fit_are_computed_again_and_communicated_again() -> None:
    """A backward pass then has three passes' work instead of two, and its messages twice."""
    job = replace(SMALL, network=transformer(10, 4256, 28, 1024, 50257))
    need = run("fred-d", job, "MP2-DP5-PP2").memory
    little = (need.least_bytes + need.total_bytes) / 2
    again, once = (run("fred-d", job, "MP2-DP5-PP2", size) for size in (little, 1e12))
    assert again.memory.verdict == "fits if recomputed" and once.memory.verdict == "fits"
    assert again.busy_s == pytest.approx(once.busy_s * 4 / 3)
    assert again.communication_s["mp"] == pytest.approx(once.communication_s["mp"] * 3 / 2)
    assert again.communication_s["pp"] == pytest.approx(once.communication_s["pp"])
    assert again.time_s > once.time_s


@pytest.mark.parametrize("strategy", ["MP1-DP5-PP4", "MP2-DP5-PP2", "MP4-DP5-PP1"])
@pytest.mark.parametrize("mode", ["stationary", "streaming"])
def test_less_memory_is_never_faster(mode: str, strategy: str) -> None:
    times = [
        run("fred-d", SMALL, strategy, size, mode=mode).time_s
        for size in (1e13, 8e10, 2e10, 4e9, 1e9, 1e8)
    ]
    assert times == sorted(times) and times[0] < times[-1]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("topology", FABRICS)
def test_parts_add_up_to_the_iteration(topology: str, workload: str) -> None:
    found = run(topology, workload)
    assert found.time_s == pytest.approx(found.run.time_s, rel=1e-12)
    assert tuple(found.critical_path_s) == PARTS and tuple(found.communication_s) == PARTS[1:]
    assert sum(found.critical_path_s.values()) == pytest.approx(found.time_s, rel=1e-12)
    assert all(seconds >= 0 for seconds in found.critical_path_s.values())
    assert all(getattr(found.exposed_s, kind) >= 0 for kind in WAITS)
    assert found.compute_s <= found.busy_s <= found.time_s * (1 + 1e-12)


@pytest.mark.parametrize("strategy", ["MP7-DP1-PP2", "MP1-DP3-PP5", "MP3-DP2-PP3", "MP1-DP1-PP1"])
@pytest.mark.parametrize("topology", FABRICS)
def test_strategies_that_are_not_aligned_run(topology: str, strategy: str) -> None:
    for mode in ("stationary", "streaming"):
        found = run(topology, SMALL, strategy, mode=mode)
        assert found.time_s == pytest.approx(found.run.time_s, rel=1e-12)


@pytest.mark.parametrize("workload", ["resnet-152", "transformer-17b"])
@pytest.mark.parametrize("topology", FABRICS)
def test_overlap_is_never_slower_with_the_compute_of_the_roofline(
    topology: str, workload: str
) -> None:
    # With little compute to hide behind, the latency of an all-reduce per layer costs more.
    whole, hidden = (run(topology, workload, overlap=on) for on in (False, True))
    assert hidden.time_s <= whole.time_s
    assert hidden.busy_s == pytest.approx(whole.busy_s)


def test_overlap_hides_most_of_the_gradients() -> None:
    whole, hidden = (run("mesh:5x4", "transformer-17b", overlap=on) for on in (False, True))
    assert hidden.time_s < whole.time_s
    assert hidden.critical_path_s["dp"] < 0.2 * whole.critical_path_s["dp"]


def test_messages_longer_than_compute_leave_less_of_it_on_the_critical_path() -> None:
    fabric, job = shared_topology("mesh:5x4"), load_workload("transformer-1t")
    found = simulate_iteration(
        fabric, job, default_placement(Request.of(fabric, job, job.strategy)), Npu(), scale=0.01
    )
    assert found.critical_path_s["compute"] < found.busy_s < found.time_s


def test_gpipe_and_1f1b_take_about_the_same_time_and_not_the_same_memory() -> None:
    ample = 1e12  # nothing is recomputed
    one, other = (
        run("fred-d", "transformer-17b", None, ample, schedule=name) for name in ("gpipe", "1f1b")
    )
    assert one.time_s == pytest.approx(other.time_s, rel=0.02)
    assert one.memory.activations_bytes == pytest.approx(4 * other.memory.activations_bytes)


def times_of(workload: str, fabrics: Iterable[Topology], policy: str = "linear") -> list[float]:
    """Return the times of an iteration, which no fabric takes longer for than the one before."""
    job = load_workload(workload)
    times = [
        simulate_iteration(one, job, place(one, job.strategy, policy), Npu()).time_s
        for one in fabrics
    ]
    assert times == sorted(times, reverse=True)
    return times


def mesh(**rates: Any) -> Topology:
    return MeshFile(kind="mesh", columns=5, rows=4, **rates).build("mesh")


def test_wider_links_are_never_slower() -> None:
    wider = (mesh(link_bytes_per_s=factor * MESH_LINK_BYTES_PER_S) for factor in (1, 2, 4))
    times = times_of("gpt-3", wider, "columns")
    assert times[0] > times[-1]


@pytest.mark.parametrize("workload", ["transformer-17b", "gpt-3"])
def test_wider_uplinks_of_fred_are_never_slower(workload: str) -> None:
    l1 = [L1Entry(count=5, npus=4, io_controllers=4, record="l1-12")]
    fred = FredFile(
        kind="fred", l1=l1, l2_record="l2-10", l1_l2_bytes_per_s=1.5e12, in_network=True
    )
    rates = (1.5e12, 3e12, 6e12, 12e12)
    times_of(workload, (fred.with_changes(l1_l2_bytes_per_s=rate).build("fred") for rate in rates))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_faster_io_controllers_are_never_slower(workload: str) -> None:
    times_of(workload, (mesh(io_bytes_per_s=factor * IO_BYTES_PER_S) for factor in (1, 2, 4)))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_scale_multiplies_compute_only(workload: str) -> None:
    fabric, job = shared_topology("fred-d"), load_workload(workload)
    placed = place(fabric, job.strategy)
    operations = Operations(fabric, placed)
    once, twice = (
        simulate_iteration(fabric, job, placed, Npu(), scale, operations) for scale in (1.0, 2.0)
    )
    assert twice.busy_s == pytest.approx(2 * once.busy_s)
    assert twice.communication_s == pytest.approx(once.communication_s)
    assert once.time_s < twice.time_s <= 2 * once.time_s * (1 + 1e-9)


def test_operations_used_again_change_nothing() -> None:
    fabric, job = shared_topology("mesh:5x4"), load_workload("transformer-17b")
    placed = place(fabric, job.strategy, "columns")
    operations = Operations(fabric, placed)
    found = [
        simulate_iteration(fabric, job, placed, Npu(), operations=used)
        for used in (None, operations, operations)
    ]
    assert found[0] == found[1] == found[2]


def test_one_npu_only_computes_and_loads_its_input() -> None:
    found = run("fred-d", "resnet-152", "MP1-DP1-PP1")
    assert {task.kind for task in found.tasks} == {"compute", "input_load"}
    assert found.time_s == found.busy_s == pytest.approx(found.critical_path_s["compute"])


@pytest.mark.parametrize("workload", ["resnet-152", "transformer-17b"])
def test_as_many_stages_as_layers_is_allowed(workload: str) -> None:
    layers = len(load_workload(workload).network.layers)
    found = run("mesh:10x10", workload, f"MP1-DP1-PP{layers}")
    assert {task.place for task in found.tasks} == set(range(layers))


def test_all_reduces_of_a_layer_are_waited_for() -> None:
    found = run("fred-c", "transformer-17b", "MP20-DP1-PP1", microbatches=1)
    layers = 78
    assert sum(task.kind == "mp" for task in found.tasks) == 4 * layers + 2 * 2
    assert found.critical_path_s["mp"] == pytest.approx(found.communication_s["mp"])
    assert found.critical_path_s["compute"] == pytest.approx(found.busy_s)


@pytest.mark.parametrize(
    ("workload", "strategy", "message"),
    [
        (
            "resnet-152",
            "MP1-DP1-PP53",
            "must have at most 52 pipeline stages, the layers of resnet-152, not 53 (MP1-DP1-PP53)",
        ),
        (
            "resnet-152",
            "MP2-DP10-PP1",
            "must have MP1, as the layers of resnet-152 do not split, not MP2-DP10-PP1",
        ),
        (
            "transformer-17b",
            "MP1-DP1-PP81",
            (
                "must have at most 80 pipeline stages, the layers of transformer-17b, "
                "not 81 (MP1-DP1-PP81)"
            ),
        ),
    ],
)
def test_strategy_that_does_not_go_with_the_layers_is_refused(
    workload: str, strategy: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"^strategy: {re.escape(message)}$"):
        run("mesh:10x10", workload, strategy)


@pytest.mark.parametrize("fabric", ["mesh:5x4", "fred-d"])
def test_input_of_all_samples_of_all_replicas_is_loaded_once(fabric: str) -> None:
    topology, job = shared_topology(fabric), load_workload("resnet-152")
    assert loaded_bytes(topology, job, Strategy(1, 20, 1)) == pytest.approx(
        20 * 16 * 2 * 3 * 224**2
    )


def test_members_of_cp_load_each_their_part_of_the_tokens() -> None:
    topology, job = shared_topology("fred-d"), load_workload("gpt-3")
    sent = loaded_bytes(topology, job, Strategy.parse("MP1-DP5-PP2-CP2"))
    assert sent == pytest.approx(5 * 16 * 2048 * 4)


def loaded_bytes(topology: Topology, job: Workload, strategy: Strategy) -> float:
    """Return what I/O controllers send of the input."""
    found = simulate_iteration(topology, job, place(topology, strategy), Npu())
    (load,) = (task.profile for task in found.tasks if task.kind == "input_load")
    ios = topology.io_nodes
    return sum(carried for link, carried in load.loads if topology.links[link].source in ios)
