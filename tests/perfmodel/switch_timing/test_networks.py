"""Tests of perfmodel.switch_timing.networks: the shipped record, and its Pareto front."""

from itertools import pairwise, permutations

import pytest

from fred_hw.files import load_model
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.spec import SwitchSpec
from gen.level import LEVELS
from perfmodel.switch_timing.networks import (
    REDUCING,
    SHIPPED_NETWORKS,
    WHOLE,
    NetworkFigures,
    NetworkRecord,
)

LEVEL = {"FRED_3": "interconnect", "FRED_2": "interconnect"}
SWITCHES = ("FRED_3", "FRED_2", "crossbar", "benes")


@pytest.fixture(scope="module")
def record() -> NetworkRecord:
    return load_model(NetworkRecord, SHIPPED_NETWORKS)


def test_measured_latencies_are_those_of_the_levels(record: NetworkRecord) -> None:
    for one in (one for one in record.networks if one.network in SWITCHES):
        spec = SwitchSpec(ports=one.ports, format=record.format, lanes=record.lanes)
        level = LEVELS[LEVEL.get(one.network, one.network)]
        assert one.latency_cycles == level.latency_cycles(spec), one


def test_fred_is_smaller_than_the_crossbar_from_eight_ports_on(record: NetworkRecord) -> None:
    areas = {(one.network, one.ports): one.area_per_port_um2 for one in record.networks}
    ports = {n for _, n in areas if n >= 8}
    assert ports == {8, 16, 32, 64}
    assert {n for name, n in areas if name == "mesh"} == {4, 8, 16, 32, 64}
    for n in ports:
        assert areas["FRED_3", n] < areas["crossbar", n]


def test_whole_switches_are_smaller_than_meshes_whose_routers_reduce(
    record: NetworkRecord,
) -> None:
    found = {(one.network, one.ports): one for one in record.networks}
    assert {n for name, n in found if name == REDUCING} == {4, 8, 16, 32, 64}
    assert {n for name, n in found if name == "switch"} == {4, 8, 16}
    for n in (4, 8, 16):
        mesh, switch = found[REDUCING, n], found["switch", n]
        assert mesh.area_um2 > 2 * switch.area_um2
        assert mesh.latency_cycles > switch.latency_cycles
        assert (mesh.random_share or 0) <= (switch.random_share or 0)
        assert mesh.area_um2 > found["mesh", n].area_um2


def test_latency_of_a_mesh_whose_routers_reduce_is_that_of_the_longest_route(
    record: NetworkRecord,
) -> None:
    for one in (one for one in record.networks if one.network == REDUCING):
        width = {4: 2, 8: 4, 16: 4, 32: 8, 64: 8}[one.ports]
        fields = {"width": width, "height": one.ports // width, "controllers": False}
        mesh = ReducingMesh(ReducingMeshSpec(**fields, format=record.format, lanes=record.lanes))
        cycles = [LEVELS["switch"].latency_cycles(router.spec) for router in mesh.units]
        routes = [mesh.route(*pair) for pair in permutations(range(one.ports), 2)]
        longest = max(sum(cycles[link.number] for link in route[1:]) for route in routes)
        assert one.latency_cycles == longest


def test_rows_of_whole_hardware_are_not_on_the_front(record: NetworkRecord) -> None:
    for n in {one.ports for one in record.networks}:
        assert not {one.network for one in record.front(n)} & {*WHOLE}


def test_a_crossbar_routes_everything_and_fred_3_more_than_fred_2(record: NetworkRecord) -> None:
    found = {
        (one.network, one.ports): (one.random_share, one.phase_share)
        for one in record.networks
        if one.random_share is not None and one.phase_share is not None
    }
    for n in (4, 8, 16, 32, 64):
        three, two, crossbar, benes = (found[name, n] for name in SWITCHES)
        assert crossbar == (1, 1)
        assert 1 >= three[0] >= two[0]
        assert benes[0] >= two[0]
        assert benes[1] >= two[1]


def changed(one: NetworkFigures, **fields: float | None) -> NetworkFigures:
    return NetworkFigures.model_validate(one.model_dump() | fields)


def test_a_network_beats_another_one_if_no_figure_is_worse(record: NetworkRecord) -> None:
    one = record.networks[0]
    assert changed(one, area_um2=one.area_um2 - 1).beats(one)
    assert not one.beats(one)
    assert not changed(one, area_um2=1.0, latency_cycles=99).beats(one)
    assert not changed(one, area_um2=1.0, clock_ns=99.0).beats(one)


def test_power_per_port_rises_with_the_ports(record: NetworkRecord) -> None:
    """Check that routers of larger meshes, which have more ports, take more power per NPU."""
    found = {(one.network, one.ports): one.mw_per_port for one in record.networks}
    for name in {one.network for one in record.networks}:
        powers = [found[name, n] for n in sorted(n for network, n in found if network == name)]
        assert all(before < after for before, after in pairwise([0.0, *powers])), name
    for n in (4, 8, 16, 32, 64):
        assert found["mesh", n] < found[REDUCING, n]


def test_what_is_missing_has_a_reason(record: NetworkRecord) -> None:
    keys = ("random_share", "phase_share")
    for one in record.networks:
        assert any(getattr(one, key) is None for key in keys) == bool(one.not_measured), one.name


def test_the_front_leaves_out_what_is_beaten(record: NetworkRecord) -> None:
    first = record.networks[0]
    worse = changed(first, area_um2=first.area_um2 + 1)
    both = record.model_copy(update={"networks": (first, worse)})
    assert both.front(first.ports) == (first,)
