"""Timing of fred_hw.datapath.benes; testbench has the values."""

import pytest

from fred_hw.compiler.benes import route_benes
from fred_hw.compiler.flows import Flow
from fred_hw.datapath.benes import Benes, benes_latency_cycles
from fred_hw.spec import SwitchSpec
from tests.fred_hw.datapath.flits import check_latency, check_reset, check_throughput

SPEC = SwitchSpec(ports=8, format="int8", lanes=1, adder_registers=1)
PORTS = pytest.mark.parametrize("ports", [2, 4, 8])


def made(ports: int) -> tuple[Benes, int, str, str, int]:
    """Return a network, a path from its first to its last port, and the cycles it takes."""
    _, configuration = route_benes([Flow([0], [ports - 1])], ports)
    assert configuration is not None
    spec = SPEC.with_changes(ports=ports)
    unit = Benes(spec=spec)
    return unit, configuration.pack(), "i[0]", f"o[{ports - 1}]", benes_latency_cycles(spec)


@PORTS
def test_latency_is_that_of_all_stages(ports: int) -> None:
    check_latency(*made(ports))


@PORTS
def test_throughput_is_a_flit_per_cycle_whatever_the_configuration_was(ports: int) -> None:
    check_throughput(*made(ports))


@PORTS
def test_reset_loses_the_flits_inside(ports: int) -> None:
    check_reset(*made(ports))


@pytest.mark.parametrize(("ports", "stages"), [(2, 1), (4, 3), (8, 5), (64, 11)])
def test_each_doubling_of_ports_adds_two_stages(ports: int, stages: int) -> None:
    assert benes_latency_cycles(SPEC.with_changes(ports=ports)) == 2 * stages


def test_ports_that_are_no_power_of_two_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Benes ports must be a power of two, not 12$"):
        Benes(spec=SPEC.with_changes(ports=12))
