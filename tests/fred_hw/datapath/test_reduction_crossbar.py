"""Timing of fred_hw.datapath.reduction_crossbar; testbench has the values."""

from typing import Any

import pytest

from fred_hw.datapath.reduction_crossbar import (
    Join,
    ReductionCrossbar,
    ReductionTree,
    tree_latency_cycles,
)
from fred_hw.spec import SwitchSpec
from tests.fred_hw.datapath.flits import check_latency, check_reset, check_throughput

SPEC = SwitchSpec(ports=5, format="int8", lanes=1, adder_registers=1)
TWO = SPEC.with_changes(ports=2)

CASES = pytest.mark.parametrize(
    "case",
    [
        (Join(spec=SPEC), 1, "i[0]", "o[0]", tree_latency_cycles(TWO)),
        (ReductionTree(spec=SPEC), 1 << 4, "i[4]", "o", tree_latency_cycles(SPEC)),
        (ReductionCrossbar(spec=SPEC), 1 << 5 * 3 + 4, "i[4]", "o[3]", tree_latency_cycles(SPEC)),
    ],
    ids=["join", "tree", "crossbar"],
)


@CASES
def test_latency_is_that_of_all_levels(case: Any) -> None:
    check_latency(*case)


@CASES
def test_throughput_is_a_flit_per_cycle_whatever_the_configuration_was(case: Any) -> None:
    check_throughput(*case)


@CASES
def test_reset_loses_the_flits_inside(case: Any) -> None:
    check_reset(*case)


@pytest.mark.parametrize(("ports", "levels"), [(2, 1), (4, 2), (5, 3), (8, 3), (64, 6)])
def test_each_doubling_of_ports_adds_a_level(ports: int, levels: int) -> None:
    assert tree_latency_cycles(SPEC.with_changes(ports=ports)) == 2 * levels
