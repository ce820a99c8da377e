"""Tests of gen.contract: comments of a module have numbers for its parameters."""

import pytest

from fred_hw.datapath.benes import Benes
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.datapath.microswitch import RDMicroswitch
from fred_hw.datapath.reduction_crossbar import ReductionCrossbar
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.contract import header

SPEC = SwitchSpec(ports=4, format="int8", lanes=1, adder_registers=2, stage_registers=1)


@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize(
    ("kind", "ports", "line"),
    [
        (Interconnect, 4, f"// Latency: {latency_cycles(SPEC)} cycles on every path."),
        (Benes, 4, "// Latency: 9 cycles on every path."),
        (ReductionCrossbar, 4, "// Latency: 6 cycles on every path."),
        (RDMicroswitch, 2, "// Latency: 3 cycles, reducing or not."),
    ],
)
def test_latencies_of_contracts_are_numbers(kind: type[Unit], ports: int, line: str) -> None:
    unit = kind(spec=SPEC.with_changes(ports=ports))  # pyright: ignore[reportCallIssue]
    assert line in header(unit)
