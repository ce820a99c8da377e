"""Tests of perfmodel.network.models.roce."""

import pytest

from fred_hw.errors import InputError
from perfmodel.network.roce.parameters import SCHEMES, RoceFile
from perfmodel.network.run import run_collective
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.parse import parse_topology

_CLOS = clos_file(
    Clos(gpus_per_leaf=4, pods=(2,), widths=(2,), gbps=(200, 200), latency_us=(5, 12.5))
).build("clos")


def _slowdowns(topology_name: str, size: float) -> dict[str, float]:
    switch = clos_file(Clos(gpus_per_leaf=8, latency_us=(0.5,))).build("switch")
    topology = {"switch": switch, "clos": _CLOS}[topology_name]
    times = {}
    for scheme in SCHEMES:
        given = RoceFile(congestion_control=scheme).changed(hpcc={"telemetry_bytes": 0})
        fabric = topology.with_network_options("roce", given)
        found = run_collective(fabric, "all_reduce", size, None, None, "ring", "roce")
        times[scheme] = found.time_s
    return {scheme: time / times["pfc"] - 1 for scheme, time in times.items()}


@pytest.mark.parametrize(("topology", "limit"), [("switch", 0.06), ("clos", 0.10)])
@pytest.mark.parametrize("size", [1e6, 2e7])
def test_schemes_change_an_all_reduce_little(topology: str, limit: float, size: float) -> None:
    assert max(map(abs, _slowdowns(topology, size).values())) <= limit


def test_details_of_a_collective() -> None:
    found = run_collective(_CLOS, "all_to_all", 1e6, None, None, "direct", "roce")
    details = found.details
    assert details["congestion_control"] == "pfc"
    assert details["drops"] == 0
    assert len(details["flows"]) == 56
    assert max(one["end_s"] for one in details["flows"]) == found.time_s
    assert len(details["over_time"]["time_s"]) == len(details["over_time"]["paused_links"]) > 10
    assert details["flow_p50_s"] <= details["flow_p99_s"] <= details["flow_longest_s"]


def test_links_are_loaded_as_in_the_fluid_model() -> None:
    found, fluid = (
        run_collective(_CLOS, "all_reduce", 1e6, None, None, "ring", name)
        for name in ("roce", "fluid")
    )
    assert [one.carried_bytes for one in found.links] == pytest.approx(
        [one.carried_bytes for one in fluid.links]
    )


def test_messages_that_join_are_refused() -> None:
    wafer = parse_topology("fred-d")
    with pytest.raises(InputError, match=r"^network_model: must be fluid or packet for messages"):
        run_collective(wafer, "all_reduce", 1e6, None, None, "published", "roce")


def test_a_buffer_smaller_than_its_headroom_is_refused() -> None:
    fabric = _CLOS.with_network_options("roce", RoceFile(buffer_mib=1))
    with pytest.raises(
        InputError, match=r"^buffer_mib: must be at least [0-9.]+ for headroom and "
    ):
        run_collective(fabric, "all_reduce", 1e6, None, None, "ring", "roce")
