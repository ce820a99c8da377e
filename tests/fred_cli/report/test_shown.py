"""Tests of fred_cli.report.shown."""

from typing import Any

import pytest

from fred_cli.report.shown import columns
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec


@pytest.mark.parametrize("ports", [2, 3, 4, 5, 8, 12, 64])
@pytest.mark.parametrize("registers", [{}, {"adder_registers": 0, "stage_registers": 3}])
def test_stages_of_the_animation_add_up_to_the_latency(
    ports: int, registers: dict[str, Any]
) -> None:
    spec = SwitchSpec(ports=ports, **registers)
    found = columns(spec)
    assert found[0] == 0 and found == sorted(found) and found[-1] == latency_cycles(spec)
