"""Tests of perfmodel.training.energy."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.api import Wafer
from perfmodel.constants import NUMBER_BYTES
from perfmodel.endpoint.closed_forms import ring_reads
from perfmodel.memory.file import MemoryFile
from perfmodel.network.fluid.task import Profile
from perfmodel.network.run import profile
from perfmodel.topology.parse import shared_topology
from perfmodel.training.counted import counted
from perfmodel.training.energy import (
    LINK_CLASSES,
    EnergyTable,
    energy,
    energy_tables,
    link_class,
    profile_energy,
    read_energy,
)
from perfmodel.training.estimate import estimate, simulate
from perfmodel.training.graph import Work
from perfmodel.training.request import Request
from perfmodel.workloads.workload import changed_workload, load_workload
from tests.written import written

TABLE = read_energy("wafer")
NOTHING = EnergyTable.model_validate(dict.fromkeys(EnergyTable.model_fields, 0.0))
TOPOLOGIES = ("mesh:5x4", "fred-a", "fred-d", "torus:4x4")


def communicated(topology: str, pattern: str, size: float, table: EnergyTable = TABLE) -> float:
    fabric = shared_topology(topology)
    found, _ = profile(fabric, pattern, size, [range(fabric.npus)])
    return sum(profile_energy(table, fabric, found).values())


def test_compute_takes_operations_and_memory_of_all_npus() -> None:
    work = Work(1.0, operations=2e12, moved_bytes=1e9)
    found = profile_energy(TABLE, shared_topology("fred-d"), work, npus=4)
    assert found["operations"] == pytest.approx(4 * 2 * TABLE.operation_pj)
    assert found["memory"] == pytest.approx(4 * 8e-3 * TABLE.memory_pj_per_bit)
    assert sum(found.values()) == pytest.approx(found["operations"] + found["memory"])


def test_switches_that_reduce_take_their_adders_and_half_the_bits() -> None:
    """Each NPU sends and receives the vector once over FRED-D, without headers."""
    fabric, size = shared_topology("fred-d", "ideal"), 2.0**30
    found, _ = profile(fabric, "all_reduce", size, [range(20)])
    table = replace_of(npu_switch_pj_per_bit=1.0)
    assert sum(profile_energy(table, fabric, found).values()) == pytest.approx(8e-12 * 40 * size)
    added = profile_energy(replace_of(addition_pj=1.0), fabric, found)["additions"]
    assert added == pytest.approx(1e-12 * 19 * size / NUMBER_BYTES)


def replace_of(**changes: float) -> EnergyTable:
    """Return a table of which some keys alone take energy."""
    return NOTHING.model_copy(update=changes)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_additions_are_those_of_the_sum_wherever_they_are_done(topology: str) -> None:
    only = replace_of(addition_pj=1.0)
    npus, size = shared_topology(topology).npus, 1e6
    want = 1e-12 * (npus - 1) * size / NUMBER_BYTES
    for pattern in ("all_reduce", "reduce_scatter", "reduce"):
        assert communicated(topology, pattern, size, only) == pytest.approx(want)
    for pattern in ("all_gather", "all_to_all", "broadcast"):
        assert communicated(topology, pattern, size, only) == 0


@pytest.mark.parametrize("topology", ["mesh:5x4", "fred-a", "torus:4x4"])
def test_an_all_reduce_in_two_halves_takes_the_same(topology: str) -> None:
    whole = communicated(topology, "all_reduce", 1e9)
    halves = [communicated(topology, one, 1e9) for one in ("reduce_scatter", "all_gather")]
    assert sum(halves) == pytest.approx(whole)


@settings(max_examples=20, deadline=None)
@given(
    topology=st.sampled_from(TOPOLOGIES),
    pattern=st.sampled_from(("all_reduce", "all_gather", "all_to_all", "broadcast")),
    size=st.floats(1, 1e12),
    more=st.floats(1, 1e3),
)
def test_more_bytes_never_take_less(topology: str, pattern: str, size: float, more: float) -> None:
    less = communicated(topology, pattern, size)
    assert less <= communicated(topology, pattern, size * more) * (1 + 1e-12)
    assert less > 0


def test_links_have_classes_by_their_ends() -> None:
    found = {
        name: {link_class(fabric, i) for i in range(len(fabric.links))}
        for name in ("mesh:5x4", "fred-d")
        for fabric in (shared_topology(name),)
    }
    assert found["mesh:5x4"] == {"npu_npu", "io"}
    assert found["fred-d"] == {"npu_switch", "switch_switch", "io"}
    fabric = shared_topology("fred-d")
    assert link_class(fabric, len(fabric.links)) is None  # paths inside a switch
    assert link_class(fabric, len(fabric.capacities)) == "remote_memory"
    assert {*LINK_CLASSES} >= found["mesh:5x4"] | found["fred-d"] | {"remote_memory"}


def test_headers_take_energy_too() -> None:
    totals = [
        sum(
            profile_energy(
                TABLE, fabric, profile(fabric, "all_gather", 1e9, [range(20)])[0]
            ).values()
        )
        for fabric in (shared_topology("fred-d", one) for one in ("ideal", "measured"))
    ]
    share = shared_topology("fred-d").links[0].efficiency
    assert totals[0] / totals[1] == pytest.approx(share, rel=1e-6) and share < 1


@pytest.mark.parametrize(
    "request_",
    [
        ("fred-d", "transformer-17b", None),
        ("mesh:5x4", "gpt-3", None),
        ("fred-d", "transformer-17b", "MP2-DP5-PP2-SP"),
    ],
    ids=["stationary", "streaming", "sequence-parallel"],
)
def test_both_breakdowns_add_up(request_: tuple[str, str, str | None]) -> None:
    topology, workload, strategy = request_
    one = Request.of(shared_topology(topology), load_workload(workload), strategy)
    found = estimate(one).energy
    assert sum(found.parts_j.values()) == pytest.approx(found.total_j)
    assert sum(found.uses_j.values()) == pytest.approx(found.total_j)
    assert found.parts_j["compute"] == pytest.approx(
        found.uses_j["operations"] + found.uses_j["memory"]
    )
    assert min(found.parts_j.values()) >= 0 < found.parts_j["mp"]


def test_microbatches_that_are_left_out_take_energy() -> None:
    job = changed_workload("transformer-17b", samples=200, microbatches=200)
    one = Request.of(shared_topology("fred-d"), job, "MP2-DP5-PP2")
    found = [simulate(one, repeats=repeats) for repeats in (True, False)]
    assert found[0].iteration.run.jumps and not found[1].iteration.run.jumps
    totals = [
        energy(TABLE, one.topology, counted(it.iteration.tasks, it.iteration.run), 10).total_j
        for it in found
    ]
    assert totals[0] == pytest.approx(totals[1])


def test_compute_that_is_calibrated_takes_the_energy_of_its_operations() -> None:
    one = Request.of(shared_topology("fred-d"), load_workload("resnet-152"))
    fast = replace(one, compute="calibrated")
    assert estimate(fast).energy.parts_j["compute"] == estimate(one).energy.parts_j["compute"]


def test_tables_are_read_by_name_or_from_a_file() -> None:
    assert energy_tables() == ("wafer", "measured", "cluster")
    wafer = read_energy("wafer")
    added = {"addition_pj": wafer.addition_pj}
    assert read_energy("measured").model_copy(update=added) == wafer != read_energy("measured")
    cluster = read_energy("cluster")
    assert cluster.npu_switch_pj_per_bit > read_energy("wafer").npu_switch_pj_per_bit
    assert read_energy("examples/energy.yaml").npu_switch_pj_per_bit == 4.0


def test_links_of_the_wafer_take_what_the_paper_prints() -> None:
    """179.35 W of 390 ports in both directions; the NPU takes 700 W at its peak."""
    watts = 390 * 2 * 600e9 * 8e-12 * TABLE.npu_switch_pj_per_bit / 2
    assert watts == pytest.approx(179.35, rel=1e-3)
    watts = 989.4e12 * 1e-12 * TABLE.operation_pj + 3e12 * 8e-12 * TABLE.memory_pj_per_bit
    assert watts == pytest.approx(700, rel=1e-3)


def test_a_missing_key_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "energy.yaml", "operation_pj: 1\n")
    with pytest.raises(InputError, match="is required and was not given"):
        read_energy(str(path))


def test_paths_inside_switches_take_nothing_and_remote_memory_its_bits() -> None:
    fabric = shared_topology("fred-d")
    loads = tuple((link, 1e9) for link in (len(fabric.links), len(fabric.capacities)))
    found = profile_energy(TABLE, fabric, Profile(1.0, loads))
    assert found["remote_memory"] == pytest.approx(8e-3 * TABLE.remote_memory_pj_per_bit)
    assert sum(found.values()) == found["remote_memory"]


@pytest.mark.parametrize(
    ("endpoint", "read"),
    [("core-driven", 2 * 19 / 20 * ring_reads(20)), ("ace", 1.0)],
    ids=["core-driven", "ace"],
)
def test_reads_of_collectives_at_endpoints_are_memory_energy(endpoint: str, read: float) -> None:
    """A ring of 20 reduces gradients of two bytes; ACE reads each byte once."""
    job, gradients = load_workload("resnet-152"), 2.0
    one = Request.of(shared_topology("mesh:5x4"), job, "MP1-DP20-PP1", algorithm="ring")
    ideal, found = (
        estimate(replace(one, endpoint=kind)).energy for kind in ("ideal", f"{endpoint}:comm-opt")
    )
    more = {use: found.uses_j[use] - ideal.uses_j[use] for use in found.uses_j}
    want = 20 * gradients * job.network.parameters * read * 8e-12 * TABLE.memory_pj_per_bit
    assert more.pop("memory") == pytest.approx(want)
    assert not any(more.values())
    assert found.parts_j["dp"] - ideal.parts_j["dp"] == pytest.approx(want)
    assert found.parts_j["compute"] == ideal.parts_j["compute"]


def test_reads_at_endpoints_are_not_taken_for_remote_memory() -> None:
    remote = {"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-bw": 1000.0}
    one = Request.of(
        shared_topology("torus:4x4"),
        load_workload("resnet-152"),
        "MP1-DP16-PP1",
        memory=MemoryFile.model_validate(remote),
    )
    ideal, found = (
        estimate(replace(one, endpoint=kind)).energy for kind in ("ideal", "core-driven")
    )
    assert found.uses_j["remote_memory"] == ideal.uses_j["remote_memory"] > 0
    assert found.uses_j["memory"] > ideal.uses_j["memory"]


def test_python_has_the_energy() -> None:
    wafer = Wafer.named("fred-d").estimate("gpt-3")
    cluster = Wafer.named("fred-d").estimate("gpt-3", energy="cluster")
    assert cluster.energy.total_j > wafer.energy.total_j
    assert cluster.iteration_time_s == wafer.iteration_time_s
