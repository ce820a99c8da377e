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
from perfmodel.run_figures import Energy
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import shared_topology
from perfmodel.training.counted import counted
from perfmodel.training.energy import LINK_CLASSES, EnergyTable, energy_tables, read_energy
from perfmodel.training.estimate import estimate, simulate
from perfmodel.training.graph import Work
from perfmodel.training.moved import TopologyLinks, UsedLink, figures, moved_by
from perfmodel.training.request import Request
from perfmodel.workloads.workload import changed_workload, load_workload
from tests.documented import documented_keys, read_keys
from tests.written import written

TABLE = read_energy("wafer")
NOTHING = EnergyTable.model_validate(dict.fromkeys(EnergyTable.model_fields, 0.0))
TOPOLOGIES = ("mesh:5x4", "fred-a", "fred-d", "torus:4x4")


def profile_energy(
    table: EnergyTable, fabric: Topology, one: Profile, npus: int = 1
) -> dict[str, float]:
    """Return the energy of a task by use [J]."""
    moved = moved_by([("compute" if isinstance(one, Work) else "dp", one, 1)], npus)
    return known(figures(table, TopologyLinks(fabric), 1.0, moved).energy)


def known(found: Energy | None, names: str = "uses_j") -> dict[str, float]:
    """Return energies that are all known [J]."""
    assert found
    energies: dict[str, float | None] = getattr(found, names)
    return {name: one for name, one in energies.items() if one is not None}


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
        name: {
            link.kind for i in range(len(fabric.links)) if (link := TopologyLinks(fabric).find(i))
        }
        for name in ("mesh:5x4", "fred-d")
        for fabric in (shared_topology(name),)
    }
    assert found["mesh:5x4"] == {"npu_npu", "io"}
    assert found["fred-d"] == {"npu_switch", "switch_switch", "io"}
    fabric = shared_topology("fred-d")
    links = TopologyLinks(fabric)
    assert links.find(len(fabric.links)) is None  # paths inside a switch
    assert links.find(len(fabric.capacities)) == UsedLink("remote_memory")
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
    parts, uses = known(found, "parts_j"), known(found)
    assert sum(parts.values()) == pytest.approx(found and found.total_j)
    assert sum(uses.values()) == pytest.approx(found and found.total_j)
    assert parts["compute"] == pytest.approx(uses["operations"] + uses["memory"])
    assert min(parts.values()) >= 0 < parts["mp"]


def test_microbatches_that_are_left_out_take_energy() -> None:
    job = changed_workload("transformer-17b", samples=200, microbatches=200)
    one = Request.of(shared_topology("fred-d"), job, "MP2-DP5-PP2")
    found = [simulate(one, repeats=repeats) for repeats in (True, False)]
    assert found[0].iteration.run.jumps and not found[1].iteration.run.jumps
    few, every = (
        figures(
            TABLE,
            TopologyLinks(one.topology),
            it.iteration.time_s,
            moved_by(counted(it.iteration.tasks, it.iteration.run), 10),
        )
        for it in found
    )
    assert known(few.energy) == pytest.approx(known(every.energy))
    assert few.link_bytes == pytest.approx(every.link_bytes)
    for left, right in zip(few.utilization or (), every.utilization or (), strict=True):
        assert (left.peak, left.average) == pytest.approx((right.peak, right.average))


def test_compute_that_is_calibrated_takes_the_energy_of_its_operations() -> None:
    one = Request.of(shared_topology("fred-d"), load_workload("resnet-152"))
    fast = replace(one, compute="calibrated")
    found = [known(estimate(each).energy, "parts_j")["compute"] for each in (fast, one)]
    assert found[0] == found[1] > 0


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
    more = {use: joules - known(ideal)[use] for use, joules in known(found).items()}
    want = 20 * gradients * job.network.parameters * read * 8e-12 * TABLE.memory_pj_per_bit
    assert more.pop("memory") == pytest.approx(want)
    assert not any(more.values())
    parts = [known(one, "parts_j") for one in (found, ideal)]
    assert parts[0]["dp"] - parts[1]["dp"] == pytest.approx(want)
    assert parts[0]["compute"] == parts[1]["compute"]


def test_reads_at_endpoints_are_not_taken_for_remote_memory() -> None:
    remote = {"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-bw": 1000.0}
    one = Request.of(
        shared_topology("torus:4x4"),
        load_workload("resnet-152"),
        "MP1-DP16-PP1",
        memory=MemoryFile.model_validate(remote),
    )
    ideal, found = (
        known(estimate(replace(one, endpoint=kind)).energy) for kind in ("ideal", "core-driven")
    )
    assert found["remote_memory"] == ideal["remote_memory"] > 0
    assert found["memory"] > ideal["memory"]


def test_python_has_the_energy() -> None:
    wafer = Wafer.named("fred-d").estimate("gpt-3")
    cluster = Wafer.named("fred-d").estimate("gpt-3", energy="cluster")
    more = [sum(known(one.energy).values()) for one in (cluster, wafer)]
    assert more[0] > more[1]
    assert cluster.iteration_time_s == wafer.iteration_time_s


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("energy") == documented_keys("energy") != []
