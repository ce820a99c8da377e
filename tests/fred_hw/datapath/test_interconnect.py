"""Timing of fred_hw.datapath.interconnect, cycle by cycle; testbench has the values."""

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.spec import SwitchSpec
from tests.fred_hw.datapath.flits import check_latency, check_reset, check_throughput

SPECS = pytest.mark.parametrize("ports", [2, 3, 5])


def word(ports: int, source: int, destination: int) -> int:
    """Return the configuration word of a path."""
    configuration = route((Flow([source], [destination]),), ports, 2).configuration
    assert configuration is not None
    return configuration.pack()


def made(ports: int) -> tuple[Interconnect, int, str, str, int]:
    """Return an interconnect, a path from its first to its last port, and the cycles it takes."""
    spec = SwitchSpec(ports=ports, middle_switches=2, format="int8", lanes=1, adder_registers=1)
    unit = Interconnect(spec=spec)
    return unit, word(ports, 0, ports - 1), "i[0]", f"o[{ports - 1}]", latency_cycles(spec)


@SPECS
def test_latency_is_that_of_all_stages(ports: int) -> None:
    check_latency(*made(ports))


@SPECS
def test_throughput_is_a_flit_per_cycle_whatever_the_configuration_was(ports: int) -> None:
    check_throughput(*made(ports))


@SPECS
def test_reset_loses_the_flits_inside(ports: int) -> None:
    check_reset(*made(ports))


@SPECS
def test_a_pruned_interconnect_has_the_latency_of_the_full_one(ports: int) -> None:
    unit, there, *_, latency = made(ports)
    last, back = ports - 1, word(ports, ports - 1, 0)
    only = {"there": f"{there:#x}", "back": f"{back:#x}"}
    pruned = Interconnect(spec=unit.spec.with_changes(only=only))
    check_latency(pruned, there, "i[0]", f"o[{last}]", latency)
    check_latency(pruned, back, f"i[{last}]", "o[0]", latency)
