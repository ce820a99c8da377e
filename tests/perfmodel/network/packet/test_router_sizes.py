"""Tests of perfmodel.network.packet.router_sizes: what the model has of switches, as they are."""

import pytest

from fred_hw.protocol import CONTROL, Kind
from fred_hw.spec import SwitchSpec
from fred_hw.switch.core import SwitchCore
from fred_hw.switch.ports.output_port import OutputPort
from perfmodel.network.packet.router_sizes import Sizes, router_sizes
from studies.rtl_mesh import load_mesh_cycles, mesh_topology
from studies.rtl_plane import load_plane_cycles, plane_topology
from testbench.models.endpoint import FlitCodec
from testbench.stimulus.addresses import address_of
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK, kind_of, link_flit


def sizes_of_a_plane() -> Sizes:
    """Return what switches of the published wafer are."""
    topology = plane_topology(load_plane_cycles(), in_network=False)
    assert topology.endpoint is not None
    return router_sizes(topology, topology.endpoint, 1)


def test_outputs_have_the_space_of_those_in_hardware() -> None:
    """Two packets, and what is in the interconnect and around the queue."""
    topology, sizes = plane_topology(load_plane_cycles(), in_network=False), sizes_of_a_plane()
    port = OutputPort(spec=SwitchSpec(ports=4, lanes=1), latency=topology.inside_cycles)
    assert port.depth == 2 * sizes.packet_flits + sizes.inside_flits


@pytest.mark.slow
@pytest.mark.parametrize("ports", [2, pytest.param(4, marks=pytest.mark.long)])
def test_acks_of_unicasts_take_as_long_as_in_hardware_which_is_less_than_data(ports: int) -> None:
    """They do not cross the interconnect, so it does not matter how large that is."""
    spec = LINK.with_changes(ports=ports)
    fields = {
        "circuit": CONTROL,
        "unicast": 1,
        "destination": address_of(1),
        "source": 99,
    }
    ack = link_flit(FlitCodec(spec).pack(0, kind=Kind.ACK, sequence=7, **fields))
    routes = {"o[1].ready": 1, f"routes[{address_of(1)}]": 2}
    comes = {f"i[0].{name[2:]}": value for name, value in ack.items()}
    inputs = [routes | one for one in [*[{}] * 10, comes, *[{}] * 20]]
    seen = trace(SwitchCore(spec=spec), inputs, ["o[1].valid", "o[1].payload.header"])
    left = [
        cycle - 10
        for cycle, (valid, header) in enumerate(seen)
        if valid and kind_of(header) == Kind.ACK
    ]
    sizes = sizes_of_a_plane()
    assert left == [sizes.message_cycles]
    assert sizes.message_cycles < sizes.hop_cycles - sizes.link_cycles


def test_a_router_has_its_record_and_ports_in_their_order() -> None:
    """North, east, south, west and its NPU, of the router in the middle of 5 x 4."""
    topology = mesh_topology(load_mesh_cycles())
    assert topology.endpoint is not None
    sizes = router_sizes(topology, topology.endpoint, 2)
    assert sizes.message_cycles == topology.message_cycles == 4
    middle = 20 + 7
    into = [(20 + 2, 0), (20 + 8, 1), (20 + 12, 2), (20 + 6, 3), (7, 4)]
    assert [sizes.ports[topology.link_index[one, middle]] for one, _ in into] == [
        port for _, port in into
    ]
