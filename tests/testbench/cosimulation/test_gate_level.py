"""Switch, router and pair of endpoints at gate level: outputs equal those of the RTL in Icarus."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from fred_cli.netlists import netlist_maker
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.cosimulation.compared import compare_with_rtl
from testbench.cosimulation.cosimulate_mesh import cosimulate_router
from testbench.cosimulation.cosimulate_pair import cosimulate_endpoint
from testbench.cosimulation.cosimulate_switch import cosimulate_switch
from testbench.formal.sizes import SMALLEST_LINK
from testbench.sim.runner import SimulationResult
from tests.synth.libraries import nangate45

pytestmark = [pytest.mark.sim, pytest.mark.slow(30)]

LINK = ProtocolSpec(**SMALLEST_LINK)
ENGINE = EndpointSpec(fsms=1, slots=1, chunk_flits=8, memory_reads=2)
SWITCH = SwitchSpec(ports=2, lanes=1, format="int8", protocol=LINK)
MESH = MeshSpec(width=2, height=2, lanes=1, format="int8", protocol=LINK)


class Case(NamedTuple):
    """A unit, and tests of it that send, receive, acknowledge and retransmit."""

    run: Callable[..., SimulationResult]
    spec: SwitchSpec | MeshSpec
    volume: dict[str, int]
    tests: list[str]


CASES = {
    "endpoint": Case(
        cosimulate_endpoint,
        SWITCH.with_changes(endpoint=ENGINE),
        {"flits": 4},
        ["a_broken_flit_is_retransmitted", "buffers_are_reduced"],
    ),
    "switch": Case(
        cosimulate_switch,
        SWITCH,
        {"packets": 2},
        ["unicasts_share_ports_with_phases", "broken_packet_is_stomped_and_retransmitted"],
    ),
    "router": Case(
        cosimulate_router, MESH, {"packets": 2}, ["random_traffic_comes_through_faults"]
    ),
}


@pytest.mark.parametrize("netlist", ["generic", "mapped"])
@pytest.mark.parametrize("level", CASES)
def test_outputs_of_a_netlist_are_those_of_its_verilog(
    level: str, netlist: str, tmp_path: Path
) -> None:
    case = CASES[level]
    synthesize = netlist_maker(netlist, nangate45() if netlist == "mapped" else [], level)
    options = {"tests": case.tests, **case.volume}
    found = compare_with_rtl(case.run, case.spec, tmp_path, synthesize, **options)
    assert (found.rtl.failures, found.netlist.failures, found.difference) == ((), (), "")
    assert {test.name.split("/")[0] for test in found.netlist.tests} == set(case.tests)
    assert found.changes > 300
